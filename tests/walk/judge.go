package walk

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/sweep"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

func (r *run) fail(format string, arguments ...any) {
	if text := fmt.Sprintf(format, arguments...); !slices.Contains(r.wrong, text) {
		r.wrong = append(r.wrong, text)
	}
}

// judge checks an environment at rest, and the time since the last rest.
func (r *run) judge() {
	shared := r.shared()
	for _, leak := range r.env.Leaks() {
		if !slices.Contains(r.strangers, leak) && !slices.ContainsFunc(shared, func(id string) bool { return strings.Contains(leak, id) }) {
			r.fail("it belongs to no Service: %s", leak)
		}
	}
	r.judgeServing()
	r.judgeServices()
	if r.start.Routed {
		for _, wrong := range sweep.LedToNodes(r.env) {
			r.fail("provider router: %s", wrong)
		}
		for _, wrong := range sweep.ForwardedToNodes(r.env) {
			r.fail("provider port-forwarding: %s", wrong)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, now := range r.watcher.Moves() {
		r.judgeMove(now)
	}
}

// shared returns the IDs of load balancers that their owners have left to others, and of the
// owners' objects on them.
func (r *run) shared() []string {
	var ids []string
	for _, lb := range r.env.Cloud.Octavia.Snapshot() {
		if !slices.ContainsFunc(lb.Listeners, func(l *octavia.Listener) bool { _, is := intended(r.env)[portOf(l)]; return is }) {
			continue
		}
		ids = append(ids, lb.ID, lb.VIP.PortID)
		for _, ip := range r.env.Cloud.Neutron.FloatingIPs() {
			if ip.PortID == lb.VIP.PortID {
				ids = append(ids, ip.ID)
			}
		}
	}
	return ids
}

// judgeServing compares the served state with the requested one.
func (r *run) judgeServing() {
	want := intended(r.env)
	allowed, members := byPort(r.env.Exposure())
	for name, p := range want {
		if strings.HasPrefix(name, forwarded) {
			continue
		}
		if _, is := allowed[name]; !is {
			r.fail("port %s is not served", name)
			continue
		}
		if !slices.Equal(members[name], p.members) {
			r.fail("port %s is served by %q, not by %q", name, members[name], p.members)
		}
		for _, cidr := range allowed[name] {
			if !within(p.allowed, cidr) {
				r.fail("port %s is open to %s, not only to %q", name, cidr, p.allowed)
			}
		}
		for _, cidr := range p.allowed {
			if !within(allowed[name], cidr) {
				r.fail("port %s is not open to %s, only to %q", name, cidr, allowed[name])
			}
		}
	}
	for name := range allowed {
		if _, is := want[name]; !is {
			r.fail("port %s is served, but no Service requests it", name)
		}
	}
}

// judgeServices checks the published addresses, and the place of each Service.
func (r *run) judgeServices() {
	balancers, shares := r.env.Cloud.Octavia.Snapshot(), map[string]string{}
	for _, svc := range r.env.Cluster.Services() {
		published := len(svc.Status.LoadBalancer.Ingress) > 0
		switch {
		case svc.DeletionTimestamp != nil:
			r.fail("Service %s is not gone", testenv.KeyOf(svc))
		case published != serves(svc):
			r.fail("Service %s publishes %v", testenv.KeyOf(svc), svc.Status.LoadBalancer.Ingress)
		}
		if !serves(svc) {
			continue
		}
		named, share := svc.Annotations[annotation.LoadBalancerID], svc.Annotations[annotation.Share]
		on := at(balancers, fmt.Sprintf("%s/%d", svc.Spec.Ports[0].Protocol, svc.Spec.Ports[0].Port))
		if on == nil {
			continue // which is reported already
		}
		if share != "" { // that of the others in its share
			share = svc.Namespace + "/" + share
			if named = shares[share]; named == "" {
				shares[share] = on.ID
			}
		}
		is := slices.IndexFunc(balancers, func(lb octavia.LoadBalancer) bool { return lb.ID == named })
		if is >= 0 && named != on.ID {
			r.fail("Service %s is on load balancer %s (%s), not on %s (%s)", testenv.KeyOf(svc), on.ID, on.Name, named, balancers[is].Name)
		}
	}
}

// at returns the load balancer that serves a port; nil if none does.
func at(balancers []octavia.LoadBalancer, name string) *octavia.LoadBalancer {
	for i := range balancers {
		for _, l := range balancers[i].Listeners {
			if portOf(l) == name {
				return &balancers[i]
			}
		}
	}
	return nil
}

// judgeMove compares a moment with all requests between the last rest and this one, and with the
// state before.
func (r *run) judgeMove(now testenv.Exposure) {
	if now.Rules != nil && !r.foreign {
		r.judgeRules(now)
	}
	if now.Listeners == nil {
		return
	}
	allowed, members := byPort(now)
	beforeAllowed, beforeMembers := byPort(r.before)
	for name := range allowed {
		if r.touched[name] {
			continue
		}
		anyone, permitted := false, slices.Clone(beforeAllowed[name])
		_, stays := beforeAllowed[name]
		kept := beforeMembers[name]
		for _, requested := range r.intents {
			p, is := requested[name]
			anyone = anyone || is && len(p.allowed) == 0
			permitted = append(permitted, p.allowed...)
			stays = stays && is
			kept = slices.DeleteFunc(slices.Clone(kept), func(m string) bool { return !slices.Contains(p.members, m) })
		}
		for _, cidr := range allowed[name] {
			if !anyone && (len(permitted) == 0 || !within(permitted, cidr)) {
				r.fail("port %s was open to %s for a while, and only %q was ever asked for", name, cidr, permitted)
			}
		}
		for _, member := range kept {
			if stays && !slices.Contains(members[name], member) {
				r.fail("port %s was not served by %s for a while, which it always was to be", name, member)
			}
		}
	}
}

// judgeRules checks the open ports of nodes.
func (r *run) judgeRules(now testenv.Exposure) {
	everRequested, requestedTimes := map[int]bool{}, map[int]int{}
	for _, requested := range r.intents {
		once := map[int]bool{}
		for _, p := range requested {
			for _, nodePort := range p.nodePorts {
				everRequested[nodePort], once[nodePort] = true, true
			}
		}
		for nodePort := range once {
			requestedTimes[nodePort]++
		}
	}
	for rule := range now.Rules {
		first, last, is := nodePortsOf(rule)
		if is && !r.before.Rules[rule] && (first != last || !everRequested[first]) {
			r.fail("a node was open for a while: %s", rule)
		}
	}
	for rule := range r.before.Rules {
		first, _, is := nodePortsOf(rule)
		if is && requestedTimes[first] == len(r.intents) && r.sameMembers(first) && !now.Rules[rule] && r.env.Exposure().Rules[rule] {
			r.fail("a node was closed for a while: %s", rule)
		}
	}
}

// sameMembers reports whether a NodePort was requested on the same nodes all the time, in the same IP families.
func (r *run) sameMembers(nodePort int) bool {
	var first port
	for i, requested := range r.intents {
		for _, name := range slices.Sorted(maps.Keys(requested)) {
			if p := requested[name]; slices.Contains(p.nodePorts, nodePort) {
				if i > 0 && (!slices.Equal(first.members, p.members) || !slices.Equal(first.families, p.families)) {
					return false
				}
				first = p
			}
		}
	}
	return true
}

// within reports whether a CIDR is in one of others; nil stands for all.
func within(others []string, cidr string) bool {
	if len(others) == 0 {
		return true
	}
	inner, err := netip.ParsePrefix(cidr)
	return slices.ContainsFunc(others, func(other string) bool {
		outer, err2 := netip.ParsePrefix(other)
		return other == cidr || err == nil && err2 == nil && outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
	})
}

// ownerOf returns the owner of a load balancer. One of cloud-provider-openstack has no UID.
func ownerOf(lb octavia.LoadBalancer) (key testenv.Key, uid string) {
	for _, tag := range lb.Tags {
		if text, is := strings.CutPrefix(tag, "kube_svc_uid_"); is {
			uid = text
		}
	}
	parts := strings.SplitN(lb.Name, "_", 5) // kube_service_CLUSTER_NAMESPACE_NAME
	if len(parts) == 5 {
		key = testenv.Key{Namespace: parts[3], Name: parts[4]}
	}
	return key, uid
}

// portOf names the port of a listener.
func portOf(l *octavia.Listener) string {
	transport := "TCP"
	if l.Protocol == "UDP" {
		transport = l.Protocol
	}
	return fmt.Sprintf("%s/%d", transport, l.ProtocolPort)
}
