package ownership

import "strings"

// FloatingIPs are the floating IPs of a Service. Their descriptions contain the identity, within
// "Floating IP for Kubernetes … from cluster NAME", because Neutron accepts no tags at their creation.
type FloatingIPs struct{ of Identity }

// FloatingIPs returns those of the Service.
func (i Identity) FloatingIPs() FloatingIPs { return FloatingIPs{i} }

// Description returns the description of a floating IP of the Service.
func (f FloatingIPs) Description() string { return f.of.describe(floatingIPHead, true) }

// LegacyDescription returns cloud-provider-openstack's description. It is a proof only on
// a load balancer that is proven ours.
func (f FloatingIPs) LegacyDescription() string {
	return floatingIPHead + "external service " + f.of.Namespace + "/" + f.of.Service + fromCluster + f.of.ClusterName
}

// Own reports whether a floating IP with this description was created for the Service:
// it has its UID, and not another cluster's.
func (f FloatingIPs) Own(description string) bool {
	return f.of.uids().in(floatingIPProof, description)
}

// Kept reports whether a floating IP with this description was created for an earlier
// Service of the same name in this cluster, which no longer exists, because names are unique. A
// truncated name is no proof.
func (f FloatingIPs) Kept(description string) bool {
	i := f.of
	if !strings.Contains(description, " "+i.Namespace+"/"+i.Service+proofHead) {
		return false // there can be thousands of others, and regular expressions are slow
	}
	match := floatingIPProof.FindStringSubmatch(description)
	if match == nil || i.ClusterID == "" || match[2] != i.ClusterID || match[1] == i.ServiceUID {
		return false
	}
	i.ServiceUID, i.ClusterName = match[1], description[len(match[0]):]
	return i.FloatingIPs().Description() == description
}

// OwnOnVIP reports whether a floating IP on the VIP of our load balancer was created for
// the Service. On a load balancer of cloud-provider-openstack, its description, which is equal in
// all clusters, is sufficient proof. On our own it is none, because the Service may have requested
// a kept floating IP. On a shared load balancer that we may delete, it reports whether the floating
// IP was created for the owner, or has become the Service's since. A Service that releases its
// requested floating IP owns it if it was created for any Service of its namespace in this cluster.
func (f FloatingIPs) OwnOnVIP(description string, adopted bool) bool {
	i := f.of
	switch {
	case i.Sharing.Is:
		return i.Sharing.Removable && (i.Sharing.Owner.OwnsFloatingIPOf(description) || f.Own(description))
	case i.Releases && f.ofNeighbor(description):
		return true
	case adopted:
		return f.Own(description) || Owner{Namespace: i.Namespace, Service: i.Service}.OwnsFloatingIPOf(description)
	default:
		return f.Own(description)
	}
}

// ofNeighbor reports whether a floating IP was created for a Service of the same namespace in
// this cluster, by the cluster's UID.
func (f FloatingIPs) ofNeighbor(description string) bool {
	owner, ok := FloatingIPOwner(description)
	return ok && f.of.ClusterID != "" && owner.ClusterID == f.of.ClusterID && owner.Namespace == f.of.Namespace
}
