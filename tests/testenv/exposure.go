package testenv

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Exposure describes what clients can reach at a moment: open ports and the members behind them.
type Exposure struct {
	// Listeners has the CIDRs that may reach each listener, by its key; nil permits all.
	Listeners map[string][]string
	// Members has the members that get traffic, by the key of their listener.
	Members map[string][]string
	// Rules has the rules of the security groups of the nodes' ports.
	Rules map[string]bool
}

// Exposure returns the present one.
func (env *Env) Exposure() Exposure {
	e := balanced(env.Cloud.Octavia.Snapshot())
	e.Rules = openTo(env.Cloud.Neutron.Ports(), env.Cloud.Neutron.SecurityGroups())
	return e
}

// anywhere stands for all addresses.
func anywhere() []string { return []string{"0.0.0.0/0", "::/0"} }

// balanced returns the exposure by load balancers. A key is the name of the load balancer and the
// port. A replacement has the same name for a while: the one with more members counts then, with
// the clients of both.
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
			if pool.Serves(m) && (m.Weight > 0 || pool.Serving != nil) { // ovn, which has a list of its own, ignores weights
				members = append(members, fmt.Sprintf("%s:%d", m.Address, m.ProtocolPort))
			}
		}
	}
	slices.Sort(members)
	return members
}

// Watcher records every exposure during a time.
type Watcher struct {
	mu    sync.Mutex
	seen  map[string]bool
	moves []Exposure
	stop  []func()
}

// Watch starts a Watcher.
func (env *Env) Watch() *Watcher {
	watcher := &Watcher{seen: map[string]bool{}}
	watcher.note(env.Exposure())
	// Neither may read the other service, because its lock may be held.
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

// Stop stops the Watcher.
func (w *Watcher) Stop() {
	for _, stop := range w.stop {
		stop()
	}
}

// Violations returns the moments at which more was open, or less served, than both before and
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

// Absent returns the listeners of both before and after that were missing at some moment.
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
		if !admits(before.Rules, rule) && !admits(after.Rules, rule) {
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

// admits reports whether there is a rule, or one for the same ports that admits more clients.
func admits(rules map[string]bool, rule string) bool {
	if rules[rule] {
		return true
	}
	ports, clients, _ := strings.Cut(rule, " from ")
	for other := range rules {
		if same, admitted, _ := strings.Cut(other, " from "); same == ports && covers([]string{admitted}, clients) {
			return true
		}
	}
	return false
}

// fewer returns an error if fewer members serve a listener than before and after, or a member does
// not that does in both.
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
