package plan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// KeepMembers returns the desired load balancer with some attributes of existing members. A member
// keeps
//
//   - its weight 0, unless Options.Drains or Options.Weighed, and its administrative state, because it was taken out of
//     service;
//   - its subnet, unless members must move (Options.MoveMembers), or it has none while all others are
//     in their nodes' subnets: it was created when the port of its node was unknown. A member without a subnet gets
//     the desired one if the whole pool has none and gets another port: such members may be pods of the nodes' network.
//
// Members that are pods are the same only with the same port, because addresses of pods are used again. A
// new one keeps its desired subnet, which depends on its address alone.
//
// Another new member gets the subnet of the members of its pool that stay, of all members of the pool if
// none stays, or, if the pool has none, that of the load balancer's other members: a change of the default subnet, or another controller's default,
// does not distribute a pool over subnets. If each member is in its node's subnet, so is the new
// one.
func KeepMembers(desired, lb *model.LoadBalancer, opts Options) *model.LoadBalancer {
	kept := *desired
	kept.Listeners = slices.Clone(desired.Listeners)
	for i := range kept.Listeners {
		l := &kept.Listeners[i]
		l.Pool.Members = takeOver(l.Pool.Members, membersLike(lb, l.Key()), lb, opts)
	}
	return &kept
}

// membersLike returns the members with the values for those of a listener: its own or, if it has
// none, those of all others.
func membersLike(lb *model.LoadBalancer, key model.ListenerKey) model.Members {
	if have := lb.Listener(key); have != nil && have.Pool.Members.Len() > 0 {
		return have.Pool.Members
	}
	var all model.Members
	for _, l := range lb.Listeners {
		all = all.With(l.Pool.Members)
	}
	return all
}

// takeOver returns the desired members with the values that existing ones keep. One without a
// subnet is in the VIP's.
func takeOver(desired, there model.Members, lb *model.LoadBalancer, opts Options) model.Members {
	at, vipSubnet := opts.same(desired, there), lb.VIP.SubnetID
	strays := opts.strays(desired, there, at, lb)
	moves := opts.MoveMembers || !lb.Adopted && unplaced(desired, there, at)
	var usual map[string]string
	if !moves && !opts.Pods {
		usual = opts.subnetsOfNew(desired, there, at, strays, vipSubnet)
	}
	changed := map[int]model.Member{} // as a rule there is none
	for i := range desired.Len() {
		want, old := desired.Kind(i), model.Member{SubnetUnknown: true}
		if at[i] >= 0 {
			old = there.Kind(at[i])
		}
		want.Drained, want.AdminDown = old.Drained && !opts.Drains && !opts.Weighed || want.Drained, old.AdminDown
		subnet, keeps := old.SubnetID, !moves && (old.SubnetID != "" || !strays)
		if old.SubnetUnknown {
			subnet, keeps = usual[model.FamilyOf(desired.Key(i).Address)]
		}
		if keeps {
			want.SubnetID = sentSubnet(subnet, want.SubnetID, vipSubnet, opts)
		}
		if want != desired.Kind(i) {
			changed[i] = want
		}
	}
	if len(changed) == 0 {
		return desired
	}
	return desired.Map(func(i int, m model.Member) model.Member {
		if kind, is := changed[i]; is {
			kind.ID, kind.Name, kind.Address = m.ID, m.Name, m.Address
			return kind
		}
		return m
	})
}

// subnetsOfNew returns the subnets of new members by IP family. One without an entry keeps its desired subnet.
func (o Options) subnetsOfNew(desired, there model.Members, at []int, strays bool, vipSubnet string) map[string]string {
	added, own := false, o.NodesSubnets // own: each existing member is in the subnet of its node
	for i, j := range at {
		switch {
		case j < 0 || there.Kind(j).SubnetUnknown:
			added = true
		case strays && there.Kind(j).SubnetID == "":
		default:
			own = own && cmp.Or(there.Kind(j).SubnetID, vipSubnet) == cmp.Or(desired.Kind(i).SubnetID, vipSubnet)
		}
	}
	if !added || own {
		return nil
	}
	return usualSubnets(stayingOf(there, at))
}

