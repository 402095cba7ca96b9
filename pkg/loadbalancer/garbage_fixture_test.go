package loadbalancer_test

import (
	"cmp"
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

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// hours is a clock that ends a limited number of waits of an hour at once. The wait after these
// ends the test's watch.
type hours struct {
	clock.RealClock

	// shortest is the shortest wait that ends at once, 50 minutes if it is 0.
	shortest time.Duration

	mu    sync.Mutex
	left  int
	end   func()
	waits []time.Duration
}

func (h *hours) NewTimer(d time.Duration) clock.Timer { return h.RealClock.NewTimer(h.shorten(d)) }

func (h *hours) AfterFunc(d time.Duration, f func()) clock.Timer {
	return h.RealClock.AfterFunc(h.shorten(d), f)
}

// shorten returns the duration of a wait.
func (h *hours) shorten(d time.Duration) time.Duration {
	if d < cmp.Or(h.shortest, 50*time.Minute) {
		return d
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left--; h.left < 0 {
		h.end()
		return d
	}
	h.waits = append(h.waits, d)
	return 0
}

func (h *hours) After(d time.Duration) <-chan time.Time {
	return h.RealClock.After(min(d, 2*time.Millisecond))
}

// collection is a cluster with Services, and the reports of its garbage collector.
type collection struct {
	*environment
	clock *hours
	nodes []*v1.Node
	// there has the Services of the API server; listed, if set, is called when they are read.
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

// with creates a Service and its load balancer.
func (c *collection) with(svc *v1.Service) *v1.Service {
	c.T.Helper()
	c.made++
	svc.UID = types.UID(fmt.Sprintf("83edf9cb-240e-4ea1-8c14-%012d", c.made))
	c.ensure(svc, c.nodes)
	c.there = append(c.there, svc)
	return svc
}

// vanish removes Services without a call of the service controller.
func (c *collection) vanish(gone ...*v1.Service) {
	c.there = slices.DeleteFunc(c.there, func(svc *v1.Service) bool { return slices.Contains(gone, svc) })
}

// looks runs n collections.
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
		Removed: func(string) {},
		Services: func(ctx context.Context, each func(*v1.Service)) error {
			if c.listed != nil {
				c.listed()
			}
			for _, svc := range c.there {
				each(svc)
			}
			return ctx.Err()
		},
		Event: func(why reason.Reason, text string) { c.events = append(c.events, string(why)+" "+text) },
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

// objects returns the names and addresses of all objects in the cloud.
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

// has fails unless the cloud has exactly these objects.
func (c *collection) has(want []string) {
	c.T.Helper()
	if got := c.objects(); !slices.Equal(got, want) {
		c.T.Errorf("the cloud has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// killedAtDeletion runs two collections in a process that ends with its n-th deletion. It returns
// false if there are fewer.
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
