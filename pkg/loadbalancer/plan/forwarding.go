package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Forward returns the steps from the observed load balancer of provider port-forwarding, a floating IP with port
// forwardings, to the desired one.
//
//	observed                        plan
//	no floating IP                  create it, forwardings
//	an unattached one that fits     forwardings
//	a floating IP that fits         the differences of its forwardings
//	another one                     its forwardings are removed, then the other one gets them; it is deleted if it is
//	                                the Service's
//	outgoing, VIPs of provider      their floating IP is disassociated and gets the forwardings, if it fits; then they
//	router                          are deleted
//
// Neutron neither forwards ports of an associated floating IP, nor two floating IPs to the same port of a node.
func Forward(desired *model.LoadBalancer, observed model.Observed, opts Options) Plan {
	lb, want := observed.LoadBalancer, desired.FloatingIP
	old := lb != nil && !want.Fits(*lb.FloatingIP)
	var steps []Step
	set, chosen := SetForwardings{FloatingIP: model.FloatingIP{Address: want.Address}, To: desired.Forwardings}, -1
	if lb != nil && !old {
		set.FloatingIP, set.From = *lb.FloatingIP, lb.Forwardings
	} else if taken := replaced(observed, want); taken != nil {
		set.FloatingIP = released(*taken)
		steps = append(steps, DisassociateFloatingIP{taken.ID, taken.Address})
	} else if chosen = choose(want, observed.UnattachedFloatingIPs); chosen >= 0 {
		set.FloatingIP = observed.UnattachedFloatingIPs[chosen]
	} else {
		steps = append(steps, CreateFloatingIP{FloatingIP: *want, Beside: true})
		set.Creates = true
	}
	if old {
		steps = append(steps, unforward(lb)...)
	}
	set.Describe = associate(want, set.FloatingIP).Describe
	if lb == nil || old || set.Describe != "" || !slices.EqualFunc(set.From, set.To, model.Forwarding.Same) {
		steps = append(steps, set)
	}
	if old {
		steps = append(steps, deleteOwned(lb.FloatingIP, opts)...)
	}
	steps = append(steps, deleteUnattached(observed.UnattachedFloatingIPs, chosen, opts)...)
	return Plan{Steps: append(steps, leave(observed, set.FloatingIP.ID, opts)...)}
}

// replaced returns a fitting floating IP of the load balancers that port forwardings replace; nil for none.
func replaced(observed model.Observed, want *model.FloatingIP) *model.FloatingIP {
	for _, lb := range withDuplicates(observed.Outgoing, observed) {
		if fits(want, lb.FloatingIP) && (want.Asked() || lb.FloatingIP.Owned) {
			return lb.FloatingIP
		}
	}
	return nil
}

// leave returns the steps that delete the load balancers of other providers, except for a floating IP that was taken
// from them.
func leave(observed model.Observed, taken string, opts Options) []Step {
	var steps []Step
	for _, lb := range withDuplicates(observed.Outgoing, observed) {
		rest := *lb
		if taken != "" && rest.FloatingIP != nil && rest.FloatingIP.ID == taken {
			rest.FloatingIP = nil
		}
		if driver.WithoutOctavia(rest.Provider) {
			steps = append(steps, Unlead(model.Observed{LoadBalancer: &rest}, opts).Steps...)
			continue
		}
		steps = append(steps, deleteOwned(rest.FloatingIP, opts)...)
		steps = append(steps, DeleteLoadBalancer{ID: rest.ID, Name: rest.Name, Cascade: true, Why: "the Service has port forwardings"})
	}
	return steps
}

// unforward returns the step that removes the port forwardings of a Service from its floating IP; none if it has
// none.
func unforward(lb *model.LoadBalancer) []Step {
	if lb.FloatingIP == nil || len(lb.Forwardings) == 0 {
		return nil
	}
	return []Step{SetForwardings{FloatingIP: *lb.FloatingIP, From: lb.Forwardings}}
}

// unforwarded returns the steps that remove the port forwardings of a Service that leaves provider port-forwarding,
// and the state after them, in which its floating IPs are unattached.
func unforwarded(observed model.Observed) ([]Step, model.Observed) {
	var steps []Step
	after := observed.Clone()
	for i := range observed.Duplicates {
		if lb := &observed.Duplicates[i]; lb.Provider == driver.PortForwarding {
			steps = append(steps, unforward(lb)...)
		}
	}
	for _, step := range steps {
		Advance(&after, step)
	}
	return steps, after
}

