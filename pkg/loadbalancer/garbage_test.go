package loadbalancer_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/garbage"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// hours is a clock on which waits of an hour are over at once, as many as there are left.
// The next ends the test's watch.
type hours struct {
	clock.RealClock

	mu   sync.Mutex
	left int
	end  func()
}

func (h *hours) NewTimer(d time.Duration) clock.Timer {
	if d < 50*time.Minute {
		return h.RealClock.NewTimer(d)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left--; h.left < 0 {
		h.end()
		return h.RealClock.NewTimer(d)
	}
	return h.RealClock.NewTimer(0)
}

func (h *hours) After(d time.Duration) <-chan time.Time {
	return h.RealClock.After(min(d, 2*time.Millisecond))
}

// collection is a cluster with Services, and what its collector tells.
type collection struct {
	*environment
	clock *hours
	nodes []*v1.Node
	// there are the Services that the API server has; listed, when set, is called when they
	// are read.
	there  []*v1.Service
	made   int
	listed func()
	events []string
	counts map[string]int
}

func newCollection(t *testing.T, keys map[string]string) *collection {
	t.Helper()
	all := map[string]string{"drift-policy": "off", "manage-security-groups": "true", "max-shared-lb": "3"}
	for key, value := range keys {
		all[key] = value
	}
	h := &hours{}
	c := &collection{environment: newEnvironment(t, environmentOptions{keys: all, clock: h}), clock: h, counts: map[string]int{}}
	c.nodes = c.environment.nodes(1)
	return c
}

// with makes a Service and its load balancer.
func (c *collection) with(svc *v1.Service) *v1.Service {
	c.T.Helper()
	c.made++
	svc.UID = types.UID(fmt.Sprintf("83edf9cb-240e-4ea1-8c14-%012d", c.made))
	c.ensure(svc, c.nodes)
	c.there = append(c.there, svc)
	return svc
}

// vanish takes Services away of which the service controller never hears.
func (c *collection) vanish(gone ...*v1.Service) {
	c.there = slices.DeleteFunc(c.there, func(svc *v1.Service) bool { return slices.Contains(gone, svc) })
}

// looks has the collector look so often.
func (c *collection) looks(n int) {
	c.T.Helper()
	c.lookUntil(c.ctx, n)
	if c.ctx.Err() != nil {
		c.T.Fatal("the looks do not end")
	}
}

func (c *collection) lookUntil(ctx context.Context, n int) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	c.clock.mu.Lock()
	c.clock.left, c.clock.end = n, end
	c.clock.mu.Unlock()
	c.engine.CollectGarbage(ctx, garbage.Cluster{
		Services: func(ctx context.Context, each func(*v1.Service)) error {
			if c.listed != nil {
				c.listed()
			}
			for _, svc := range c.there {
				each(svc)
			}
			return ctx.Err()
		},
		Event: func(_, reason, text string) { c.events = append(c.events, reason+" "+text) },
		Count: func(kind string, proven bool, objects int) {
			if c.counts[fmt.Sprintf("%s %v", kind, proven)] = objects; objects == 0 {
				delete(c.counts, fmt.Sprintf("%s %v", kind, proven))
			}
		},
	})
}

// finds fails unless these are counted, each "3 KIND PROVEN".
func (c *collection) finds(want ...string) {
	c.T.Helper()
	var got []string
	for what, n := range c.counts {
		got = append(got, fmt.Sprint(n, " ", what))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		c.T.Errorf("found %q, want %q", got, want)
	}
}

// objects are the names and addresses of what is in the cloud.
func (c *collection) objects() (all []string) {
	c.T.Helper()
	if err := c.Cloud.WaitSettled(c.ctx); err != nil {
		c.T.Fatal(err)
	}
	for _, lb := range c.Cloud.Octavia.Snapshot() {
		all = append(all, "load balancer "+lb.ID)
		for _, l := range lb.Listeners {
			all = append(all, "listener "+l.ID)
		}
		for _, p := range lb.Pools {
			all = append(all, "pool "+p.ID)
		}
	}
	for _, fip := range c.Cloud.Neutron.FloatingIPs() {
		all = append(all, "floating IP "+fip.ID+" on "+fip.PortID)
	}
	for _, group := range c.Cloud.Neutron.SecurityGroups() {
		all = append(all, "security group "+group.ID)
	}
	slices.Sort(all)
	return all
}