// unplaced reports whether members continue at another port, and no existing member has a subnet, except for
// those that are already as desired.
func unplaced(desired, there model.Members, at []int) bool {
	continues := false
	for i, j := range at {
		continues = continues || j >= 0 && there.Key(j).Port != desired.Key(i).Port
	}
	if !continues {
		return false
	}
	done := map[int]bool{}
	for i, j := range at {
		done[j] = j >= 0 && there.Key(j).Port == desired.Key(i).Port && there.Kind(j).SubnetID == desired.Kind(i).SubnetID
	}
	for j := range there.Len() {
		if kind := there.Kind(j); !done[j] && (kind.SubnetUnknown || kind.SubnetID != "") {
			return false
		}
	}
	return true
}

// same returns the index of the existing member that each desired one continues, and -1 if there is none.
func (o Options) same(desired, there model.Members) []int {
	if o.Pods {
		return placesIn(there, desired)
	}
	return byAddress(desired, there)
}

// byAddress returns the index of a member that exists at the address of each desired one, if possible at its
// port, and -1 if there is none.
func byAddress(desired, there model.Members) []int {
	places, at := make([]int, desired.Len()), 0
	for i := range places {
		key := desired.Key(i)
		for at < there.Len() && there.Key(at).Address < key.Address {
			at++
		}
		places[i] = -1
		for j := at; j < there.Len() && there.Key(j).Address == key.Address; j++ {
			if places[i] < 0 || there.Key(j).Port == key.Port {
				places[i] = j
			}
		}
	}
	return places
}

// stayingOf returns the existing members at the indexes in at, or all of them if it has none.
func stayingOf(there model.Members, at []int) model.Members {
	stays := map[int]bool{}
	for _, i := range at {
		stays[i] = true
	}
	if staying := there.Filter(func(i int) bool { return stays[i] }); staying.Len() > 0 {
		return staying
	}
	return there
}

// strays reports whether the members without a subnet belong into their nodes' subnets: some
// existing ones of the same addresses have one, each its node's. Members of another controller stay
// in their subnet.
func (o Options) strays(desired, there model.Members, at []int, lb *model.LoadBalancer) bool {
	if !o.NodesSubnets || o.MoveMembers || lb.Adopted {
		return false
	}
	named := false
	for i := range desired.Len() {
		if at[i] < 0 {
			continue
		}
		old := there.Kind(at[i])
		if old.SubnetUnknown || old.SubnetID == "" {
			continue
		}
		if named = true; old.SubnetID != desired.Kind(i).SubnetID {
			return false
		}
	}
	return named
}

// sentSubnet returns the subnet that is sent for a member in one: to a driver that needs
// it each time, the VIP's is sent by its ID.
func sentSubnet(subnet, wanted, vipSubnet string, opts Options) string {
	if subnet == "" && opts.Driver.Quirks.AlwaysSendSubnet {
		return cmp.Or(vipSubnet, wanted)
	}
	return subnet
}

// usualSubnets returns the subnet of most members of each IP family, of several the first by ID. A family
// of which no subnet has been read has no entry.
func usualSubnets(members model.Members) map[string]string {
	counts := map[string]map[string]int{} // by family and subnet
	for i := range members.Len() {
		kind, family := members.Kind(i), model.FamilyOf(members.Key(i).Address)
		if kind.SubnetUnknown {
			continue
		}
		if counts[family] == nil {
			counts[family] = map[string]int{}
		}
		counts[family][kind.SubnetID]++
	}
	usual := map[string]string{}
	for family, subnets := range counts {
		usual[family] = slices.MinFunc(slices.Collect(maps.Keys(subnets)), func(a, b string) int {
			return cmp.Or(cmp.Compare(subnets[b], subnets[a]), cmp.Compare(a, b))
		})
	}
	return usual
}
