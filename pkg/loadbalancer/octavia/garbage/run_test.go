package garbage_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

const (
	anyLB  = "/load-balancer/v2.0/lbaas/loadbalancers/{id}"
	anyFIP = "/network/v2.0/floatingips/{id}"
)

// byHand makes what a person has in the project.
func (env *environment) byHand() {
	env.T.Helper()
	env.loadBalancer("web", "made by hand", nil, "web", "web")
	_, err := env.Cloud.Neutron.CreateFloatingIP(simneutron.FloatingIPSpec{
		ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Conf.LoadBalancer.FloatingNetworkID, Description: "for later",
	})
	env.check(err)
	_, err = env.session.Neutron().CreateSecurityGroup(env.ctx, "lb-sg-mine", "mine")
	env.check(err)
	env.check(env.Cloud.Neutron.SetRoutes(env.Cloud.Router.ID, []simneutron.Route{{Destination: "10.99.0.0/24", NextHop: "127.100.1.200"}}))
}

// Two clusters in one project, one of which was moved from cloud-provider-openstack and is
// dead: it goes, with all that the old controller left, and nothing else changes.
func TestRun_RemovesOneClusterAndNothingElse(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	env.byHand()
	env.cluster(livingID, "living").ensure("web", 1)
	env.left("living", "old")
	dead := env.cluster(deadID, "dead")
	before := env.books()
	dead.ensure("web", 2)
	dead.ensure("api", 3)
	kept := dead.ensure("kept", 4)
	kept.Annotations[annotation.KeepFloatingIP] = "true"
	env.check(dead.engine.Delete(env.ctx, kept))
	env.left("dead", "old")
	for key, object := range env.books() {
		if strings.HasPrefix(key, "port ") && strings.HasPrefix(object, "node of dead ") || strings.Contains(object, "default/kept") {
			before[key] = object
		}
	}
	nodes := func() (keys []string) { // they lose the groups
		for key, object := range before {
			if strings.HasPrefix(object, "node of dead ") {
				keys = append(keys, key)
			}
		}
		return keys
	}()

	query := garbage.Query{ClusterID: deadID, ClusterName: "dead"}
	env.Cloud.RequestLog.Reset()
	listed := env.cleaned(garbage.Options{Query: query}, garbage.ExitFound)
	if n := env.writes(); n > 0 {
		t.Errorf("%d writes without being asked to remove", n)
	}
	if got := count(listed, garbage.Found); got != 9 { // of each kind three
		t.Errorf("%d found: %q", got, words(listed.Items))
	}
	removed := env.cleaned(garbage.Options{Query: query, Remove: true}, garbage.ExitClean)
	if got := count(removed, garbage.Removed); got != 9 || count(removed, garbage.Kept) != 1 {
		t.Errorf("removed %q", words(removed.Items))
	}
	env.became(before, nodes...)

	env.Cloud.RequestLog.Reset()
	again := env.cleaned(garbage.Options{Query: query, Remove: true}, garbage.ExitClean)
	if n := env.writes(); n > 0 || len(again.Items) != 1 {
		t.Errorf("again: %d writes, %q", n, words(again.Items))
	}
	query.AllFloatingIPs = true
	all := env.cleaned(garbage.Options{Query: query, Remove: true}, garbage.ExitClean)
	if got := words(all.Items); len(got) != 1 || !strings.HasPrefix(got[0], "removed floating-ip") {
		t.Errorf("all floating IPs: %q", got)
	}
}

func count(report *garbage.Report, state garbage.State) (n int) {
	for _, item := range report.Items {
		if item.State == state {
			n++
		}
	}
	return n
}

// A load balancer that several clusters use loses the parts of one of them, regardless of its
// owner.
func TestRun_LeavesSharedLoadBalancerToItsOthers(t *testing.T) {
	t.Parallel()
	for what, owner := range map[string]ownership.Identity{"made for it": of(deadID, "dead", "web"), "made for another": of(livingID, "living", "web")} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t)
			shared := env.loadBalancer(owner.Name(), owner.Description(), owner.Tags(), owner.ListenerName(0), owner.PoolName(0))
			env.join(shared.ID, 81, of(livingID, "living", "api"))
			env.join(shared.ID, 82, of(deadID, "dead", "api"))
			env.cleaned(garbage.Options{Query: garbage.Query{ClusterID: deadID}, Remove: true}, garbage.ExitClean)
			env.Settle()
			left := env.Cloud.Octavia.Snapshot()
			if len(left) != 1 {
				t.Fatalf("%d load balancers are left", len(left))
			}
			var names []string
			for _, l := range left[0].Listeners {
				names = append(names, l.Name)
			}
			for _, p := range left[0].Pools {
				names = append(names, p.Name)
			}
			if len(names) < 2 || slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "_dead_") }) {
				t.Errorf("left are %q", names)
			}
			code := garbage.ExitNotCarried
			if what == "made for it" { // its tags, which never change, carry the ID
				code = garbage.ExitClean
			}
			if again := env.cleaned(garbage.Options{Query: garbage.Query{ClusterID: deadID}}, code); count(again, garbage.Found) > 0 {
				t.Errorf("again: %q", words(again.Items))
			}
		})
	}
}