// has fails unless exactly these are in the cloud.
func (c *collection) has(want []string) {
	c.T.Helper()
	if got := c.objects(); !slices.Equal(got, want) {
		c.T.Errorf("the cloud has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

//proves:88
func TestGarbage_IsReportedAtTheSecondLookAndStays(t *testing.T) {
	t.Parallel()
	c := newCollection(t, nil)
	web := c.with(service("web", 1))
	c.with(service("api", 1))
	c.vanish(web)
	before := c.objects()
	c.Cloud.RequestLog.Reset()
	c.looks(1)
	if c.finds(); len(c.events) > 0 {
		t.Errorf("the first look tells %q", c.events)
	}
	c.looks(2) // those of a restart count from anew
	c.finds("1 floating-ip true", "1 load-balancer true", "1 security-group true")
	c.looks(3)
	if len(c.events) != 2 || !strings.HasPrefix(c.events[0], "GarbageFound ") || !strings.Contains(c.events[0], "garbage-policy=delete") {
		t.Errorf("told %q, want an event of each start", c.events)
	}
	if got := c.Cloud.RequestLog.Requests(requestlog.Writes()); len(got) > 0 {
		t.Errorf("writes:\n%s", printed(got))
	}
	c.has(before)
	c.there = append(c.there, web) // restored from a backup
	c.looks(2)
	c.finds()
}

// Two clusters of one name in one project, a person, and cloud-provider-openstack under our
// name: only what was ours goes.
//
//proves:88
func TestGarbage_IsRemovedAndNothingElse(t *testing.T) {
	t.Parallel()
	c := newCollection(t, map[string]string{"garbage-policy": "delete"})
	c.with(service("api", 1))
	theirs := service("web", 1)
	theirs.UID = "83edf9cb-240e-4ea1-8c14-999999999999"
	other, _ := c.controller(otherCluster)
	if _, err := other.Ensure(c.ctx, theirs, c.nodes); err != nil {
		t.Fatal(err)
	}
	c.byHand("web", "")
	peer := "kube_service_kubernetes_default_web"
	c.byHand(peer, "Kubernetes external service default/web from cluster kubernetes", peer)
	former := service("former", 1)
	c.clusterName = "former-name"
	c.restart()
	c.with(former)
	c.clusterName = "kubernetes"
	c.restart()
	before := c.objects()

	web := c.with(service("web", 2))
	c.vanish(web)
	c.looks(2)
	c.has(before)
	c.finds("1 load-balancer false")
	if len(c.events) < 3 || !strings.HasPrefix(c.events[2], "GarbageRemoved ") {
		t.Errorf("told %q", c.events)
	}
	c.vanish(former)
	c.looks(2)
	if now := c.objects(); len(now) != len(before)-5 {
		t.Errorf("of %d objects %d are left:\n%s", len(before), len(now), strings.Join(now, "\n"))
	}
}

// A Service that was recreated under its name while nobody looked has a load balancer of its
// own: the old one is of none.
//
//proves:88
func TestGarbage_OfServiceThatWasRecreatedUnderItsNameIsRemoved(t *testing.T) {
	t.Parallel()
	c := newCollection(t, map[string]string{"garbage-policy": "delete"})
	old := c.with(service("web", 1))
	c.restart()
	now := c.with(service("web", 1))
	c.vanish(old)
	c.looks(2)
	c.floatingIPs(1)
	if lb := c.loadBalancer(); !slices.Contains(lb.Tags, "kube_svc_uid_"+string(now.UID)) {
		t.Errorf("left is %s with tags %q", lb.ID, lb.Tags)
	}
	c.unchanged(now, c.nodes)
}

// Of a shared load balancer only what is of no Service goes, whoever had it made.
//
//proves:88
func TestGarbage_OnSharedLoadBalancerIsRemovedAlone(t *testing.T) {
	t.Parallel()
	for what, ownerGoes := range map[string]bool{"its owner goes": true, "another goes": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := newCollection(t, map[string]string{"garbage-policy": "delete"})
			owner := c.with(service("web", 1))
			other := c.with(onto("api", c.loadBalancer(), 90))
			gone, stays := other, owner
			if ownerGoes {
				gone, stays = owner, other
			}
			c.vanish(gone)
			c.looks(2)
			lb := c.loadBalancer()
			if len(lb.Listeners) != 1 || len(lb.Pools) != 1 || lb.Listeners[0].ProtocolPort != int(stays.Spec.Ports[0].Port) {
				t.Errorf("left are %q with %d pools", ports(lb), len(lb.Pools))
			}
			c.floatingIPs(1)
			c.unchanged(stays, c.nodes)
			c.looks(2)
			c.finds()
		})
	}
}

// Whatever comes between the look at the cloud and that at the Services is not garbage, nor
// is what a Service comes to use before it is removed.
//
//proves:88
func TestGarbage_IsNotWhatServiceGetsMeanwhile(t *testing.T) {
	t.Parallel()
	c := newCollection(t, map[string]string{"garbage-policy": "delete"})
	gone := c.with(service("web", 1))
	c.vanish(gone)
	lb, reads := c.loadBalancer(), 0
	c.listed = func() {
		switch reads++; reads {
		case 1, 2: // created after the cloud was read
			c.with(service(fmt.Sprint("new-", reads), 1))
		case 3: // right before the load balancer is removed
			svc := c.there[0]
			svc.Annotations["loadbalancer.openstack.org/load-balancer-id"] = lb.ID
		}
	}
	c.looks(2)
	if reads < 3 {
		t.Errorf("the Services are read %d times, not before the removal", reads)
	}
	c.loadBalancers(3)
	c.floatingIPs(3)
	if told := strings.Join(c.events, "\n"); !strings.Contains(told, "GarbageNotRemoved ") {
		t.Errorf("told %s", told)
	}
}

// killedAtDeletion has the collector look twice, in a process of which the n-th deletion is
// the last. It is false when there are fewer.
func (c *collection) killedAtDeletion(n int, afterWork bool) bool {
	ctx, kill := context.WithCancel(c.ctx)
	defer kill()
	remove := c.Cloud.Faults.Add(faults.Rule{Method: http.MethodDelete, Route: "/**", From: n, AfterWork: afterWork, Drop: true})
	before, ended := c.Cloud.Faults.Hits(), make(chan struct{})
	go func() {
		defer close(ended)
		c.lookUntil(ctx, 2)
	}()
	for running := true; running && c.Cloud.Faults.Hits() == before; {
		select {
		case <-ended:
			running = false
		case <-time.After(time.Millisecond):
		}
	}
	kill()
	<-ended
	killed := c.Cloud.Faults.Hits() > before
	c.buried()
	remove()
	c.restart()
	return killed
}

// The process is killed at every deletion: the next one goes on.
//
//proves:88
func TestGarbage_IsRemovedByTheNextProcess(t *testing.T) {
	t.Parallel()
	for _, afterWork := range []bool{false, true} {
		t.Run(fmt.Sprintf("after work %v", afterWork), func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				c := newCollection(t, map[string]string{"garbage-policy": "delete"})
				owner := c.with(service("web", 1))
				sharer := c.with(onto("api", c.loadBalancer(), 90))
				whole := c.with(service("db", 1))
				c.vanish(sharer, whole)
				killed := c.killedAtDeletion(n, afterWork)
				c.looks(2)
				if lb := c.loadBalancer(); len(lb.Listeners) != 1 || len(lb.Pools) != 1 {
					t.Fatalf("request %d: left are %q with %d pools", n, ports(lb), len(lb.Pools))
				}
				c.floatingIPs(1)
				c.group()
				c.unchanged(owner, c.nodes)
				if !killed {
					return
				}
			}
		})
	}
}

