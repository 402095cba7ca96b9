package apply_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

func TestRun_ReachesEachStateOfALife(t *testing.T) {
	t.Parallel()
	var drv driver.Driver
	for name, options := range map[string]plan.Options{
		"in few requests": {},
		"step by step":    {CreateEmpty: true, Driver: drv.Without(driver.MemberBatches)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnvironment(t, simulator.Options{})
			e.options = options
			reachStatesOfALife(t, e)
		})
	}
}

func reachStatesOfALife(t *testing.T, e *environment) {
	t.Helper()
	change := func(what string, change func(*model.LoadBalancer)) {
		t.Log(what)
		desired := e.web(80, 443)
		change(desired)
		desired.Sort()
		e.reach(desired)
	}
	first := func(change func(*model.Pool)) func(*model.LoadBalancer) {
		return func(lb *model.LoadBalancer) { change(&lb.Listeners[0].Pool) }
	}
	e.reach(e.web(80))
	change("a port more", func(*model.LoadBalancer) {})
	change("a member more", first(func(p *model.Pool) { p.Members = members(4, 80) }))
	change("a member less", func(*model.LoadBalancer) {})
	change("all members new", first(func(p *model.Pool) { p.Members = members(7, 81) }))
	change("no monitor", first(func(p *model.Pool) { p.Monitor = nil }))
	change("a monitor", func(*model.LoadBalancer) {})
	change("a slower monitor", first(func(p *model.Pool) { p.Monitor.Delay = 30 }))
	change("a monitor of another type", first(func(p *model.Pool) {
		p.Monitor.Type, p.Monitor.HTTPMethod, p.Monitor.URLPath, p.Monitor.ExpectedCodes = "HTTP", "GET", "/healthz", "200"
		fixture.EditMembers(p, func(_ int, m *model.Member) { m.MonitorPort = 31000 })
	}))
	change("sticky sessions", first(func(p *model.Pool) { p.Algorithm, p.Persistence.Type = "LEAST_CONNECTIONS", model.SourceIP }))
	change("no sticky sessions", func(*model.LoadBalancer) {})
	change("fewer clients", func(lb *model.LoadBalancer) { lb.Listeners[0].AllowedCIDRs = []string{"10.0.0.0/8"} })
	change("all clients", func(*model.LoadBalancer) {})
	change("no floating IP", func(lb *model.LoadBalancer) { lb.FloatingIP = nil })
	change("a floating IP", func(*model.LoadBalancer) {})
	e.reach(e.web(443))
	e.reach(nil)
	if left := len(e.Cloud.Octavia.Snapshot()) + len(e.Cloud.Neutron.FloatingIPs()); left > 0 {
		t.Errorf("%d objects are left", left)
	}
}

// TestRun_ReachesRandomStates goes from one random Service to the next.
func TestRun_ReachesRandomStates(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			e := newEnvironment(t, simulator.Options{})
			r := rand.New(rand.NewPCG(seed, 1))
			for range 8 {
				e.reach(e.random(r))
			}
			e.reach(nil)
		})
	}
}

func (e *environment) random(r *rand.Rand) *model.LoadBalancer {
	ports := []int{80, 443, 8080}
	r.Shuffle(len(ports), func(i, j int) { ports[i], ports[j] = ports[j], ports[i] })
	lb := e.web(ports[:1+r.IntN(3)]...)
	if r.IntN(3) == 0 {
		lb.FloatingIP = nil
	}
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		if r.IntN(3) == 0 {
			l.AllowedCIDRs = []string{"10.0.0.0/8", "192.168.0.0/16"}[:1+r.IntN(2)]
		}
		if r.IntN(4) == 0 {
			l.Protocol, l.Pool.Protocol = model.UDP, model.UDP
			l.Pool.Monitor.Type = model.MonitorUDPConnect
		}
		randomSettings(r, l)
		l.Pool.Members = members(1+r.IntN(5), l.Port+r.IntN(2))
		l.Pool.Algorithm = []string{"ROUND_ROBIN", "LEAST_CONNECTIONS"}[r.IntN(2)]
		l.Pool.Persistence.Type = []string{"", model.SourceIP}[r.IntN(2)]
		if l.Protocol == model.UDP && l.Pool.Persistence.Type != "" {
			l.Pool.Persistence.Timeout = []int{0, 60, 600}[r.IntN(3)]
		}
		l.Pool.Monitor.Delay = 5 + r.IntN(2)
		if r.IntN(3) == 0 {
			l.Pool.Monitor = nil
		}
	}
	lb.Sort()
	return lb
}

