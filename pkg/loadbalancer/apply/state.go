package apply

import (
	"cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
)

// state is what the cloud has, as far as a run knows. While the run waits, for the cloud or for
// its turn to ask it, it is packed: a thousand of them may wait at the same time.
type state struct {
	// observed lacks the load balancers that are packed.
	observed               model.Observed
	loadBalancer, retiring *model.Packed
	// before is the load balancer as it was when it was packed last, while it is not.
	before *model.Packed
	// changes are those of members that the packed load balancer lacks: it need not be unpacked
	// for each.
	changes []func(*model.Observed)
	// decoded is the outline of decodedOf, which is most likely loadBalancer.
	decoded   *model.LoadBalancer
	decodedOf *model.Packed
}

// packedState returns the state that was observed, packed. Nothing of what was observed is
// kept; what others keep of the load balancer anyway is shared with them.
func packedState(observed model.Observed, kept *model.Packed) state {
	s := state{loadBalancer: model.Pack(observed.LoadBalancer, kept), retiring: model.Pack(observed.Outgoing, nil)}
	observed.LoadBalancer, observed.Outgoing = nil, nil
	s.observed = observed.Clone()
	return s
}

func (s *state) pack() {
	if s.observed.LoadBalancer != nil {
		s.loadBalancer, s.observed.LoadBalancer = model.Pack(s.observed.LoadBalancer, s.before), nil
		s.before = nil
	}
	if s.observed.Outgoing != nil {
		s.retiring, s.observed.Outgoing = model.Pack(s.observed.Outgoing, nil), nil
	}
}

// park packs all, for a long wait.
func (s *state) park() {
	s.pack()
	s.decoded, s.decodedOf = nil, nil
}

// unpacked returns all of the state, which may be changed.
func (s *state) unpacked() *model.Observed {
	if s.loadBalancer != nil {
		s.replace(s.known())
	}
	if s.retiring != nil {
		s.observed.Outgoing, s.retiring = s.retiring.Unpack(), nil
	}
	return &s.observed
}

// known returns the packed load balancer, as a value of the caller's own.
func (s *state) known() *model.LoadBalancer {
	observed := model.Observed{LoadBalancer: s.loadBalancer.Unpack()}
	for _, change := range s.changes {
		change(&observed)
	}
	return observed.LoadBalancer
}

// edit has change do to the state what a step does. Where that is to members of a packed load
// balancer, it is done when those are needed, each time anew; where it is to none of them, they
// stay packed.
func (s *state) edit(step plan.Step, change func(*model.Observed)) {
	switch {
	case s.changesMembers(step):
		s.changes = append(s.changes, change)
	case s.loadBalancer != nil && keepsMembers(step):
		s.observed.LoadBalancer = s.loadBalancer.Outline()
		change(&s.observed)
		s.loadBalancer, s.observed.LoadBalancer = s.loadBalancer.WithOutline(s.observed.LoadBalancer), nil
	default:
		change(s.unpacked())
	}
}

// keepsMembers reports whether a step changes neither members nor which listeners and pools there
// are.
func keepsMembers(step plan.Step) bool {
	switch s := step.(type) {
	case plan.UpdateListener:
		return !s.SwitchesPool()
	case plan.UpdateLoadBalancer, plan.UpdatePool, plan.CreateMonitor, plan.UpdateMonitor, plan.DeleteMonitor, plan.CreateFloatingIP:
		return true
	}
	return false
}

// changesMembers reports whether a step changes nothing but members of a packed load balancer, in
// the pool of a listener.
func (s *state) changesMembers(step plan.Step) bool {
	switch step.(type) {
	case packedBatch, plan.AddMember, plan.UpdateMember, plan.RemoveMember:
	default:
		return false
	}
	if s.loadBalancer == nil {
		return false
	}
	all := s.outline()
	pool := poolOf(step).Find(all)
	for i := range all.Listeners {
		if &all.Listeners[i].Pool == pool {
			return true
		}
	}
	return false
}

// outline returns the load balancer, perhaps without members; nil where there is none.
// It must not be changed.
func (s *state) outline() *model.LoadBalancer {
	if s.loadBalancer == nil {
		return s.observed.LoadBalancer
	}
	if s.decodedOf != s.loadBalancer {
		s.decoded, s.decodedOf = s.loadBalancer.Outline(), s.loadBalancer
	}
	return s.decoded
}

// settled notes what a wait has found of the load balancer, which is packed.
func (s *state) settled(token watcher.Token) {
	s.loadBalancer = s.loadBalancer.WithStatus(token.Status, token.UpdatedAt)
}

// replace makes another state of the load balancer the one that is known.
func (s *state) replace(lb *model.LoadBalancer) {
	s.before = cmp.Or(s.loadBalancer, s.before)
	s.observed.LoadBalancer, s.loadBalancer, s.changes = lb, nil, nil
}

// replacePacked is replace for a state that is packed.
func (s *state) replacePacked(lb *model.Packed) {
	s.observed.LoadBalancer, s.loadBalancer, s.changes = nil, lb, nil
}

// retire makes the load balancer the one that another is to replace.
func (s *state) retire() {
	s.unpacked()
	s.pack()
	s.retiring = s.loadBalancer
}
