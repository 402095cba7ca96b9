package apply

import (
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
}

// packedState returns the state that was observed, packed. Nothing of what was observed is
// kept; what others keep of the load balancer anyway is shared with them.
func packedState(observed model.Observed, kept *model.Packed) state {
	s := state{loadBalancer: model.Pack(observed.LoadBalancer).Sharing(kept), retiring: model.Pack(observed.Outgoing)}
	observed.LoadBalancer, observed.Outgoing = nil, nil
	s.observed = observed.Clone()
	return s
}

func (s *state) pack() {
	if s.observed.LoadBalancer != nil {
		s.loadBalancer, s.observed.LoadBalancer = model.Pack(s.observed.LoadBalancer), nil
	}
	if s.observed.Outgoing != nil {
		s.retiring, s.observed.Outgoing = model.Pack(s.observed.Outgoing), nil
	}
}

// unpacked returns all of the state, which may be changed.
func (s *state) unpacked() *model.Observed {
	if s.loadBalancer != nil {
		s.observed.LoadBalancer, s.loadBalancer = s.loadBalancer.Unpack(), nil
	}
	if s.retiring != nil {
		s.observed.Outgoing, s.retiring = s.retiring.Unpack(), nil
	}
	return &s.observed
}

// edit has change do to the state what a step does. Of a packed load balancer in which the
// step changes the members of one pool, those of the others stay packed, and are not there.
func (s *state) edit(step plan.Step, change func(*model.Observed)) {
	i := s.membersChanged(step)
	if i < 0 {
		change(s.unpacked())
		return
	}
	lb := s.loadBalancer.UnpackPool(i)
	key := lb.Listeners[i].Key()
	change(&model.Observed{LoadBalancer: lb})
	s.loadBalancer = s.loadBalancer.WithMembers(i, lb.Listener(key).Pool.Members)
}

// membersChanged returns the index of the listener of whose pool a step changes members, and
// nothing else; -1 where it changes anything else, or the load balancer is not packed.
func (s *state) membersChanged(step plan.Step) int {
	switch step.(type) {
	case plan.SetMembers, plan.AddMember, plan.UpdateMember, plan.RemoveMember:
	default:
		return -1
	}
	if s.loadBalancer == nil {
		return -1
	}
	all := s.loadBalancer.Outline()
	pool := poolOf(step).Find(all)
	for i := range all.Listeners {
		if &all.Listeners[i].Pool == pool {
			return i
		}
	}
	return -1 // it is of no listener, and not packed
}

// outline returns the load balancer, perhaps without members; nil where there is none.
// It must not be changed.
func (s *state) outline() *model.LoadBalancer {
	if s.loadBalancer != nil {
		return s.loadBalancer.Outline()
	}
	return s.observed.LoadBalancer
}

// settled notes what a wait has found of the load balancer, which is packed.
func (s *state) settled(token watcher.Token) {
	s.loadBalancer = s.loadBalancer.WithStatus(token.Status, token.UpdatedAt)
}

// replace makes another state of the load balancer the one that is known.
func (s *state) replace(lb *model.LoadBalancer) { s.observed.LoadBalancer, s.loadBalancer = lb, nil }

// replacePacked is replace for a state that is packed.
func (s *state) replacePacked(lb *model.Packed) { s.observed.LoadBalancer, s.loadBalancer = nil, lb }