// randomSettings sets limits, headers and protocols of a listener.
func randomSettings(r *rand.Rand, l *model.Listener) {
	for _, limit := range l.Limits.Named {
		if r.IntN(3) == 0 {
			*limit = model.Limit{Value: []int{0, 1000, 50000}[r.IntN(3)], Asked: true}
		}
	}
	if l.Protocol != model.TCP {
		return
	}
	switch r.IntN(5) {
	case 0:
		l.Pool.Protocol = model.Proxy
	case 1:
		l.Pool.Protocol = model.ProxyV2
	case 2:
		l.Protocol, l.Pool.Protocol = model.HTTP, model.HTTP
		l.InsertHeaders = []string{"X-Forwarded-For", "X-Forwarded-Proto"}[:r.IntN(3)]
	case 3:
		l.Protocol, l.Pool.Protocol = model.TerminatedHTTPS, model.HTTP
		l.TLSContainerRef = []string{"https://elsewhere.test/v1/secrets/a", "https://elsewhere.test/v1/secrets/b"}[r.IntN(2)]
	}
}

func TestRun_SendsNothingForAnEmptyPlan(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	observed := e.reach(e.web(80))
	e.Cloud.RequestLog.Reset()
	if _, err := e.run(observed, plan.Plan{}); err != nil {
		t.Fatal(err)
	}
	if got := e.Cloud.RequestLog.Requests(); len(got) > 0 {
		t.Errorf("requests %v", got)
	}
}

func TestRun_CreatesInOneWriteBesideTheFloatingIP(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	e.reach(e.web(80, 443))
	if got := e.Cloud.RequestLog.Requests(requestlog.Writes()); len(got) != 2 || got[0].Route != lbaas+"loadbalancers" || got[1].Route != floatingIPs {
		t.Errorf("writes %+v", got)
	}
}

func TestRun_CreatesFloatingIPWhileTheLoadBalancerBoots(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{Delays: map[string]octavia.Delays{"amphora": {Create: time.Hour}}})
	ctx, cancel := context.WithCancel(e.ctx)
	ended := make(chan error, 1)
	todo := plan.Diff(e.web(80), model.Observed{}, plan.Options{})
	go func() {
		_, err := e.applier.Run(ctx, apply.Request{ID: us(), Plan: todo})
		ended <- err
	}()
	for len(e.Cloud.Neutron.FloatingIPs()) == 0 && e.ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if status := e.Cloud.Octavia.Snapshot()[0].ProvisioningStatus; status != "PENDING_CREATE" {
		t.Errorf("the floating IP waited until the load balancer was %s", status)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the end of the context gave %v", err)
	}
}

// The load balancer fails, or disappears, during its change.
func TestRun_FailsWhenTheLoadBalancerFailsOrIsGone(t *testing.T) {
	t.Parallel()
	for what, happens := range map[string]func(*environment, string) error{
		"is ERROR": func(e *environment, id string) error { return e.Cloud.Octavia.SetProvisioningStatus(id, "ERROR") },
		"is gone":  func(e *environment, id string) error { return e.Cloud.Octavia.Remove(id) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			e := newEnvironment(t, simulator.Options{Delays: map[string]octavia.Delays{"amphora": {Update: time.Hour}}})
			observed := e.reach(e.web(80))
			desired := e.web(80)
			desired.Listeners[0].Pool.Members = members(2, 81)
			ended := make(chan error, 1)
			go func() {
				_, err := e.run(observed, plan.Diff(desired, observed, plan.Options{}))
				ended <- err
			}()
			for e.Cloud.Octavia.Snapshot()[0].ProvisioningStatus != "PENDING_UPDATE" && e.ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			if err := happens(e, e.Cloud.Octavia.Snapshot()[0].ID); err != nil {
				t.Fatal(err)
			}
			err := <-ended
			var failed *apply.LoadBalancerError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), what) {
				t.Errorf("error %v, want one that says that it %s", err, what)
			}
		})
	}
}

