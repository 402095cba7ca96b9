package routes_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

const pool = "10.77.0.0/24"

// leadTo returns a Lead of a VIP to nodes.
func (k *cluster) leadTo(vip string, nodes ...*v1.Node) routes.Lead {
	k.Helper()
	l := routes.Lead{To: netip.MustParsePrefix(vip + "/32"), Pool: netip.MustParsePrefix(pool)}
	for _, node := range nodes {
		l.Through = append(l.Through, netip.MustParseAddr(k.address(node)))
	}
	return l
}

func (k *cluster) lead(vip string, nodes ...*v1.Node) {
	k.Helper()
	if err := k.table.Lead(k.Context(), k.leadTo(vip, nodes...)); err != nil {
		k.Fatal(err)
	}
}

// leadTogether executes Leads in one batch, and returns their errors.
func (k *cluster) leadTogether(leads ...routes.Lead) []error {
	k.Helper()
	k.gathered = make(chan time.Time)
	errs := make([]error, len(leads))
	var group sync.WaitGroup
	for i, l := range leads {
		group.Go(func() { errs[i] = k.table.Lead(k.Context(), l) })
	}
	await.Condition(k.T, "all calls are gathered", func() bool { return k.table.Gathered() == len(leads) })
	close(k.gathered)
	group.Wait()
	k.gathered = nil
	return errs
}

func TestLead_AddsRouteAndOnePairForThePool(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	a := k.join("node-a")
	k.spent()
	k.lead("10.77.0.10", a)
	k.wantRoutes("10.77.0.10/32 via " + k.address(a))
	k.wantPairs("node-a", pool)
	if spent := k.spent(); count(spent, "PUT") != 2 {
		t.Errorf("the first VIP takes %q", spent)
	}
	k.lead("10.77.0.11", a)
	if spent := k.spent(); count(spent, "PUT ports") != 0 || count(spent, "PUT") != 1 {
		t.Errorf("the second VIP on the node takes %q", spent)
	}
	if hops, err := k.table.NextHops(t.Context()); err != nil || len(hops) != 2 {
		t.Errorf("next hops are %v, %v", hops, err)
	}
}

// All VIPs of a node move with two requests: new routes first, so that no connection is refused.
func TestLead_MovesAllVIPsOfNodeWithOneRequestEachWay(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	a, b := k.join("node-a"), k.join("node-b")
	k.lead("10.77.0.10", a)
	k.lead("10.77.0.11", a)
	k.lead("10.77.0.12", b)
	k.spent()
	for _, err := range k.leadTogether(k.leadTo("10.77.0.10", b), k.leadTo("10.77.0.11", b)) {
		if err != nil {
			t.Error(err)
		}
	}
	k.wantRoutes("10.77.0.10/32 via "+k.address(b), "10.77.0.11/32 via "+k.address(b), "10.77.0.12/32 via "+k.address(b))
	puts := slices.DeleteFunc(k.spent(), func(r string) bool { return r[:3] != "PUT" })
	if want := []string{"PUT routers/{id}/add_extraroutes", "PUT routers/{id}/remove_extraroutes"}; !slices.Equal(puts, want) {
		t.Errorf("writes are %q, want %q", puts, want)
	}
	k.lead("10.77.0.10")
	k.wantRoutes("10.77.0.11/32 via "+k.address(b), "10.77.0.12/32 via "+k.address(b))
}

// Routes to pods and those of other clients are not affected, and VIPs are no blackholes.
func TestLead_LeavesOtherRoutesAlone(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	a := k.join("node-a", "10.244.1.0/24")
	k.settle()
	k.setRoutes([2]string{"10.244.1.0/24", k.address(a)}, [2]string{"10.88.0.0/24", k.address(a)}, [2]string{"10.77.0.9/32", k.address(a)})
	k.lead("10.77.0.10", a)
	k.settle()
	k.lead("10.77.0.10")
	k.settle()
	k.wantRoutes("10.244.1.0/24 via "+k.address(a), "10.88.0.0/24 via "+k.address(a), "10.77.0.9/32 via "+k.address(a))
	k.wantPairs("node-a", "10.244.1.0/24", pool)
}

// On a full router a VIP moves nevertheless, and a new one is refused with the limit.
func TestLead_MovesOnFullRouterAndRefusesNewVIP(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{Neutron: func(o *simneutron.Options) { o.MaxRoutes = 2 }}).cluster("a")
	a, b := k.join("node-a"), k.join("node-b")
	k.lead("10.77.0.10", a)
	k.lead("10.77.0.11", a)
	k.lead("10.77.0.10", b)
	k.wantRoutes("10.77.0.10/32 via "+k.address(b), "10.77.0.11/32 via "+k.address(a))
	k.mentions([]error{k.table.Lead(t.Context(), k.leadTo("10.77.0.12", a))}, "max_routes", "2 routes")
	k.wantRoutes("10.77.0.10/32 via "+k.address(b), "10.77.0.11/32 via "+k.address(a))
}

// A next hop without a port, or with a refused pair, fails its own VIP only, which keeps its route.
func TestLead_FailsOnlyVIPsOfBrokenNextHop(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	a, b := k.join("node-a"), k.join("node-b")
	k.lead("10.77.0.10", a)
	broken := k.leadTo("10.77.0.10")
	broken.Through = []netip.Addr{netip.MustParseAddr("10.6.200.1")}
	errs := k.leadTogether(broken, k.leadTo("10.77.0.11", a))
	if errs[1] != nil {
		t.Error(errs[1])
	}
	k.mentions(errs[:1], "10.6.200.1")
	k.wantRoutes("10.77.0.10/32 via "+k.address(a), "10.77.0.11/32 via "+k.address(a))
	remove := k.Faults.Add(faults.Rule{Method: http.MethodPut, Route: "/network/v2.0/ports/*", Status: http.StatusForbidden})
	k.mentions([]error{k.table.Lead(t.Context(), k.leadTo("10.77.0.11", b))}, "allowed address pairs")
	k.wantRoutes("10.77.0.10/32 via "+k.address(a), "10.77.0.11/32 via "+k.address(a))
	remove()
	k.lead("10.77.0.11", b)
	k.wantRoutes("10.77.0.10/32 via "+k.address(a), "10.77.0.11/32 via "+k.address(b))
}

func TestLead_RepeatsAfterLostAnswerWithoutSecondRoute(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	a, b := k.join("node-a"), k.join("node-b")
	k.lead("10.77.0.10", a)
	k.Faults.Add(faults.Rule{Method: http.MethodPut, Route: "/network/v2.0/routers/*/add_extraroutes", Status: http.StatusServiceUnavailable, AfterWork: true, Count: 1})
	await.Eventually(t, "the VIP moves", func(ctx context.Context) error { return k.table.Lead(ctx, k.leadTo("10.77.0.10", b)) })
	k.wantRoutes("10.77.0.10/32 via " + k.address(b))
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := k.table.Lead(ctx, k.leadTo("10.77.0.10", a)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
