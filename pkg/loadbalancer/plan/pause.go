package plan

import (
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Pauses returns for each step of a plan which traffic of a serving load balancer it interrupts, ""
// for none. Requested changes, such as fewer clients or ports, are no interruptions.
//
//	step                                    interrupted traffic
//	the load balancer is deleted, and       all of it, until the other one is ready
//	another one is made after that
//	failed over                             all of it, while the provider rebuilds it
//	a listener is replaced                  its port, from the deletion to the creation
//	the floating IP is moved, or another    what uses it: connections end, and clients open new ones
//	one takes its place
//	its port forwardings are deleted, and   the same: a floating IP has no port forwardings while it
//	it is associated, or the reverse        is associated
//	anything else                           nothing
//
// A replacement beside the old load balancer, and a pool that replaces another one, interrupt
// nothing: they serve before the old one is deleted.
func Pauses(steps []Step, before model.Observed) []string {
	pauses := make([]string, len(steps))
	for i, step := range steps {
		later := steps[i+1:]
		switch s := step.(type) {
		case DeleteLoadBalancer:
			if lb := before.LoadBalancer; lb != nil && lb.ID == s.ID && before.Outgoing == nil && (Plan{Steps: later}).Creates() {
				pauses[i] = "all ports, until the new load balancer is ready"
			}
		case FailOver:
			pauses[i] = "all ports, while the provider rebuilds it"
		case DeleteListener:
			if createsListener(later, s.Key) {
				pauses[i] = fmt.Sprintf("%s, until its listener is made again", s.Key)
			}
		case DisassociateFloatingIP:
			if associatesFloatingIP(later) || forwards(later) {
				pauses[i] = "connections to " + s.Address
			}
		case SetForwardings:
			if len(s.To) == 0 && associatesFloatingIP(later) {
				pauses[i] = "connections to " + s.FloatingIP.Address + ", for as long as the move takes"
			}
		case MoveFloatingIP:
			pauses[i] = "connections to " + s.Address + ", for as long as the move takes"
		}
	}
	return pauses
}

func createsListener(steps []Step, key model.ListenerKey) bool {
	for _, step := range steps {
		if s, creates := step.(CreateListener); creates && s.Listener.Key() == key {
			return true
		}
	}
	return false
}

func associatesFloatingIP(steps []Step) bool {
	for _, step := range steps {
		if _, is := step.(AssociateFloatingIP); is {
			return true
		}
	}
	return false
}

func forwards(steps []Step) bool {
	for _, step := range steps {
		if s, is := step.(SetForwardings); is && len(s.To) > 0 {
			return true
		}
	}
	return false
}

// ChangesLoadBalancer reports whether a step changes a load balancer, which is PENDING until the
// provider has executed it. The others change floating IPs, routes and ports.
func ChangesLoadBalancer(step Step) bool {
	switch step.(type) {
	case CreateFloatingIP, AssociateFloatingIP, MoveFloatingIP, DisassociateFloatingIP, ClaimFloatingIP, DeleteFloatingIP,
		CreateVIP, LeadVIP, DeleteVIP, SetForwardings:
		return false
	}
	return true
}