// afterForwardings is Diff for a Service that leaves provider port-forwarding. Its forwardings serve until there is a
// load balancer.
func afterForwardings(desired *model.LoadBalancer, observed model.Observed, remove []Step, after model.Observed, opts Options) Plan {
	if observed.LoadBalancer != nil {
		plan := Diff(desired, after, opts)
		plan.Steps = append(remove, plan.Steps...)
		return plan
	}
	bare := *desired
	bare.FloatingIP = nil
	steps := append(create(&bare, nil, opts), remove...)
	steps = append(steps, detachFloatingIP(desired, nil, after.UnattachedFloatingIPs, opts)...)
	return Plan{Steps: append(steps, attachFloatingIP(desired, nil, after.UnattachedFloatingIPs, opts)...)}
}

// advanceForwardings is Advance for SetForwardings. A floating IP becomes the load balancer with the first ones;
// in a load balancer that is being left it becomes unattached.
func advanceForwardings(observed *model.Observed, s SetForwardings) {
	for i := range observed.Duplicates {
		lb := observed.Duplicates[i]
		if lb.Provider == driver.PortForwarding && lb.FloatingIP != nil && lb.FloatingIP.ID == s.FloatingIP.ID {
			observed.Duplicates = slices.Delete(slices.Clone(observed.Duplicates), i, i+1)
			observed.UnattachedFloatingIPs = append(slices.Clone(observed.UnattachedFloatingIPs), unforwardedIP(s.FloatingIP))
			return
		}
	}
	fip := s.FloatingIP
	if at := len(observed.UnattachedFloatingIPs) - 1; s.Creates && at >= 0 {
		fip = observed.UnattachedFloatingIPs[at]
	}
	lb := observed.LoadBalancer
	if len(s.To) == 0 && lb != nil && lb.FloatingIP != nil && lb.FloatingIP.ID == fip.ID && len(s.From) > 0 {
		changed := *lb
		changed.Forwardings, changed.NextHops = nil, nil
		observed.LoadBalancer = &changed
		return
	}
	if s.Describe != "" {
		fip.Description, fip.Owned, fip.Retained, fip.Revision = s.Describe, true, false, nil
	}
	fip.Forwards = len(s.To) > 0
	observed.UnattachedFloatingIPs = withoutFloatingIP(observed.UnattachedFloatingIPs, fip.ID)
	observed.LoadBalancer = Forwarded(fip, s.To)
}

func unforwardedIP(fip model.FloatingIP) model.FloatingIP {
	fip.Forwards, fip.Revision = false, nil
	return fip
}

// Forwarded returns a floating IP with port forwardings as a load balancer of provider port-forwarding.
func Forwarded(fip model.FloatingIP, forwardings []model.Forwarding) *model.LoadBalancer {
	return &model.LoadBalancer{
		ID: fip.ID, Provider: driver.PortForwarding, FloatingIP: &fip, Forwardings: forwardings,
		NextHops: model.Targets(forwardings), Status: active(),
	}
}

// Adds reports whether the step forwards another port of the floating IP.
func (s SetForwardings) Adds() bool {
	return slices.ContainsFunc(s.To, func(f model.Forwarding) bool {
		return !slices.ContainsFunc(s.From, func(has model.Forwarding) bool { return has.Key == f.Key })
	})
}

// writes returns the number of writing requests of the step.
func (s SetForwardings) writes() int {
	writes := 0
	if s.Describe != "" {
		writes++
	}
	for _, f := range s.To {
		if !slices.ContainsFunc(s.From, f.Same) { // created or changed
			writes++
		}
	}
	for _, f := range s.From {
		if !slices.ContainsFunc(s.To, func(to model.Forwarding) bool { return to.Key == f.Key }) || slices.ContainsFunc(s.To, f.Blocks) {
			writes++
		}
	}
	return writes
}

// String implements Step.
func (s SetForwardings) String() string {
	name := s.FloatingIP.Address
	if name == "" {
		name = "made last"
	}
	return fmt.Sprintf("floating IP %s: forwarded ports %s → %s", name, printForwardings(s.From), printForwardings(s.To))
}

// printForwardings returns forwardings as in "[TCP/80 to 10.0.0.5:30080]".
func printForwardings(all []model.Forwarding) string {
	texts := make([]string, 0, len(all))
	for _, f := range all {
		texts = append(texts, fmt.Sprintf("%s to %s:%d", f.Key, f.Address, f.NodePort))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
