package ownership

import (
	"regexp"
	"slices"
	"strings"
)

// Sharing describes the use of a load balancer that was not created for the Service.
type Sharing struct {
	// Is is set if the load balancer was not created for the Service.
	Is bool
	// Served is set if the Service has published the present or a former address of the load
	// balancer: then the objects with its name there are its own.
	Served bool
	// Owner is the owner of the load balancer.
	Owner Owner
	// Removable is set if it was created for a Service of this cluster: then the last Service on it
	// deletes it. Those of other clusters and clients are kept.
	Removable bool
}

// Owner is the owner of a load balancer, as far as its attributes identify it. The zero value is a
// client outside of Kubernetes.
type Owner struct {
	// ClusterID and ServiceUID are empty if cloud-provider-openstack created it.
	ClusterID, ServiceUID string
	// ClusterName, Namespace and Service are empty if they cannot be read reliably, because long
	// names are truncated.
	ClusterName, Namespace, Service string
	// Kubernetes is set if a cluster created it.
	Kubernetes bool
}

var (
	ownerInDescription = regexp.MustCompile(`^Kubernetes (?:external|internal) service ([^/ ]+)/([^ ]+) (?:\(uid [^)]*\) )?from cluster (.*)$`)
	ownerInName        = regexp.MustCompile(`^kube_service_(.*)_([^_/ ]+)_([^_/ ]+)$`)
	ownerOfFloatingIP  = regexp.MustCompile(`^Floating IP for Kubernetes external service ([^/ ]+)/([^ ]+) \(uid ([^ )]+)(?: in ([^ )]+))?\) from cluster (.*)$`)
	legacyName         = regexp.MustCompile(`^a[0-9a-f]{31}$`)
)

// OwnerOf returns the owner of a load balancer.
func OwnerOf(name, description string, tags []string) Owner {
	o := Owner{Kubernetes: strings.HasPrefix(name, namePrefix) || legacyName.MatchString(name)}
	for _, id := range tagged(tags, clusterTagPrefix) {
		o.ClusterID, o.Kubernetes = id, true
	}
	for _, uid := range tagged(tags, serviceTagPrefix) {
		o.ServiceUID, o.Kubernetes = uid, true
	}
	if !o.Kubernetes {
		return o
	}
	if match := ownerInDescription.FindStringSubmatch(description); match != nil && len(description) < maxLength {
		o.Namespace, o.Service, o.ClusterName = match[1], match[2], match[3]
	} else if match := ownerInName.FindStringSubmatch(name); match != nil && len(name) < maxLength {
		o.ClusterName, o.Namespace, o.Service = match[1], match[2], match[3]
	}
	return o
}

// String returns the name of an owner for a message.
func (o Owner) String() string {
	switch {
	case !o.Kubernetes:
		return "a client outside of Kubernetes"
	case o.Namespace == "":
		return "a Service"
	default:
		return "Service " + o.Namespace + "/" + o.Service + " of cluster " + o.ClusterName
	}
}

// InClusterOf reports whether the owner is a Service of the cluster of an identity: by the UID of the cluster
// or, if cloud-provider-openstack created the load balancer, by the cluster's name.
func (o Owner) InClusterOf(i Identity) bool {
	switch {
	case o.ClusterID != "":
		return o.ClusterID == i.ClusterID
	case o.ServiceUID != "":
		return false // created by us while the cluster's UID could not be read
	default:
		return o.Kubernetes && o.ClusterName != "" && o.ClusterName == i.ClusterName
	}
}

// Has reports whether a listener or pool on a load balancer belongs to its owner. It is true if
// that is unknown.
func (o Owner) Has(name string, tags []string) bool {
	if o.ServiceUID == "" && o.Namespace == "" {
		return true
	}
	return o.ServiceUID != "" && slices.Contains(tagged(tags, serviceTagPrefix), o.ServiceUID) ||
		o.Namespace != "" && SharerOf(name, tags) == o.Namespace+"/"+o.Service
}

// OwnsFloatingIPOf reports whether a floating IP on the VIP of a load balancer was created for its
// owner.
func (o Owner) OwnsFloatingIPOf(description string) bool {
	if match := floatingIPProof.FindStringSubmatch(description); match != nil {
		return o.ServiceUID != "" && match[1] == o.ServiceUID
	}
	return o.Namespace != "" && strings.HasPrefix(description, "Floating IP for Kubernetes external service "+o.Namespace+"/"+o.Service+" from cluster ")
}

// FloatingIPOwner returns the owner of a floating IP that we created. It returns false if we did
// not, or if its name is truncated.
func FloatingIPOwner(description string) (Owner, bool) {
	match := ownerOfFloatingIP.FindStringSubmatch(description)
	if match == nil || len(description) >= maxLength {
		return Owner{}, floatingIPProof.MatchString(description)
	}
	return Owner{Namespace: match[1], Service: match[2], ServiceUID: match[3], ClusterID: match[4], ClusterName: match[5], Kubernetes: true}, true
}

// SharerOf returns a name of the Service that a listener of a shared load balancer serves, from its
// tags or its name: a text that is unique in the cluster, else the UID, else "".
func SharerOf(name string, tags []string) string {
	names := tags
	if match := childName.FindStringSubmatch(name); match != nil {
		names = append(append([]string{}, tags...), match[3])
	}
	for _, of := range names {
		if match := ownerInName.FindStringSubmatch(of); match != nil {
			return match[2] + "/" + match[3]
		}
	}
	return ServiceUIDOf(tags)
}

// ServiceUIDOf returns the UID of a Service in the tags of a listener or pool, "" for none.
func ServiceUIDOf(tags []string) string {
	for _, uid := range tagged(tags, serviceTagPrefix) {
		return uid
	}
	return ""
}
