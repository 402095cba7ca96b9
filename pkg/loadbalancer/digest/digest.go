// Package digest condenses what a Service asks for, so that two states of it can be compared
// without the load balancer: by this process, and, as it is recorded, by the next
// one. It is pure.
package digest

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
)

// Of condenses what a Service asks for, once VIP and floating IP are there: the load
// balancer, the settings that it does not show, and what it needs of the nodes' security
// groups, nil where that is not ours to manage. Where the load balancer is a template, nodes
// condenses the members that its pools have (members.Set.Digest).
func Of(desired *model.LoadBalancer, nodes string, settings *settings.Settings, spec *securitygroup.Spec) string {
	text := desired.AppendCanonical(nil)
	text = appendWords(text, settings.Floating.Pattern, settings.Floating.Tags, settings.LoadBalancer.FlavorID,
		settings.LoadBalancer.AvailabilityZone, settings.Members.SubnetID, nodes)
	internalGuest := desired.Shared != nil && settings.Internal // publishes the VIP, whatever is on it
	text = strconv.AppendBool(strconv.AppendBool(text, settings.LoadBalancer.AllowReplace), internalGuest)
	if spec != nil {
		groups, err := json.Marshal(spec)
		if err != nil {
			return "" // a struct of strings and numbers can be marshaled
		}
		text = append(text, groups...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// appendWords appends words of any length.
func appendWords(text []byte, words ...string) []byte {
	for _, word := range words {
		text = append(binary.AppendUvarint(text, uint64(len(word))), word...)
	}
	return text
}

// Nodeless condenses what a Service asks for but for which nodes are members. Desired may be a
// template: subnetOf returns the subnet that a member of its listener i is wanted in at an
// address, false where none is wanted there. Together with the status tree the digest tells what
// is in the load balancer. It is "" where it does not: members differ in more than their node,
// what is there has other names than it would get today, or the nodes' security groups are ours
// too.
func Nodeless(desired, observed *model.LoadBalancer, settings *settings.Settings, subnetOf func(i int, address string) (string, bool)) string {
	if settings.Access.SecurityGroupMode != "" || observed.Shared != nil || len(observed.Foreign) > 0 || len(observed.Orphans) > 0 {
		return ""
	}
	for i, want := range desired.Listeners {
		have := observed.Listener(want.Key())
		if have == nil || have.Name != want.Name || have.Pool.Name != want.Pool.Name {
			return ""
		}
		stray := func(m model.Member) bool { return isStray(m, i, observed.VIP.SubnetID, subnetOf) }
		if slices.ContainsFunc(have.Pool.Members, stray) {
			return ""
		}
	}
	template, ok := Template(desired)
	if !ok {
		return ""
	}
	return Of(template, "", settings, nil)
}

// isStray reports whether a member of listener i is not as it would be made today, and stays so:
// out of service, or in another subnet. One that names none is in the VIP's.
func isStray(m model.Member, i int, vipSubnet string, subnetOf func(i int, address string) (string, bool)) bool {
	if m.Drained || m.AdminDown {
		return true
	}
	if m.SubnetUnknown {
		return false
	}
	subnet, wanted := subnetOf(i, m.Address)
	return !wanted || cmp.Or(m.SubnetID, vipSubnet) != cmp.Or(subnet, vipSubnet)
}

// Template returns a load balancer with one member in each pool, which stands for all. It
// is false where members differ in more than their node, or a pool has none.
func Template(lb *model.LoadBalancer) (*model.LoadBalancer, bool) {
	template := *lb
	template.Listeners = slices.Clone(lb.Listeners)
	for i := range template.Listeners {
		pool := &template.Listeners[i].Pool
		if len(pool.Members) == 0 {
			return nil, false
		}
		like := ofAnyNode(pool.Members[0])
		if slices.ContainsFunc(pool.Members, func(m model.Member) bool { return ofAnyNode(m) != like }) {
			return nil, false
		}
		pool.Members = []model.Member{like}
	}
	return &template, true
}

// ofAnyNode returns a member without what its node decides.
func ofAnyNode(m model.Member) model.Member {
	m.ID, m.Name, m.Address, m.SubnetID, m.Status.Operating = "", "", "", "", ""
	return m
}