// Whatever the last request that got through, the next run ends it.
func TestRun_IsContinuedAfterDeath(t *testing.T) {
	t.Parallel()
	for what, afterWork := range map[string]bool{"before the work": false, "after the work": true} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t)
			env.byHand()
			env.cluster(livingID, "living").ensure("web", 1)
			dead := env.cluster(deadID, "dead")
			before := env.books()
			node := "" // it changes with every group that it gets and loses
			for key, object := range before {
				if strings.HasPrefix(key, "port ") && strings.Contains(object, `"127.100.1.12"`) {
					node = key
				}
			}
			options := garbage.Options{Query: garbage.Query{ClusterID: deadID}, Remove: true}
			for n, died := 1, true; died; n++ {
				dead.ensure("web", 1+n)
				hits := env.Cloud.Faults.Hits()
				revive := env.Cloud.Faults.Add(faults.Rule{Route: "/**", From: n, AfterWork: afterWork, Drop: true})
				report, err := env.clean(options)
				died = env.Cloud.Faults.Hits() > hits
				revive()
				if died && err == nil && report.ExitCode() != garbage.ExitFailed {
					t.Fatalf("died at request %d: exit code %d", n, report.ExitCode())
				}
				if !died && n < 12 {
					t.Fatalf("only %d requests", n)
				}
				if !died {
					t.Logf("died at each of %d requests", n-1)
				}
				again, err := env.clean(options)
				env.check(err)
				if code := again.ExitCode(); code != garbage.ExitClean && (code != garbage.ExitNotCarried || again.Carried) {
					t.Errorf("exit code %d: %q", code, words(again.Items))
				}
				env.became(before, node)
				if t.Failed() {
					t.Fatalf("died at request %d", n)
				}
			}
		})
	}
}

func TestRun_WaitsForLoadBalancerThatTakesNoChange(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	env.cluster(deadID, "dead").ensure("web", 1)
	id := env.Cloud.Octavia.Snapshot()[0].ID
	env.check(env.Cloud.Octavia.SetProvisioningStatus(id, simoctavia.PendingUpdate))
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodDelete, Route: anyLB, Count: 2, Status: http.StatusConflict,
		Body: `{"faultcode":"Client","faultstring":"Invalid state PENDING_UPDATE of loadbalancer resource ` + id + `","debuginfo":null}`})
	waiting := &leaps{each: func(wait int) {
		if wait == 3 {
			_ = env.Cloud.Octavia.SetProvisioningStatus(id, simoctavia.Active)
		}
	}}
	env.cleaned(garbage.Options{Query: garbage.Query{ClusterID: deadID}, Remove: true, Clock: waiting}, garbage.ExitClean)
	if waiting.waits < 5 || len(env.Cloud.Octavia.Snapshot()) > 0 {
		t.Errorf("waited %d times, left %d", waiting.waits, len(env.Cloud.Octavia.Snapshot()))
	}
}

// One that is PENDING for ever ends nothing but its own removal, within the time limit.
func TestRun_RemovesOthersBesideWhatFails(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		fail func(env *environment, lb simoctavia.LoadBalancer)
		says string
		left int // floating IPs
	}{
		"PENDING for ever": {func(env *environment, lb simoctavia.LoadBalancer) {
			env.check(env.Cloud.Octavia.SetProvisioningStatus(lb.ID, simoctavia.PendingUpdate))
		}, "still PENDING_UPDATE after 15m0s: run the command again", 0},
		"a deletion that fails": {func(env *environment, lb simoctavia.LoadBalancer) {
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodDelete, Route: strings.Replace(anyLB, "{id}", lb.ID, 1), Status: http.StatusInternalServerError, Worded: true})
		}, "after 3 delete requests", 0},
		"a deletion that is refused": {func(env *environment, lb simoctavia.LoadBalancer) {
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodDelete, Route: strings.Replace(anyLB, "{id}", lb.ID, 1), Status: http.StatusForbidden, Worded: true})
		}, "delete load balancer", 0},
		"a floating IP that stays": {func(env *environment, lb simoctavia.LoadBalancer) {
			for _, fip := range env.Cloud.Neutron.FloatingIPs() {
				if fip.PortID == lb.VIP.PortID {
					env.Cloud.Faults.Add(faults.Rule{Method: http.MethodDelete, Route: strings.Replace(anyFIP, "{id}", fip.ID, 1), Status: http.StatusForbidden, Worded: true})
				}
			}
		}, "waits for floating IP", 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t)
			dead := env.cluster(deadID, "dead")
			before := env.books()
			dead.ensure("web", 1)
			dead.ensure("api", 2)
			bad := env.Cloud.Octavia.Snapshot()[0]
			test.fail(env, bad)
			query := garbage.Query{ClusterID: deadID}
			report := env.cleaned(garbage.Options{Query: query, Remove: true, Clock: &leaps{}}, garbage.ExitFailed)
			if left := env.Cloud.Octavia.Snapshot(); len(left) != 1 || left[0].ID != bad.ID || len(env.Cloud.Neutron.FloatingIPs()) != test.left {
				t.Errorf("left are %d load balancers, %d floating IPs", len(left), len(env.Cloud.Neutron.FloatingIPs()))
			}
			if !slices.ContainsFunc(report.Items, func(item garbage.Item) bool {
				return item.ID == bad.ID && item.State == garbage.Failed && strings.Contains(item.Why, test.says)
			}) {
				t.Errorf("%+v", report.Items)
			}
			env.Cloud.Faults.Clear()
			env.check(env.Cloud.Octavia.SetProvisioningStatus(bad.ID, simoctavia.Error))
			env.cleaned(garbage.Options{Query: query, Remove: true}, garbage.ExitClean)
			var nodes []string
			for key := range before {
				if strings.HasPrefix(key, "port ") {
					nodes = append(nodes, key)
				}
			}
			env.became(before, nodes...)
		})
	}
}

