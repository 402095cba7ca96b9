// Package plan compares the load balancer that a Service asks for with the one
// that exists, and returns the steps from the one to the other. It is pure: the same two
// models result in the same plan, in the same order.
package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Plan is an ordered list of steps. Carried out one after another, each finds what the ones
// before have left; after a crash between two of them, a new plan continues where it
// stopped.
type Plan struct {
	Steps []Step
	// Notices are the differences that no step removes.
	Notices []Notice
	// Retained are messages on load balancers of the Service that are not needed, and stay:
	// which, and why.
	Retained []string
	// Blocked says why nothing can be done at present; there are no steps then.
	Blocked string
}

// Notice is a setting that the load balancer does not follow.
type Notice struct {
	Setting, Message string
}

// Empty reports whether there is nothing to do.
func (p Plan) Empty() bool { return len(p.Steps) == 0 && p.Blocked == "" }

// Creates reports whether the plan creates a load balancer.
func (p Plan) Creates() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		_, creates := s.(CreateLoadBalancer)
		return creates
	})
}

// DeletesLoadBalancer reports whether the plan deletes a load balancer.
func (p Plan) DeletesLoadBalancer() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		_, deletes := s.(DeleteLoadBalancer)
		return deletes
	})
}

// FailsOver returns the load balancer that the plan fails over, "" for none.
func (p Plan) FailsOver() (id string) {
	for _, step := range p.Steps {
		if s, is := step.(FailOver); is {
			return s.ID
		}
	}
	return ""
}

// CreatesFloatingIP reports whether the plan creates a floating IP.
func (p Plan) CreatesFloatingIP() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		_, creates := s.(CreateFloatingIP)
		return creates
	})
}

// OnlyMembers returns the steps of the plan that change members.
func (p Plan) OnlyMembers() Plan {
	var members Plan
	for _, step := range p.Steps {
		switch step.(type) {
		case SetMembers, AddMember, UpdateMember, RemoveMember:
			members.Steps = append(members.Steps, step)
		}
	}
	return members
}

// ChangesOnlyMembers reports whether all steps of the plan change members.
func (p Plan) ChangesOnlyMembers() bool { return len(p.OnlyMembers().Steps) == len(p.Steps) }

// Needs returns the feature that a driver needs to carry out a step, and reports whether
// there is one: the same can be planned without it.
func Needs(step Step) (feature driver.Feature, optional bool) {
	switch s := step.(type) {
	case CreateLoadBalancer:
		return driver.FullCreate, len(s.LoadBalancer.Listeners) > 0
	case SetMembers:
		return driver.MemberBatches, true
	case FailOver:
		return driver.Failover, true
	}
	return 0, false
}

// Certificates returns the references of the certificates that the plan sets on listeners,
// each once.
func (p Plan) Certificates() []string {
	var refs []string
	add := func(l model.Listener) {
		if l.TLSContainerRef != "" && !slices.Contains(refs, l.TLSContainerRef) {
			refs = append(refs, l.TLSContainerRef)
		}
	}
	for _, step := range p.Steps {
		switch s := step.(type) {
		case CreateLoadBalancer:
			for _, l := range s.LoadBalancer.Listeners {
				add(l)
			}
		case CreateListener:
			add(s.Listener)
		case UpdateListener:
			if s.From.TLSContainerRef != s.To.TLSContainerRef {
				add(s.To)
			}
		}
	}
	return refs
}

// String prints a plan, a step a line.
func (p Plan) String() string {
	var b strings.Builder
	for _, step := range p.Steps {
		fmt.Fprintln(&b, step)
	}
	if p.Blocked != "" {
		fmt.Fprintln(&b, "blocked:", p.Blocked)
	}
	return b.String()
}

// Step is one change of the cloud. String prints it in one line.
type Step interface {
	fmt.Stringer
	step()
}

// PoolRef is the pool that a step means: the one with that ID or, where the ID is not known
// when the plan is made, the one of that name and protocol that an earlier step creates.
type PoolRef struct {
	ID, Name string
	// Key is the listener that the pool serves.
	Key      model.ListenerKey
	Protocol model.Protocol
}

// String prints the port that the pool serves, or its name when it serves none.
func (r PoolRef) String() string {
	if r.Key == (model.ListenerKey{}) {
		return r.Name
	}
	return r.Key.String()
}

