package plan

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Options are the inputs of a plan in addition to the two models.
type Options struct {
	// KeepFloatingIP keeps a floating IP of ours that the load balancer no longer needs.
	KeepFloatingIP bool
	// Describe is the description of the Service's floating IPs, for another's that is claimed
	// before it is deleted.
	Describe string
	// Published is set if the address is published: then the load balancer may carry traffic in any
	// status.
	Published bool
	// Addresses are the published ones: a load balancer with one of them is not deleted, although
	// the Service has another one.
	Addresses []string
	// Given are the addresses of floating IPs that the Service requested and published, and no
	// longer requests.
	Given []string
	// Cascade deletes a load balancer with all its children in one request.
	Cascade bool
	// Driver is that of the existing load balancer, or of the one to create.
	Driver driver.Driver
	// CreateEmpty creates the listeners in later steps, because Octavia has refused to create a
	// similar load balancer with them.
	CreateEmpty bool
	// MoveMembers moves members that are in another subnet than the desired one.
	MoveMembers bool
	// NodesSubnets is set if the desired subnets of members are those of their nodes, because no
	// setting has another one.
	NodesSubnets bool
	// Pods is set if pods are the desired or the existing members: see KeepMembers.
	Pods bool
	// Drains is set if the desired members have weights of their own, Weighed if members had in the last applied
	// state: weight 0 is then not that of an operator.
	Drains, Weighed bool
	// Batches is set if several members change in a batch only: a quota counts those that it adds less those that it
	// removes.
	Batches bool
	// Replacement is the load balancer to create if the existing one is in ERROR or cannot become
	// the desired one; nil if none may be created.
	Replacement *Replacement
	// Failover is the handling of a load balancer in ERROR.
	Failover Failover
}

// Replacement is a load balancer that replaces another one, and its driver.
type Replacement struct {
	LoadBalancer *model.LoadBalancer
	Driver       driver.Driver
}

// forReplacement returns the options for the creation of the replacement.
func (o Options) forReplacement() Options {
	o.Driver = o.Replacement.Driver
	return o
}

// Diff returns the steps from the observed load balancer to the desired one.
//
//	observed load balancer       plan
//	none                         create, floating IP
//	ERROR, address not known     delete, create, floating IP
//	ERROR, address published     failed over; if that is impossible, with a replacement, that takes its
//	                             place, else blocked: it may still serve
//	cannot become the            with a replacement, that takes its place: see startReplacement
//	desired one
//	another's, ERROR             blocked: its owner repairs it; failed over if the owner is gone
//	ACTIVE                       the differences; in another's, only those of the Service's own parts
//
// In the last case, steps that exclude clients come first, steps that admit more come last, and
// ports are deleted before others are created. Duplicates are deleted at the end.
func Diff(desired *model.LoadBalancer, observed model.Observed, opts Options) Plan {
	desired = Hold(desired, observed, opts)
	if opts.Replacement != nil {
		opts.Replacement = &Replacement{Hold(opts.Replacement.LoadBalancer, observed, opts), opts.Replacement.Driver}
	}
	if steps, after := unforwarded(observed); len(steps) > 0 {
		return afterForwardings(desired, observed, steps, after, opts)
	}
	plan := diff(desired, observed, opts)
	if plan.Blocked == "" {
		plan.Steps = append(plan.Steps, deleteDuplicates(plan.Steps, observed, opts)...)
		plan.Retained = retainedDuplicates(plan.Steps, observed, opts)
	}
	return plan
}

