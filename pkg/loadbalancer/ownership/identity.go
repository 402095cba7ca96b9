// Package ownership names the load balancer of a Service, reports the owner of a load
// balancer, listener, pool or floating IP, and decides which of several load balancers
// belongs to a Service. It is pure: observe reads what it needs.
//
// The names, descriptions and the first tag are those of kubernetes/cloud-provider-openstack,
// because others find load balancers by them (Magnum deletes a cluster's load
// balancers and floating IPs by their description). What proves that something is
// ours comes beside them: the UID of the cluster and the UID of the Service.
package ownership

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxLength is how long Octavia and Neutron let a name, tag or description be.
	maxLength = 255

	// The prefixes must not begin with "kube_service_": cloud-provider-openstack
	// counts tags of that form as Services that share the load balancer.
	clusterTagPrefix = "kube_cluster_id_"
	serviceTagPrefix = "kube_svc_uid_"
)

// Identity is who a load balancer belongs to.
type Identity struct {
	// ClusterName is --cluster-name. It is not unique: many clusters keep the
	// default.
	ClusterName string
	// ClusterID is the UID of the namespace kube-system; empty when it could not
	// be read for lack of rights.
	ClusterID string
	// ServiceUID, Namespace and Service are the Service's.
	ServiceUID, Namespace, Service string
	// Untagged tells that load balancers carry no tags in this cloud (Octavia
	// before 4.0): their descriptions carry the identity.
	Untagged bool
	// Former is the name that our own load balancer got from an earlier
	// --cluster-name, or from the provider inside of Kubernetes. Empty: none.
	Former string
	// Releases is set for a Service that goes, and gives back the floating IP that it has asked
	// for: see OwnsFloatingIPOnVIP.
	Releases bool
	// Sharing is set while we look at a load balancer that is another's.
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

// Tags returns the tags of everything that can carry tags when it is created.
func (i Identity) Tags() []string {
	if i.Untagged {
		return nil
	}
	tags := []string{i.Name()}
	if i.ClusterID != "" {
		tags = append(tags, clusterTagPrefix+i.ClusterID)
	}
	return append(tags, i.ServiceTag())
}

// ServiceTag returns the tag by which everything made for the Service is found.
func (i Identity) ServiceTag() string { return serviceTagPrefix + i.ServiceUID }

// FloatingIPDescription returns the description of a floating IP made for the
// Service. Neutron takes no tags at the creation of a floating IP, so the identity
// stands here, within "Floating IP for Kubernetes … from cluster NAME".
func (i Identity) FloatingIPDescription() string {
	const head = "Floating IP for Kubernetes "
	return i.describe(head, i.proof(head))
}

const fromCluster = " from cluster "

// describe writes a description in the shape that others look for. Where it gets
// too long the name of the Service gives way: they match the name of the cluster
// to its end.
func (i Identity) describe(head, proof string) string {
	tail := proof + fromCluster + i.ClusterName
	service := "external service " + i.Namespace + "/" + i.Service
	room := max(maxLength-len(head)-len(tail), 0)
	return cut(head + service[:min(room, len(service))] + tail)
}

// proofHead is what a proof begins with.
const proofHead = " (uid "

// proof is the part of a description that nobody else's has. The UID of the
// Service never gives way; that of the cluster does to a very long name of the
// cluster.
func (i Identity) proof(head string) string {
	full := proofHead + i.ServiceUID + " in " + i.ClusterID + ")"
	if i.ClusterID == "" || len(head+full+fromCluster+i.ClusterName) > maxLength {
		return proofHead + i.ServiceUID + ")"
	}
	return full
}

// CutProof returns what stands in a description before the proof of an owner, and the UID of
// the Service in each proof that there is. Of a description without any it returns all.
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

// OwnsFloatingIP reports whether a floating IP with this description was made for
// the Service: exactly its UID, and no other cluster's.
func (i Identity) OwnsFloatingIP(description string) bool {
	return i.owns(floatingIPProof, description)
}

func (i Identity) owns(proof *regexp.Regexp, description string) bool {
	if !strings.Contains(description, i.ServiceUID) {
		return false // there can be thousands of others, and patterns are slow
	}
	match := proof.FindStringSubmatch(description)
	return match != nil && match[1] == i.ServiceUID && (match[2] == "" || i.ClusterID == "" || match[2] == i.ClusterID)
}

// KeptFloatingIP reports whether a floating IP with this description was made for an
// earlier Service of the same name in this cluster, one that is gone: two Services
// of one name cannot be there at a time. Exactly that name: one that was cut is no
// proof.
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

// These match what Description and FloatingIPDescription write.
var (
	loadBalancerProof = regexp.MustCompile(`^Kubernetes .*\(uid ([^ )]+)(?: in ([^ )]+))?\) from cluster `)
	floatingIPProof   = regexp.MustCompile(`^Floating IP for Kubernetes .*\(uid ([^ )]+)(?: in ([^ )]+))?\) from cluster `)
)

// OwnsFloatingIPOnVIP reports whether a floating IP on the VIP of our load balancer
// was made for the Service. Where cloud-provider-openstack made the load balancer, its
// description, which is the same in every cluster, proves enough; on one that we made
// it proves nothing: the Service has asked for one that was kept. On a load balancer
// that we share and may delete, it is whether the floating IP was made for the owner, or has become
// the Service's since. A Service that gives back the one that it has asked for owns it where it was
// made for any Service of its namespace in this cluster.
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

// madeForNeighbor reports whether a floating IP was made for a Service of the same namespace in this
// cluster, by the cluster's UID.
func (i Identity) madeForNeighbor(description string) bool {
	owner, ok := FloatingIPOwner(description)
	return ok && i.ClusterID != "" && owner.ClusterID == i.ClusterID && owner.Namespace == i.Namespace
}

// LegacyFloatingIPDescription is what cloud-provider-openstack writes. It proves
// nothing without a load balancer that is proven ours.
func (i Identity) LegacyFloatingIPDescription() string {
	return fmt.Sprintf("Floating IP for Kubernetes external service %s/%s from cluster %s", i.Namespace, i.Service, i.ClusterName)
}

// Claim is what tags say about the owner of an object.
type Claim int

const (
	// Unclaimed objects carry no UID: another client made them, or
	// cloud-provider-openstack did.
	Unclaimed Claim = iota
	// Ours was made for this Service of this cluster.
	Ours
	// Theirs was made for another Service or another cluster.
	Theirs
)

// Claim reads the owner of a load balancer from its tags, or its description where
// there are no tags.
func (i Identity) Claim(tags []string, description string) Claim {
	if i.Untagged {
		ours := i.owns(loadBalancerProof, description)
		return claim(ours, strings.Contains(description, "(uid "))
	}
	return i.claim(tags)
}

// claim reads the owner of an object from its tags.
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