type (
	// CreateLoadBalancer creates a load balancer with everything in it; Replaces is the ID
	// of the one that it is to replace, and Why the reason.
	CreateLoadBalancer struct {
		LoadBalancer  *model.LoadBalancer
		Replaces, Why string
	}

	// DeleteLoadBalancer deletes a load balancer, with Cascade all that is in it.
	DeleteLoadBalancer struct {
		ID, Name string
		Cascade  bool
		Why      string // the reason, when the Service stays
		// Replaced is set when another one serves in its place: it is deleted once that is
		// ACTIVE with all its parts.
		Replaced bool
	}

	// CreateListener creates a listener for the pool created for its key, or for the one
	// whose ID it names.
	CreateListener struct{ Listener model.Listener }

	// UpdateListener changes what can change of a listener, in one request: its
	// clients, limits, headers, certificate and pool. When From and To are equal it
	// changes nothing and repairs a listener in ERROR.
	UpdateListener struct {
		ID       string
		Key      model.ListenerKey
		From, To model.Listener
	}

	// DeleteListener deletes a listener and leaves its pool.
	DeleteListener struct {
		ID, Name string
		Key      model.ListenerKey
	}

	// CreatePool creates an empty pool for the listener of that key.
	CreatePool struct {
		Key  model.ListenerKey
		Pool model.Pool
	}

	// UpdatePool changes the settings of a pool. When From and To are equal it
	// changes nothing and repairs a pool in ERROR.
	UpdatePool struct {
		Pool     PoolRef
		From, To model.Pool
	}

	// DeletePool deletes a pool with its members and monitor.
	DeletePool struct{ ID, Name string }

	// SetMembers replaces the members of a pool by these, in one request. With Additive it
	// adds and changes these, and leaves the others as they are.
	SetMembers struct {
		Pool                             PoolRef
		Members, Added, Removed, Changed model.Members
		Additive                         bool
	}

	// AddMember adds a member to a pool.
	AddMember struct {
		Pool   PoolRef
		Member model.Member
	}

	// UpdateMember changes a member. When From and To are equal it repairs one in ERROR.
	UpdateMember struct {
		Pool     PoolRef
		From, To model.Member
	}

	// RemoveMember removes a member from a pool.
	RemoveMember struct {
		Pool   PoolRef
		Member model.Member
	}

	// CreateMonitor creates the health monitor of a pool.
	CreateMonitor struct {
		Pool    PoolRef
		Monitor model.Monitor
	}

	// UpdateMonitor changes the settings of a health monitor; its type cannot
	// change. When From and To are equal it repairs a monitor in ERROR.
	UpdateMonitor struct {
		Pool     PoolRef
		From, To model.Monitor
	}

	// DeleteMonitor deletes a health monitor.
	DeleteMonitor struct {
		Pool    PoolRef
		Monitor model.Monitor
	}

	// CreateFloatingIP creates a floating IP on the VIP; with Beside on no port, for a later
	// step to put it on the VIP, of a load balancer that need not exist yet.
	CreateFloatingIP struct {
		FloatingIP model.FloatingIP
		Beside     bool
	}

	// AssociateFloatingIP puts an unattached floating IP on the VIP; one without an ID is
	// the one created last. Revision is that of the one that was seen: if another client has
	// changed it since, it stays where it is. Describe is its new description, when it
	// becomes ours.
	AssociateFloatingIP struct {
		ID, Address string
		Revision    *int
		Describe    string
	}

	// MoveFloatingIP moves the floating IP from a load balancer of the Service that is
	// deleted to the one that stays, in one request, once that is ACTIVE with all its parts.
	MoveFloatingIP struct {
		ID, Address string
		Revision    *int
		Describe    string
	}

	// DisassociateFloatingIP takes a floating IP off the VIP and keeps it.
	DisassociateFloatingIP struct{ ID, Address string }

	// ClaimFloatingIP gives the floating IP on the VIP the description of ours, by which it is
	// found without its load balancer.
	ClaimFloatingIP struct{ ID, Address, Describe string }

	// DeleteFloatingIP deletes a floating IP.
	DeleteFloatingIP struct{ ID, Address string }
)

// Pool returns the pool that a new listener sends clients to.
func (s CreateListener) Pool() PoolRef { return poolFor(s.Listener) }

// SwitchesPool reports whether the listener is switched to another pool, which is NewPool.
func (s UpdateListener) SwitchesPool() bool { return s.To.Pool.ID == "" && s.To.Pool.Name != "" }

// NewPool returns the pool that the listener is switched to.
func (s UpdateListener) NewPool() PoolRef { return poolFor(s.To) }

func poolFor(l model.Listener) PoolRef {
	return PoolRef{ID: l.Pool.ID, Name: l.Pool.Name, Key: l.Key(), Protocol: l.Pool.Protocol}
}

func (CreateLoadBalancer) step()     {}
func (DeleteLoadBalancer) step()     {}
func (CreateListener) step()         {}
func (UpdateListener) step()         {}
func (DeleteListener) step()         {}
func (CreatePool) step()             {}
func (UpdatePool) step()             {}
func (DeletePool) step()             {}
func (SetMembers) step()             {}
func (AddMember) step()              {}
func (UpdateMember) step()           {}
func (RemoveMember) step()           {}
func (CreateMonitor) step()          {}
func (UpdateMonitor) step()          {}
func (DeleteMonitor) step()          {}
func (CreateFloatingIP) step()       {}
func (AssociateFloatingIP) step()    {}
func (MoveFloatingIP) step()         {}
func (DisassociateFloatingIP) step() {}
func (ClaimFloatingIP) step()        {}
func (DeleteFloatingIP) step()       {}
