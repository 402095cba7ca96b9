package plan

import (
	"fmt"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// A Service can have several load balancers because of concurrent creations. One of them is kept,
// see package ownership, and the duplicates are deleted at the end, with their floating IPs:
//
//	a duplicate                     is
//	holds objects of others         left alone, and reported
//	has the published address       left alone, and reported, unless the address is moved in the same plan
//	any other                       deleted
//
// If the kept one needs a floating IP, it gets that of a duplicate.

// moveFromDuplicate returns the step that moves a suitable floating IP from a duplicate to the kept
// load balancer, if that has none. It reports whether there is one.
func moveFromDuplicate(desired *model.LoadBalancer, observed model.Observed) (MoveFloatingIP, bool) {
	want, lb := desired.FloatingIP, observed.LoadBalancer
	if want == nil || lb != nil && lb.FloatingIP != nil {
		return MoveFloatingIP{}, false
	}
	at := slices.IndexFunc(observed.Duplicates, func(lb model.LoadBalancer) bool {
		return lb.Provider != driver.PortForwarding && len(lb.Foreign) == 0 && fits(want, lb.FloatingIP) && (want.Asked() || lb.FloatingIP.Owned)
	})
	if at < 0 {
		return MoveFloatingIP{}, false
	}
	return MoveFloatingIP(associate(want, *observed.Duplicates[at].FloatingIP)), true
}

// deleteDuplicates returns the steps that delete duplicates, after others.
func deleteDuplicates(before []Step, observed model.Observed, opts Options) []Step {
	var steps []Step
	for _, lb := range observed.Duplicates {
		if takesFloatingIP(before, lb) {
			lb.FloatingIP = nil
		}
		if retained(lb, opts) != "" {
			continue
		}
		if driver.WithoutOctavia(lb.Provider) {
			steps = append(steps, Unlead(model.Observed{LoadBalancer: &lb}, opts).Steps...)
			continue
		}
		steps = append(steps, DeleteLoadBalancer{ID: lb.ID, Name: lb.Name, Cascade: true, Why: "the Service has another one"})
		if fip := lb.FloatingIP; fip != nil && fip.Owned && !opts.KeepFloatingIP {
			steps = append(steps, DeleteFloatingIP{fip.ID, fip.Address})
		}
	}
	return steps
}

// takesFloatingIP reports whether one of the steps moves the floating IP off a load
// balancer.
func takesFloatingIP(steps []Step, lb model.LoadBalancer) bool {
	return lb.FloatingIP != nil && slices.ContainsFunc(steps, func(step Step) bool {
		move, ok := step.(MoveFloatingIP)
		return ok && move.ID == lb.FloatingIP.ID
	})
}

// retained returns the reason why a duplicate is not deleted, "" if it is.
func retained(lb model.LoadBalancer, opts Options) string {
	serves := slices.ContainsFunc(opts.Addresses, lb.HasAddress)
	switch {
	case driver.WithoutOctavia(lb.Provider): // the Service leaves it
		return ""
	case len(lb.Foreign) > 0:
		return "it holds " + lb.Foreign[0].String()
	case serves:
		return "it has the address that the Service has published"
	default:
		return ""
	}
}

// retainedDuplicates returns the duplicates that are not deleted, with the reasons.
func retainedDuplicates(steps []Step, observed model.Observed, opts Options) []string {
	var texts []string
	for _, lb := range observed.Duplicates {
		if driver.WithoutOctavia(lb.Provider) {
			continue
		}
		deleted := slices.ContainsFunc(steps, func(step Step) bool {
			d, ok := step.(DeleteLoadBalancer)
			return ok && d.ID == lb.ID
		})
		if !deleted {
			texts = append(texts, fmt.Sprintf(
				"load balancer %s (%s) was made for the Service beside another one and is not needed; it is left alone, as %s: delete it by hand",
				lb.Name, lb.ID, retained(lb, opts)))
		}
	}
	return texts
}
