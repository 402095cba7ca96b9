package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Plan is an ordered list of steps, each of which requires the result of the previous ones. After
// an interruption, a new plan continues from the present state.
type Plan struct {
	Steps []Step
	// Notices are messages about settings that the load balancer does not follow: no step removes
	// these differences.
	Notices []string
	// Retained are messages about load balancers of the Service that are not needed and not
	// deleted, with the reasons.
	Retained []string
	// Blocked is the reason why no step is possible at present; there are no steps then.
	Blocked string
}

// Empty reports whether there are no steps and no block.
func (p Plan) Empty() bool { return len(p.Steps) == 0 && p.Blocked == "" }

// Creates reports whether the plan creates a load balancer.
func (p Plan) Creates() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		switch s := s.(type) {
		case CreateLoadBalancer, CreateVIP:
			return true
		case SetForwardings:
			return s.Creates
		}
		return false
	})
}

// DeletesLoadBalancer reports whether the plan deletes a load balancer.
func (p Plan) DeletesLoadBalancer() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		switch s := s.(type) {
		case DeleteLoadBalancer, DeleteVIP:
			return true
		case SetForwardings:
			return len(s.To) == 0
		}
		return false
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

// Needs returns the optional feature that a step needs, and reports whether there is one: the plan
// can be made without it.
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

// Certificates returns the references of the certificates that the plan sets on listeners, and of those of other
// listeners that it writes, each without duplicates.
func (p Plan) Certificates() (set, kept []string) {
	add := func(refs *[]string, l model.Listener) {
		if l.TLSContainerRef != "" && !slices.Contains(*refs, l.TLSContainerRef) {
			*refs = append(*refs, l.TLSContainerRef)
		}
	}
	for _, step := range p.Steps {
		switch s := step.(type) {
		case CreateLoadBalancer:
			for _, l := range s.LoadBalancer.Listeners {
				add(&set, l)
			}
		case CreateListener:
			add(&set, s.Listener)
		case UpdateListener:
			if s.From.TLSContainerRef != s.To.TLSContainerRef {
				add(&set, s.To)
			} else {
				add(&kept, s.To)
			}
		}
	}
	return set, kept
}

// WithoutListeners returns the plan without updates of listeners with some certificates.
func (p Plan) WithoutListeners(certificates []string) Plan {
	p.Steps = slices.DeleteFunc(slices.Clone(p.Steps), func(step Step) bool {
		s, is := step.(UpdateListener)
		return is && slices.Contains(certificates, s.To.TLSContainerRef)
	})
	return p
}

// String returns a plan with one step per line.
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

// Step is one change of the cloud. String returns it in one line.
type Step interface {
	fmt.Stringer
	step()
}

// PoolRef refers to a pool: the one with that ID or, if the ID is unknown when the plan is made,
// the one of that name and protocol that an earlier step creates.
type PoolRef struct {
	ID, Name string
	// Key is the listener that the pool serves.
	Key      model.ListenerKey
	Protocol model.Protocol
}

// String returns the port that the pool serves, or its name if it serves none.
func (r PoolRef) String() string {
	if r.Key == (model.ListenerKey{}) {
		return r.Name
	}
	return r.Key.String()
}