func TestSettle_FailsForChildrenThatAreBrokenOrStayPending(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	lb := e.reach(e.web(80)).LoadBalancer
	if _, err := e.applier.SettleParts(e.ctx, lb); err != nil {
		t.Errorf("when all is well: %v", err)
	}
	member := lb.Listeners[0].Pool.Members.At(1)
	for _, status := range []string{"ERROR", "PENDING_CREATE"} {
		if err := e.Cloud.Octavia.SetChildStatus(member.ID, status); err != nil {
			t.Fatal(err)
		}
		_, err := e.applier.SettleParts(e.ctx, lb)
		var broken *apply.ChildrenError
		if !errors.As(err, &broken) || len(broken.Children) != 1 || broken.Children[0].ID != member.ID || broken.Children[0].Status.Provisioning != status {
			t.Errorf("a member in %s: %v", status, err)
		}
	}
	if err := e.Cloud.Octavia.SetChildStatus(member.ID, "ACTIVE"); err != nil {
		t.Fatal(err)
	}
	e.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: lbaas + "loadbalancers/{id}/status", Status: http.StatusForbidden})
	if _, err := e.applier.SettleParts(e.ctx, lb); err == nil {
		t.Error("no answer is taken for well")
	}
}

func TestErrors_NameTheFirstChildren(t *testing.T) {
	t.Parallel()
	child := func(i int) model.Child {
		return model.Child{Kind: "member", Name: fmt.Sprintf("node-%d", i), ID: fmt.Sprint(i), Status: model.Status{Provisioning: "ERROR"}}
	}
	var children []model.Child
	for i := range 1000 {
		children = append(children, child(i))
	}
	for n, want := range map[int]string{
		1:    "load balancer lb is ACTIVE, but member node-0 is ERROR",
		3:    "load balancer lb is ACTIVE, but member node-0 is ERROR, member node-1 is ERROR, member node-2 is ERROR",
		1000: "load balancer lb is ACTIVE, but member node-0 is ERROR, member node-1 is ERROR, member node-2 is ERROR, and 997 more",
	} {
		if got := (&apply.ChildrenError{ID: "lb", Children: children[:n]}).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got, want := (&apply.LoadBalancerError{ID: "id", Name: "name", Status: "gone"}).Error(), "load balancer name (id) is gone"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A driver that works through a batch member by member reports the load balancer ACTIVE after the first one. What counts
// is how long all of them take.
func TestRun_RecordsHowLongDriverChangesMembers(t *testing.T) {
	t.Parallel()
	const item = 20 * time.Millisecond
	e := newEnvironment(t, simulator.Options{
		Release: "2025.1", Delays: map[string]octavia.Delays{octavia.ProviderOVN: {Create: item, Update: item, Delete: item, Members: item}},
	})
	e.applier.Drivers = driver.NewRegistry(driver.Settings{Timing: driver.Timing{
		Create: driver.PollInterval{First: item, Cap: item}, Update: driver.PollInterval{First: item, Cap: item}, Delete: driver.PollInterval{First: item, Cap: item},
		ChildInterval: item, ChildTimeout: await.Patience, LostCreateRetry: item,
	}})
	reach := func(count int) {
		desired := e.web(80)
		desired.Provider, desired.Listeners[0].Pool.Algorithm, desired.Listeners[0].Pool.Monitor = "ovn", "SOURCE_IP_PORT", nil
		desired.Listeners[0].Pool.Members = members(count, 80)
		e.reach(desired)
	}
	took := func() time.Duration {
		took, _ := e.applier.Watcher.Took(watcher.Kind{Provider: "ovn", Operation: watcher.ChangingMembers})
		return took
	}
	reach(1)
	if took() != 0 {
		t.Errorf("a creation is recorded as a change of members: %s", took())
	}
	reach(12)
	if got, least := took(), 12*item; got < least {
		t.Errorf("a change of 12 members took %s, want at least %s", got, least)
	}
}
