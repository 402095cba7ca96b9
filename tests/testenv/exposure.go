package testenv

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Exposure is what can be reached at a moment: what is open, and what serves behind it.
type Exposure struct {
	// Listeners are the CIDRs that may reach a listener, by its key; nil where anybody may.
	Listeners map[string][]string
	// Members are those that get traffic, by the key of their listener.
	Members map[string][]string
	// Rules are what the security groups of the nodes' ports let in.
	Rules map[string]bool
}

// Exposure returns that of now.
func (env *Env) Exposure() Exposure {
	e := balanced(env.Cloud.Octavia.Snapshot())
	e.Rules = openTo(env.Cloud.Neutron.Ports(), env.Cloud.Neutron.SecurityGroups())
	return e
}

// anywhere stands for all addresses.
func anywhere() []string { return []string{"0.0.0.0/0", "::/0"} }

// balanced is the exposure by load balancers. A key is the name of the load balancer and the
// port: of two load balancers of that name, as a replacement has them for a while, the one
// that has more members counts, and what either lets in.
func balanced(balancers []octavia.LoadBalancer) Exposure {
	e := Exposure{Listeners: map[string][]string{}, Members: map[string][]string{}}
	for _, lb := range balancers {
		for _, l := range lb.Listeners {
			if !l.AdminStateUp || !lb.AdminStateUp || l.ProvisioningStatus == octavia.PendingDelete {
				continue
			}
			transport := "TCP"
			if l.Protocol == "UDP" || l.Protocol == "SCTP" {
				transport = l.Protocol
			}
			key := fmt.Sprintf("%s %s/%d", lb.Name, transport, l.ProtocolPort)
			allowed := l.AllowedCIDRs
			if len(allowed) == 0 {
				allowed = anywhere()
			}
			e.Listeners[key] = append(e.Listeners[key], allowed...)
			if serving := servingOf(lb, l); len(serving) >= len(e.Members[key]) {
				e.Members[key] = serving
			}
		}
	}
	return e
}

func servingOf(lb octavia.LoadBalancer, l *octavia.Listener) []string {
	members := []string{}
	for _, pool := range lb.Pools {
		if pool.ID != l.DefaultPoolID || !pool.AdminStateUp {
			continue
		}
		for _, m := range pool.Members {
			if pool.Serves(m) && (m.Weight > 0 || pool.Serving != nil) { // the driver that has a list of its own ignores weights
				members = append(members, fmt.Sprintf("%s:%d", m.Address, m.ProtocolPort))
			}
		}
	}
	slices.Sort(members)
	return members
}

// Watcher notes every exposure that there is for a while.
type Watcher struct {
	mu    sync.Mutex
	seen  map[string]bool
	moves []Exposure
	stop  []func()
}

// Watch begins to watch, until the watcher is stopped.
func (env *Env) Watch() *Watcher {
	watcher := &Watcher{seen: map[string]bool{}}
	watcher.note(env.Exposure())
	// Neither may ask the other service, whose lock may be held.
	watcher.stop = append(watcher.stop,
		env.Cloud.Octavia.Subscribe(func() { watcher.note(balanced(env.Cloud.Octavia.Snapshot())) }),
		env.Cloud.Neutron.Subscribe(func() {
			watcher.note(Exposure{Rules: openTo(env.Cloud.Neutron.Ports(), env.Cloud.Neutron.SecurityGroups())})
		}))
	return watcher
}

func (w *Watcher) note(e Exposure) {
	text := fmt.Sprint(e)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.seen[text] {
		w.seen[text] = true
		w.moves = append(w.moves, e)
	}
}

// Stop ends watching.
func (w *Watcher) Stop() {
	for _, stop := range w.stop {
		stop()
	}
}

// Violations are the moments at which more was open, or less served, than both before and
// after.
func (w *Watcher) Violations(before, after Exposure) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[string]bool{}
	for _, now := range w.moves {
		for _, violation := range now.violations(before, after) {
			found[violation] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Absent are the listeners of both before and after that were not there at some moment.
func (w *Watcher) Absent(before, after Exposure) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[string]bool{}
	for _, now := range w.moves {
		for key := range before.Listeners {
			_, stays := after.Listeners[key]
			if _, is := now.Listeners[key]; stays && now.Listeners != nil && !is {
				found[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (e Exposure) violations(before, after Exposure) []string {
	var found []string
	for key, cidrs := range e.Listeners {
		allowed := append(slices.Clone(before.Listeners[key]), after.Listeners[key]...)
		for _, cidr := range cidrs {
			if !covers(allowed, cidr) {
				found = append(found, fmt.Sprintf("listener %s is open to %s", key, cidr))
			}
		}
		found = append(found, fewer(key, e.Members[key], before, after)...)
	}
	for rule := range e.Rules {
		if !before.Rules[rule] && !after.Rules[rule] {
			found = append(found, "a node is open: "+rule)
		}
	}
	for rule := range before.Rules {
		if e.Rules != nil && after.Rules[rule] && !e.Rules[rule] {
			found = append(found, "a node is closed: "+rule)
		}
	}
	return found
}

// fewer says whether fewer members serve a listener than before and after, or one does not
// that does in both.
func fewer(key string, now []string, before, after Exposure) []string {
	was, was2 := before.Members[key]
	is, is2 := after.Members[key]
	if !was2 || !is2 {
		return nil
	}
	var found []string
	if least := min(len(was), len(is)); len(now) < least {
		found = append(found, fmt.Sprintf("listener %s has %d members [%s], fewer than %d", key, len(now), strings.Join(now, " "), least))
	}
	for _, member := range was {
		if slices.Contains(is, member) && !slices.Contains(now, member) {
			found = append(found, fmt.Sprintf("listener %s lacks member %s", key, member))
		}
	}
	return found
}
