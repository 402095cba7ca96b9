package ownership

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

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
	// OwnsFloatingIPOnVIP.
	Releases bool
	// Sharing is set for a load balancer of another owner.
	Sharing Sharing
}

// Description returns the description of the load balancer.
func (i Identity) Description() string {
	const head = "Kubernetes "
	if i.Untagged {
		return i.describe(head, i.proof(head))
	}
	return i.describe(head, "")
}

// ProvenDescription returns the description of an object that gets its tags after its creation: it contains the
// identity, too.
func (i Identity) ProvenDescription() string {
	i.Untagged = true
	return i.Description()
}

// LacksTags reports whether an object was created for this Service, and did not get its tags.
func (i Identity) LacksTags(tags []string, description string) bool {
	return len(tags) == 0 && i.owns(loadBalancerProof, description)
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

// FloatingIPDescription returns the description of a floating IP of the Service. Neutron accepts no
// tags at the creation of a floating IP, so that the description contains the identity, within
// "Floating IP for Kubernetes … from cluster NAME".
func (i Identity) FloatingIPDescription() string {
	const head = "Floating IP for Kubernetes "
	return i.describe(head, i.proof(head))
}

const fromCluster = " from cluster "

// describe returns a description in the format that other programs match. If it is too long, the
// name of the Service is truncated, because they match the name of the cluster up to its end.
func (i Identity) describe(head, proof string) string {
	tail := proof + fromCluster + i.ClusterName
	service := "external service " + i.Namespace + "/" + i.Service
	room := max(maxLength-len(head)-len(tail), 0)
	return cut(head + service[:min(room, len(service))] + tail)
}

// proofHead is the beginning of a proof.
const proofHead = " (uid "

// proof returns the unique part of a description. It is never truncated within the UID of the
// Service; the UID of the cluster is dropped for a very long name of the cluster.
func (i Identity) proof(head string) string {
	full := proofHead + i.ServiceUID + " in " + i.ClusterID + ")"
	if i.ClusterID == "" || len(head+full+fromCluster+i.ClusterName) > maxLength {
		return proofHead + i.ServiceUID + ")"
	}
	return full
}

// CutProof returns the part of a description before the proof of an owner, and the UID of the
// Service in each proof. Without a proof it returns the whole description.
func CutProof(description string) (head string, serviceUIDs []string) {
	head, rest, proven := strings.Cut(description, proofHead)
	for proven {
		proof, _, _ := strings.Cut(rest, ")")
		uid, _, _ := strings.Cut(proof, " ")
		serviceUIDs = append(serviceUIDs, uid)
		_, rest, proven = strings.Cut(rest, proofHead)
	}
	return head, serviceUIDs
}

// OwnsFloatingIP reports whether a floating IP with this description was created for the Service:
// it has its UID, and not another cluster's.
func (i Identity) OwnsFloatingIP(description string) bool {
	return i.owns(floatingIPProof, description)
}

// OwnsForwarding reports whether a port forwarding with this description was created for the Service.
func (i Identity) OwnsForwarding(description string) bool {
	return i.owns(loadBalancerProof, description)
}

func (i Identity) owns(proof *regexp.Regexp, description string) bool {
	if !strings.Contains(description, i.ServiceUID) {
		return false // there can be thousands of others, and regular expressions are slow
	}
	match := proof.FindStringSubmatch(description)
	return match != nil && match[1] == i.ServiceUID && (match[2] == "" || i.ClusterID == "" || match[2] == i.ClusterID)
}

// KeptFloatingIP reports whether a floating IP with this description was created for an earlier
// Service of the same name in this cluster, which no longer exists, because names are unique. A
// truncated name is no proof.
func (i Identity) KeptFloatingIP(description string) bool {
	if !strings.Contains(description, i.ClusterID) || !strings.Contains(description, " "+i.Namespace+"/"+i.Service+proofHead) {
		return false
	}
	match := floatingIPProof.FindStringSubmatch(description)
	if match == nil || i.ClusterID == "" || match[2] != i.ClusterID || match[1] == i.ServiceUID {
		return false
	}
	i.ServiceUID, i.ClusterName = match[1], description[len(match[0]):]
	return i.FloatingIPDescription() == description
}

// These match the results of Description and FloatingIPDescription.
var (
	loadBalancerProof = regexp.MustCompile(`^Kubernetes .*\(uid ([^ )]+)(?: in ([^ )]+))?\) from cluster `)
	floatingIPProof   = regexp.MustCompile(`^Floating IP for Kubernetes .*\(uid ([^ )]+)(?: in ([^ )]+))?\) from cluster `)
)

// OwnsFloatingIPOnVIP reports whether a floating IP on the VIP of our load balancer was created for
// the Service. On a load balancer of cloud-provider-openstack, its description, which is equal in
// all clusters, is sufficient proof. On our own it is none, because the Service may have requested
// a kept floating IP. On a shared load balancer that we may delete, it reports whether the floating
// IP was created for the owner, or has become the Service's since. A Service that releases its
// requested floating IP owns it if it was created for any Service of its namespace in this cluster.
func (i Identity) OwnsFloatingIPOnVIP(description string, adopted bool) bool {
	switch {
	case i.Sharing.Is:
		return i.Sharing.Removable && (i.Sharing.Owner.OwnsFloatingIPOf(description) || i.OwnsFloatingIP(description))
	case i.Releases && i.madeForNeighbor(description):
		return true
	case adopted:
		return i.OwnsFloatingIP(description) || Owner{Namespace: i.Namespace, Service: i.Service}.OwnsFloatingIPOf(description)
	default:
		return i.OwnsFloatingIP(description)
	}
}

// madeForNeighbor reports whether a floating IP was created for a Service of the same namespace in
// this cluster, by the cluster's UID.
func (i Identity) madeForNeighbor(description string) bool {
	owner, ok := FloatingIPOwner(description)
	return ok && i.ClusterID != "" && owner.ClusterID == i.ClusterID && owner.Namespace == i.Namespace
}

// LegacyFloatingIPDescription returns cloud-provider-openstack's description. It is a proof only on
// a load balancer that is proven ours.
func (i Identity) LegacyFloatingIPDescription() string {
	return fmt.Sprintf("Floating IP for Kubernetes external service %s/%s from cluster %s", i.Namespace, i.Service, i.ClusterName)
}

// Claim is the ownership of an object by its tags.
type Claim int

const (
	// Unclaimed objects have no UID: cloud-provider-openstack or another client created them.
	Unclaimed Claim = iota
	// Ours was created for this Service of this cluster.
	Ours
	// Theirs was created for another Service or another cluster.
	Theirs
)

// Claim returns the ownership of a load balancer by its tags, or by its description if the cloud
// has no tags.
func (i Identity) Claim(tags []string, description string) Claim {
	if i.Untagged {
		ours := i.owns(loadBalancerProof, description)
		return claim(ours, strings.Contains(description, "(uid "))
	}
	return i.claim(tags)
}

// claim returns the ownership of an object by its tags.
//
//	Service tag   cluster tag       claim
//	ours          ours or none      Ours
//	ours          another           Theirs (a cluster restored from our backup)
//	another       any               Theirs
//	none          another           Theirs
//	none          ours or none      Unclaimed
func (i Identity) claim(tags []string) Claim {
	services, clusters := tagged(tags, serviceTagPrefix), tagged(tags, clusterTagPrefix)
	otherCluster := i.ClusterID != "" && len(clusters) > 0 && !slices.Contains(clusters, i.ClusterID)
	return claim(!otherCluster && slices.Contains(services, i.ServiceUID), otherCluster || len(services) > 0)
}

func claim(ours, somebodys bool) Claim {
	switch {
	case ours:
		return Ours
	case somebodys:
		return Theirs
	default:
		return Unclaimed
	}
}

func tagged(tags []string, prefix string) []string {
	var found []string
	for _, tag := range tags {
		if value, ok := strings.CutPrefix(tag, prefix); ok {
			found = append(found, value)
		}
	}
	return found
}