func diff(desired *model.LoadBalancer, observed model.Observed, opts Options) Plan {
	lb := observed.LoadBalancer
	switch {
	case observed.Outgoing != nil:
		return finishReplacement(desired, observed, opts)
	case lb == nil:
		if move, ok := moveFromDuplicate(desired, observed); ok { // from a VIP of provider router
			bare := *desired
			bare.FloatingIP = nil
			steps := append(create(&bare, nil, opts), move)
			return Plan{Steps: append(steps, deleteUnattached(observed.UnattachedFloatingIPs, -1, opts)...)}
		}
		return Plan{Steps: create(desired, observed.UnattachedFloatingIPs, opts)}
	case lb.Shared != nil && lb.Status.Failed() && lb.Shared.Orphaned && opts.Published:
		return recoverFailed(lb, opts)
	case lb.Shared != nil && lb.Status.Failed():
		return Plan{Blocked: fmt.Sprintf("load balancer %s, which was made for another and is shared, is in ERROR", lb.ID)}
	case opts.Replacement != nil && NeedsReplacement(desired, lb), replacesFailed(lb, opts):
		return startReplacement(desired, observed, opts)
	case lb.Status.Failed() && opts.Published:
		return recoverFailed(lb, opts)
	case lb.Status.Failed():
		return replace(desired, observed, opts)
	}
	if blocked := cmp.Or(conflict(desired, lb), restrictionConflict(desired, lb)); blocked != "" {
		return Plan{Blocked: blocked}
	}
	if opts.Driver.Quirks.StaleMonitors {
		if blocked := foreignMonitorBeside(desired, lb); blocked != "" {
			return Plan{Blocked: blocked}
		}
	}
	var shared []string
	if lb.Shared != nil { // the owner handles the rest
		shared = sharedNotices(desired, lb)
		desired = &model.LoadBalancer{Listeners: desired.Listeners}
	}
	d := contents(desired, lb, opts)
	d.steps = append(detachFloatingIP(desired, lb.OwnFloatingIP(), observed.UnattachedFloatingIPs, opts), d.steps...)
	if move, ok := moveFromDuplicate(desired, observed); ok {
		d.add(move)
		d.add(deleteUnattached(observed.UnattachedFloatingIPs, -1, opts)...)
	} else {
		d.add(attachFloatingIP(desired, lb.OwnFloatingIP(), observed.UnattachedFloatingIPs, opts)...)
	}
	return Plan{Steps: d.steps, Notices: append(shared, notices(desired, lb)...)}
}

// contents returns the differ with the steps for the children of a load balancer.
func contents(desired, lb *model.LoadBalancer, opts Options) *differ {
	desired = KeepMembers(desired, lb, opts)
	d := &differ{pair: newPair(desired, lb, opts)}
	d.add(updateVIP(desired, lb)...)
	d.restrict()
	d.dropListeners()
	d.updatePools()
	d.createListeners()
	d.replaceListeners()
	d.relax()
	d.add(d.last...)
	if opts.Driver.Quirks.StaleMonitors {
		d.steps = repairStale(d.steps, desired)
	}
	d.add(switchOn(desired, lb)...) // this admits clients
	return d
}

// create returns the steps that create a load balancer. A new floating IP with a requested address
// is created first: only Neutron knows whether the address is available, and a load balancer
// without it is useless. It has the Service's description, so that it is found again, and is
// deleted with the Service if the load balancer is never created.
func create(desired *model.LoadBalancer, unattached []model.FloatingIP, opts Options) []Step {
	steps := detachFloatingIP(desired, nil, unattached, opts)
	made, rest := atOnce(desired, opts)
	floatingIP := attachFloatingIP(desired, nil, unattached, opts)
	for i, step := range floatingIP {
		if s, creates := step.(CreateFloatingIP); creates && s.FloatingIP.Address != "" {
			s.Beside = true
			steps, floatingIP[i] = append(steps, s), AssociateFloatingIP{Address: s.FloatingIP.Address}
		}
	}
	steps = append(steps, CreateLoadBalancer{LoadBalancer: made})
	steps = append(steps, floatingIP...)
	return append(steps, rest...)
}