// Octavia deletes a load balancer in ERROR only as a whole: there is no wait.
func TestRun_ReportsPartsOfLoadBalancerInError(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	living := of(livingID, "living", "web")
	shared := env.loadBalancer(living.Name(), living.Description(), living.Tags(), living.ListenerName(0), living.PoolName(0))
	env.join(shared.ID, 81, of(deadID, "dead", "api"))
	env.check(env.Cloud.Octavia.SetProvisioningStatus(shared.ID, simoctavia.Error))
	clock := &leaps{}
	env.Cloud.RequestLog.Reset()
	report := env.cleaned(garbage.Options{Query: garbage.Query{ClusterID: deadID}, Remove: true, Clock: clock}, garbage.ExitFailed)
	if clock.waits > 0 || env.writes() > 0 || count(report, garbage.Failed) != 2 || !strings.Contains(report.Items[0].Why, "is in ERROR") {
		t.Errorf("%d waits, %d writes: %+v", clock.waits, env.writes(), report.Items)
	}
}

// Routes of nodes that are gone are removed, those of servers that are there are not.
func TestRun_RemovesRoutesToNodesThatAreGone(t *testing.T) {
	t.Parallel()
	for what, extensions := range map[string]bool{"in one request": true, "without extraroute-atomic": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t)
			if !extensions {
				env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPut, Route: "/network/v2.0/routers/{id}/remove_extraroutes", Status: http.StatusNotFound,
					Body: `{"NeutronError":{"type":"HTTPNotFound","message":"The resource could not be found.","detail":""}}`})
			}
			server, err := env.Cloud.AddServer("somebody's", "")
			env.check(err)
			others := []simneutron.Route{{Destination: "10.99.0.0/24", NextHop: "127.100.1.200"}, {Destination: "10.244.2.0/24", NextHop: server.Addresses[0]}}
			env.check(env.Cloud.Neutron.SetRoutes(env.Cloud.Router.ID, others))
			before := env.books()
			env.check(env.Cloud.Neutron.SetRoutes(env.Cloud.Router.ID, append(others[:2:2],
				simneutron.Route{Destination: "10.244.1.0/24", NextHop: "127.100.1.201"}, simneutron.Route{Destination: "10.244.3.0/24", NextHop: "127.100.1.202"})))
			options := garbage.Options{Query: garbage.Query{ClusterID: deadID, PodNetworks: podNetworks}, Remove: true, RouterID: env.Cloud.Router.ID}
			if report := env.cleaned(options, garbage.ExitUnclear); count(report, garbage.Removed) != 2 {
				t.Errorf("%q", words(report.Items))
			}
			env.became(before)
			if refused := env.Cloud.Faults.Hits() > 0; refused == extensions {
				t.Errorf("a request was refused: %t", refused)
			}
			env.cleaned(options, garbage.ExitUnclear)
			options.RouterID = "00000000-0000-4000-8000-000000000000"
			env.cleaned(options, garbage.ExitNotCarried)
		})
	}
}

// Half of the objects prove nothing about the rest: nothing is removed.
func TestRun_RemovesNothingWhenAListFails(t *testing.T) {
	t.Parallel()
	for _, route := range []string{"/load-balancer/v2.0/lbaas/loadbalancers", "/load-balancer/v2.0/lbaas/listeners", "/load-balancer/v2.0/lbaas/pools", "/network/v2.0/floatingips", "/network/v2.0/security-groups"} {
		env := newEnvironment(t)
		dead := of(deadID, "dead", "web")
		env.loadBalancer(dead.Name(), dead.Description(), dead.Tags(), dead.ListenerName(0), dead.PoolName(0))
		env.Cloud.RequestLog.Reset()
		env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: route, Status: http.StatusForbidden, Worded: true})
		_, err := env.clean(garbage.Options{Query: garbage.Query{ClusterID: deadID}, Remove: true})
		if n := env.writes(); err == nil || n > 0 {
			t.Errorf("%s: error %v, %d writes", route, err, n)
		}
	}
}