type (
	// CreateLoadBalancer creates a load balancer with all its children; Replaces is the ID of the
	// one that it replaces, Why the reason.
	CreateLoadBalancer struct {
		LoadBalancer  *model.LoadBalancer
		Replaces, Why string
	}

	// DeleteLoadBalancer deletes a load balancer, with Cascade including its children.
	DeleteLoadBalancer struct {
		ID, Name string
		Cascade  bool
		Why      string // the reason, if the Service remains
		// Replaced is set if another one serves in its place: it is deleted once that is ACTIVE
		// with all its children.
		Replaced bool
	}

	// CreateVIP creates the port that reserves the VIP of a load balancer of provider router. Prefer is
	// the address that it gets if it is free and no other one is desired, "" for none.
	CreateVIP struct {
		LoadBalancer *model.LoadBalancer
		Prefer       string
	}

	// LeadVIP sets the next hops of a VIP, and makes their ports admit its packets; To is empty if no route
	// remains. Barred are those of From that do not admit them.
	LeadVIP struct {
		Address          string
		From, To, Barred []string
	}

	// DeleteVIP deletes the port of a VIP.
	DeleteVIP struct{ PortID, Address string }

	// SetForwardings sets the port forwardings that a Service has on a floating IP, which is on no port; with
	// Creates on the one that was created last. Describe is its new description if it becomes ours.
	SetForwardings struct {
		FloatingIP model.FloatingIP
		Creates    bool
		From, To   []model.Forwarding
		Describe   string
	}

	// CreateListener creates a listener for the pool that was created for its key, or for the one
	// with the given ID.
	CreateListener struct{ Listener model.Listener }

	// UpdateListener changes a listener in one request: its clients, limits, headers, certificate
	// and pool. If From and To are equal, it repairs a listener in ERROR.
	UpdateListener struct {
		ID       string
		Key      model.ListenerKey
		From, To model.Listener
	}

	// DeleteListener deletes a listener and leaves its pool.
	DeleteListener struct {
		ID  string
		Key model.ListenerKey
	}

	// CreatePool creates an empty pool for the listener of that key.
	CreatePool struct {
		Key  model.ListenerKey
		Pool model.Pool
	}

	// UpdatePool changes the settings of a pool. If From and To are equal, it repairs a pool in
	// ERROR.
	UpdatePool struct {
		Pool     PoolRef
		From, To model.Pool
	}

	// DeletePool deletes a pool with its members and monitor.
	DeletePool struct{ ID, Name string }

	// SetMembers replaces the members of a pool in one request. With Additive it adds and changes
	// these, and does not affect the others.
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

	// UpdateMember changes a member. If From and To are equal, it repairs a member in ERROR.
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

	// UpdateMonitor changes the settings of a health monitor, except for its type. If From and To
	// are equal, it repairs a monitor in ERROR.
	UpdateMonitor struct {
		Pool     PoolRef
		From, To model.Monitor
	}

	// DeleteMonitor deletes a health monitor.
	DeleteMonitor struct {
		Pool    PoolRef
		Monitor model.Monitor
	}

	// CreateFloatingIP creates a floating IP on the VIP; with Beside on no port, and a later step
	// associates it with the VIP of a load balancer that may not exist yet.
	CreateFloatingIP struct {
		FloatingIP model.FloatingIP
		Beside     bool
	}

	// AssociateFloatingIP associates an unattached floating IP with the VIP; one without an ID is
	// the one created last. Revision is the observed one: if another client has changed the
	// floating IP since, it is not moved. Describe is its new description if it becomes ours.
	AssociateFloatingIP struct {
		ID, Address string
		Revision    *int
		Describe    string
	}

	// MoveFloatingIP moves the floating IP from a deleted load balancer of the Service to the one
	// that remains, in one request, once that is ACTIVE with all its children.
	MoveFloatingIP struct {
		ID, Address string
		Revision    *int
		Describe    string
	}

	// DisassociateFloatingIP disassociates a floating IP from the VIP and keeps it.
	DisassociateFloatingIP struct{ ID, Address string }

	// ClaimFloatingIP gives the floating IP on the VIP our description, by which it is found
	// without its load balancer.
	ClaimFloatingIP struct{ ID, Address, Describe string }

	// DeleteFloatingIP deletes a floating IP.
	DeleteFloatingIP struct{ ID, Address string }
)

// Pool returns the pool of a new listener.
func (s CreateListener) Pool() PoolRef { return poolFor(s.Listener) }

// SwitchesPool reports whether the listener is switched to another pool, which is NewPool.
func (s UpdateListener) SwitchesPool() bool { return s.To.Pool.ID == "" && s.To.Pool.Name != "" }

// NewPool returns the pool that the listener is switched to.
func (s UpdateListener) NewPool() PoolRef { return poolFor(s.To) }

func poolFor(l model.Listener) PoolRef {
	return PoolRef{ID: l.Pool.ID, Name: l.Pool.Name, Key: l.Key(), Protocol: l.Pool.Protocol}
}

// Writes returns the minimum number of writing requests of a step, without those for address pairs on the ports of nodes,
// which the step does not show. Neutron ignores the tags in the request for a port: they take another one.
func Writes(step Step) int {
	switch s := step.(type) {
	case CreateVIP:
		return 2
	case LeadVIP:
		return s.writes()
	case SetForwardings:
		return s.writes()
	}
	return 1
}

func (CreateLoadBalancer) step()     {}
func (DeleteLoadBalancer) step()     {}
func (CreateVIP) step()              {}
func (LeadVIP) step()                {}
func (DeleteVIP) step()              {}
func (SetForwardings) step()         {}
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
