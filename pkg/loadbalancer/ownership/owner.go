package ownership

import (
	"regexp"
	"slices"
	"strings"
)

// Sharing says how we are on a load balancer that was not made for the Service.
type Sharing struct {
	// Is tells that the load balancer was not made for the Service.
	Is bool
	// Served tells that the Service has published the load balancer's address, be it a
	// former one: then what bears its name there is its own.
	Served bool
	// Owner is whom it was made for.
	Owner Owner
	// Removable tells that a Service of this cluster had it made: the last Service
	// on it deletes it. One that was made by hand, or by another cluster, stays.
	Removable bool
}

// Owner is whom a load balancer was made for, as far as it says so itself. The zero
// value is somebody outside of Kubernetes.
type Owner struct {
	// ClusterID and ServiceUID are empty where cloud-provider-openstack made it.
	ClusterID, ServiceUID string
	// ClusterName, Namespace and Service are empty where they cannot be read for
	// sure: names that are too long are cut.
	ClusterName, Namespace, Service string
	// Kubernetes tells that some cluster had it made.
	Kubernetes bool
}

var (
	ownerInDescription = regexp.MustCompile(`^Kubernetes (?:external|internal) service ([^/ ]+)/([^ ]+) (?:\(uid [^)]*\) )?from cluster (.*)$`)
	ownerInName        = regexp.MustCompile(`^kube_service_(.*)_([^_/ ]+)_([^_/ ]+)$`)
	ownerOfFloatingIP  = regexp.MustCompile(`^Floating IP for Kubernetes external service ([^/ ]+)/([^ ]+) \(uid ([^ )]+)(?: in ([^ )]+))?\) from cluster (.*)$`)
	legacyName         = regexp.MustCompile(`^a[0-9a-f]{31}$`)
)

// OwnerOf reads whom a load balancer was made for.
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

// String names an owner for a message.
func (o Owner) String() string {
	switch {
	case !o.Kubernetes:
		return "somebody outside of Kubernetes"
	case o.Namespace == "":
		return "a Service"
	default:
		return "Service " + o.Namespace + "/" + o.Service + " of cluster " + o.ClusterName
	}
}

// InThisCluster reports whether a Service of our cluster had it made: by the UID of
// the cluster or, where cloud-provider-openstack made it, by the cluster's name.
func (i Identity) InThisCluster(o Owner) bool {
	switch {
	case o.ClusterID != "":
		return o.ClusterID == i.ClusterID
	case o.ServiceUID != "":
		return false // made by us, but we could not read the cluster's UID then
	default:
		return o.Kubernetes && o.ClusterName != "" && o.ClusterName == i.ClusterName
	}
}

// Has reports whether a listener or pool on a load balancer is its owner's. It is true where
// nobody can tell.
func (o Owner) Has(name string, tags []string) bool {
	if o.ServiceUID == "" && o.Namespace == "" {
		return true
	}
	return o.ServiceUID != "" && slices.Contains(tagged(tags, serviceTagPrefix), o.ServiceUID) ||
		o.Namespace != "" && SharerOf(name, tags) == o.Namespace+"/"+o.Service
}

// OwnsFloatingIPOf reports whether a floating IP on the VIP of a load balancer was made
// for its owner.
func (o Owner) OwnsFloatingIPOf(description string) bool {
	if match := floatingIPProof.FindStringSubmatch(description); match != nil {
		return o.ServiceUID != "" && match[1] == o.ServiceUID
	}
	return o.Namespace != "" && strings.HasPrefix(description, "Floating IP for Kubernetes external service "+o.Namespace+"/"+o.Service+" from cluster ")
}

// FloatingIPOwner reads for whom we made a floating IP. It is false where we did not, or
// where its name had to be cut: then nobody can tell.
func FloatingIPOwner(description string) (Owner, bool) {
	match := ownerOfFloatingIP.FindStringSubmatch(description)
	if match == nil || len(description) >= maxLength {
		return Owner{}, floatingIPProof.MatchString(description)
	}
	return Owner{Namespace: match[1], Service: match[2], ServiceUID: match[3], ClusterID: match[4], ClusterName: match[5], Kubernetes: true}, true
}

// SharerOf names the Service that a listener of a shared load balancer serves, from
// its tags or its name: what tells Services of a cluster apart, else the UID, else "".
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
	for _, uid := range tagged(tags, serviceTagPrefix) {
		return uid
	}
	return ""
}