// atOnce returns the part of a load balancer that the driver creates in one request, and the steps
// for the rest.
//
//	createsEmpty   stale monitors   created
//	yes            any              empty
//	no             yes              without monitors
//	no             no               in full
func atOnce(desired *model.LoadBalancer, opts Options) (*model.LoadBalancer, []Step) {
	made, rest := desired, []Step(nil)
	stale := opts.Driver.Quirks.StaleMonitors
	switch {
	case createsEmpty(desired, opts):
		empty := *desired
		empty.Listeners = nil
		d := differ{pair: newPair(desired, &empty, opts)}
		d.createListeners()
		made, rest = &empty, append(d.steps, d.last...)
	case stale:
		made, rest = withoutMonitors(desired)
	}
	if stale {
		rest = repairStale(rest, desired)
	}
	return made, rest
}

// createsEmpty reports whether a load balancer must be created without listeners.
//
//	full creates   refused for this   ranges break
//	supported      Service before     full creates   source ranges   created
//	no             any                any            any             empty
//	any            yes                any            any             empty
//	yes            no                 yes            yes             empty
//	yes            no                 yes            no              in full
//	yes            no                 no             any             in full
func createsEmpty(desired *model.LoadBalancer, opts Options) bool {
	return opts.CreateEmpty || !opts.Driver.Supports(driver.FullCreate) ||
		opts.Driver.Quirks.RangesBreakFullCreate && slices.ContainsFunc(desired.Listeners, hasSourceRanges)
}

// replace returns the plan that deletes a load balancer that has never served, and creates it
// again.
func replace(desired *model.LoadBalancer, observed model.Observed, opts Options) Plan {
	lb := observed.LoadBalancer
	if len(lb.Foreign) > 0 {
		return Plan{Blocked: failedWithForeign(lb)}
	}
	if opts.Replacement != nil {
		desired, opts = opts.Replacement.LoadBalancer, opts.forReplacement()
	}
	steps := []Step{DeleteLoadBalancer{ID: lb.ID, Name: lb.Name, Cascade: true, Why: "it is in ERROR and has never served"}}
	unattached := observed.UnattachedFloatingIPs
	if lb.FloatingIP != nil {
		unattached = append(slices.Clone(unattached), released(*lb.FloatingIP)) // the VIP's port is deleted, the address is not
	}
	return Plan{Steps: append(steps, create(desired, unattached, opts)...)}
}

// failedWithForeign returns the reason why a load balancer that has never served is not deleted.
func failedWithForeign(lb *model.LoadBalancer) string {
	return fmt.Sprintf("load balancer %s (%s) is in ERROR, and is not deleted because it also holds %s: "+
		"ask the cloud's operator for a failover, or remove that", lb.Name, lb.ID, lb.Foreign[0])
}

// conflict returns the reason why a port is unavailable: another owner's listener uses it.
func conflict(desired, lb *model.LoadBalancer) string {
	for _, foreign := range lb.Foreign {
		if foreign.Kind == "listener" && desired.Listener(foreign.Key) != nil {
			return fmt.Sprintf("port %s of load balancer %s is taken by %s: choose another port", foreign.Key, lb.ID, foreign)
		}
	}
	return ""
}

// differ collects the steps between two load balancers.
type differ struct {
	pair  *pair
	steps []Step
	// last are the steps after all others: with the quirk StaleMonitors, those that create monitors.
	last []Step
}

func (d *differ) add(steps ...Step) { d.steps = append(d.steps, steps...) }

func (d *differ) createMonitor(step CreateMonitor) {
	if d.pair.staleMonitors {
		d.last = append(d.last, step)
	} else {
		d.add(step)
	}
}

// equalMonitors reports whether two monitors of one type have the same settings.
func equalMonitors(a, b model.Monitor) bool {
	settings := func(m model.Monitor) model.Monitor {
		m.ID, m.Name, m.Tags, m.Status = "", "", nil, model.Status{}
		return m
	}
	return reflect.DeepEqual(settings(a), settings(b))
}
