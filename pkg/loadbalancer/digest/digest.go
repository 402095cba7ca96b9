package digest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Of returns the digest of a desired state with its VIP and floating IP: the load balancer, the
// settings that are not part of it, and its rules for the nodes' security groups, nil if we do not
// manage these.
func Of(desired *model.LoadBalancer, settings *settings.Settings, spec *securitygroup.Spec) string {
	return sum(desired, settings, spec, model.Members.Digest)
}

// Nodeless returns the digest of a desired state without its nodes. It is "" if members differ in
// more than their node, or a pool has none, or its members are held.
func Nodeless(desired *model.LoadBalancer, settings *settings.Settings) string {
	for _, l := range desired.Listeners {
		if _, alike := l.Pool.Members.Common(); l.Protocol.HasPool() && !alike || l.Pool.Held {
			return ""
		}
	}
	return sum(desired, settings, nil, func(members model.Members) string {
		like, _ := members.Common()
		return model.MembersOf(like).Digest()
	})
}

// sum returns the digest. Members have a digest of their own.
func sum(desired *model.LoadBalancer, settings *settings.Settings, spec *securitygroup.Spec, of func(model.Members) string) string {
	lb := *desired
	lb.UpdatedAt = time.Time{}
	var members []string
	for _, l := range lb.Listeners {
		members = append(members, of(l.Pool.Members))
	}
	for _, pool := range lb.Orphans {
		members = append(members, of(pool.Members))
	}
	text, err := json.Marshal(struct {
		LoadBalancer         *model.LoadBalancer // in which members have no fields
		Members              []string
		Pattern              string
		Tags                 string
		Flavor, Zone, Subnet string
		AllowReplace         bool
		InternalGuest        bool // publishes the VIP even if that has a floating IP
		SecurityGroups       *securitygroup.Spec
		Weights              string // those of others are kept or not
	}{
		&lb, members, settings.Floating.Pattern, settings.Floating.Tags, settings.LoadBalancer.FlavorID, settings.LoadBalancer.AvailabilityZone,
		settings.Members.SubnetID, settings.LoadBalancer.AllowReplace, desired.Shared != nil && settings.Internal, spec, settings.Members.Weights,
	})
	if err != nil {
		return "" // structs of strings and numbers can be marshaled
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Covers reports whether the digest without nodes and the status tree together cover the whole load
// balancer. They do not if a member permanently differs from a new one, if parts have other names
// than new ones, or if we also manage the nodes' security groups.
func Covers(desired, observed *model.LoadBalancer, settings *settings.Settings) bool {
	if settings.Access.SecurityGroupMode != "" || observed.Shared != nil || len(observed.Foreign) > 0 || len(observed.Orphans) > 0 {
		return false
	}
	for _, want := range desired.Listeners {
		have := observed.Listener(want.Key())
		if have == nil || have.Name != want.Name || have.Pool.Name != want.Pool.Name {
			return false
		}
		for i := range have.Pool.Members.Len() {
			if isStray(have.Pool.Members.Kind(i), have.Pool.Members.Key(i).Address, want.Pool.Members, observed.VIP.SubnetID) {
				return false
			}
		}
	}
	return true
}

// isStray reports whether the member at an address permanently differs from a new one: it is out of
// service, or in another subnet. A member without a subnet is in the VIP's.
func isStray(m model.Member, address string, wanted model.Members, vipSubnet string) bool {
	if m.Drained || m.AdminDown {
		return true
	}
	if m.SubnetUnknown {
		return false
	}
	at, is := wanted.FindAddress(address)
	return !is || cmp.Or(m.SubnetID, vipSubnet) != cmp.Or(wanted.Kind(at).SubnetID, vipSubnet)
}
