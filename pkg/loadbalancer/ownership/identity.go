package ownership

import "strings"

const (
	// maxLength is the maximum length of a name, tag or description in Octavia and Neutron.
	maxLength = 255

	// The prefixes must not begin with "kube_service_": cloud-provider-openstack counts tags with
	// that prefix as Services that share the load balancer.
	clusterTagPrefix = "kube_cluster_id_"
	serviceTagPrefix = "kube_svc_uid_"
)

// Identity identifies the owner of a load balancer.
type Identity struct {
	// ClusterName is --cluster-name. It is not unique: many clusters keep the default.
	ClusterName string
	// ClusterID is the UID of the namespace kube-system; empty if the rights to read it are
	// missing.
	ClusterID string
	// ServiceUID, Namespace and Service identify the Service.
	ServiceUID, Namespace, Service string
	// Untagged is set if load balancers have no tags in this cloud (Octavia before 4.0): then their
	// descriptions contain the identity.
	Untagged bool
	// Former is the name that our own load balancer has from a previous --cluster-name, or from the
	// provider inside of Kubernetes; empty if there is none.
	Former string
	// Releases is set for a deleted Service that releases the floating IP that it requested: see
	// FloatingIPs.OwnOnVIP.
	Releases bool
	// Sharing is set for a load balancer of another owner.
	Sharing Sharing
}

// Description returns the description of the load balancer.
func (i Identity) Description() string { return i.describe(loadBalancerHead, i.Untagged) }

// ProvenDescription returns the description of an object that gets its tags after its creation, or has none: it contains
// the identity, too.
func (i Identity) ProvenDescription() string { return i.describe(loadBalancerHead, true) }

// ProvenBy reports whether a description is a ProvenDescription of this Service: it has its UID, and not another
// cluster's.
func (i Identity) ProvenBy(description string) bool {
	return i.uids().in(loadBalancerProof, description)
}

// Tags returns the tags of all objects that can have tags at their creation.
func (i Identity) Tags() []string {
	if i.Untagged {
		return nil
	}
	tags := []string{i.Name()}
	if i.ClusterID != "" {
		tags = append(tags, ClusterTag(i.ClusterID))
	}
	return append(tags, i.ServiceTag())
}

// ClusterTag returns the tag of all objects of a cluster.
func ClusterTag(clusterID string) string { return clusterTagPrefix + clusterID }

// ServiceTag returns the tag of all objects of the Service.
func (i Identity) ServiceTag() string { return serviceTagPrefix + i.ServiceUID }

const (
	loadBalancerHead = "Kubernetes "
	fromCluster      = " from cluster "
)

// describe returns a description in the format that other programs match. If it is too long, the
// name of the Service is truncated, because they match the name of the cluster up to its end.
func (i Identity) describe(head string, proven bool) string {
	tail := fromCluster + i.ClusterName
	if proven {
		tail = i.uids().proof(maxLength-len(head+tail)) + tail
	}
	service := "external service " + i.Namespace + "/" + i.Service
	room := max(maxLength-len(head)-len(tail), 0)
	return cut(head + service[:min(room, len(service))] + tail)
}

// Claim returns the ownership of a load balancer by its tags, or by its description if the cloud
// has no tags.
func (i Identity) Claim(tags []string, description string) Claim {
	if i.Untagged {
		return claim(i.ProvenBy(description), strings.Contains(description, "(uid "))
	}
	return i.uids().claim(tags)
}