// The load balancers and floating IPs of a look are those of the drift watch.
//
//proves:88
func TestGarbage_CostsTwoListsForEachLook(t *testing.T) {
	t.Parallel()
	c := newCollection(t, map[string]string{"drift-policy": "repair"})
	c.Conf.LoadBalancer.DriftInterval.Duration = 40 * time.Minute
	c.restart()
	for i := range 3 {
		c.with(service(fmt.Sprint("web-", i), 2))
	}
	before := c.Cloud.RequestLog.Count(http.MethodGet, lbRoute)
	stop := c.watchDrift(c.ctx, func(types.NamespacedName) {})
	for c.Cloud.RequestLog.Count(http.MethodGet, lbRoute) == before && c.ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	c.engine.AwaitReads()
	stop()
	c.buried() // what was asked for is in the log
	c.Cloud.RequestLog.Reset()
	c.looks(3)
	if got := c.Cloud.RequestLog.Requests(); len(got) != 6 ||
		c.Cloud.RequestLog.Count(http.MethodGet, "/load-balancer/v2.0/lbaas/listeners") != 3 || c.Cloud.RequestLog.Count(http.MethodGet, "/network/v2.0/security-groups") != 3 {
		t.Errorf("three looks cost %d requests:\n%s", len(got), printed(got))
	}
}

// A floating IP that was kept is only told of, as is what a Service that wants no load
// balancer any more still has.
//
//proves:88
func TestGarbage_ThatIsNotProvenIsOnlyReported(t *testing.T) {
	t.Parallel()
	c := newCollection(t, map[string]string{"garbage-policy": "delete"})
	idle, kept := c.with(service("idle", 1)), c.with(service("kept", 1))
	kept.Annotations["loadbalancer.openstack.org/keep-floatingip"] = "true"
	c.delete(kept)
	c.vanish(kept)
	idle.Spec.Type = v1.ServiceTypeClusterIP
	before := c.objects()
	c.looks(3)
	c.has(before)
	c.finds("1 load-balancer false", "1 security-group false", "2 floating-ip false")
	if len(c.events) != 1 || !strings.HasPrefix(c.events[0], "GarbageSuspected ") {
		t.Errorf("told %q", c.events)
	}
}
