package reading

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// cloud has load balancers that events change at their times. It records requests, with the seconds since the start.
type cloud struct {
	observe.Octavia // no other request is sent

	mu    sync.Mutex
	began time.Time
	all   []octavia.LoadBalancer
	// listeners are those of each load balancer.
	listeners []octavia.Listener
	// members is the number of members in the status tree.
	members int
	events  []event
	// fails has the errors of requests, by their first words.
	fails map[string]error
	sent  []string
	// settled are the results of Settle, in order, settlings its arguments; settling, if set, is called by the first.
	settled   []settled
	settlings []*apply.Settling
	settling  func(c *cloud)
}

type event struct {
	at time.Duration
	do func(c *cloud)
}

type settled struct {
	lb  *model.LoadBalancer
	err error
}

// send records a request after the events that are due.
func (c *cloud) send(request, about string) error {
	now := time.Since(c.began)
	for len(c.events) > 0 && c.events[0].at <= now {
		c.events[0].do(c)
		c.events = c.events[1:]
	}
	c.sent = append(c.sent, strings.TrimSpace(fmt.Sprintf("%gs %s %s", now.Seconds(), request, about)))
	return c.fails[request]
}

func (c *cloud) LoadBalancers(_ context.Context, filter octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.send("list", "")
	return slices.DeleteFunc(slices.Clone(c.all), func(lb octavia.LoadBalancer) bool {
		return len(filter.Tags) > 0 && !slices.Contains(lb.Tags, filter.Tags[0])
	}), err
}

func (c *cloud) LoadBalancer(_ context.Context, id string) (*octavia.LoadBalancer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get("get", id)
}

func (c *cloud) get(request, id string) (*octavia.LoadBalancer, error) {
	if err := c.send(request, id); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.all, func(lb octavia.LoadBalancer) bool { return lb.ID == id })
	if i < 0 {
		return nil, refusal(http.StatusNotFound)
	}
	found := c.all[i]
	return &found, nil
}

// refusal returns an error as Octavia answers.
func refusal(status int) error {
	return apierror.Wrap(gophercloud.ErrUnexpectedResponseCode{
		Method: http.MethodGet, Actual: status, ResponseHeader: http.Header{"X-Openstack-Request-Id": {"req-1"}},
	}, "read")
}

// LoadBalancerState implements watcher.Octavia.
func (c *cloud) LoadBalancerState(_ context.Context, id string) (octavia.LoadBalancerState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lb, err := c.get("poll", id)
	if err != nil {
		return octavia.LoadBalancerState{}, err
	}
	return octavia.LoadBalancerState{ID: id, ProvisioningStatus: lb.ProvisioningStatus, UpdatedAt: lb.UpdatedAt.Time}, nil
}

// LoadBalancerStates implements watcher.Octavia.
func (c *cloud) LoadBalancerStates(context.Context, string) ([]octavia.LoadBalancerState, error) {
	panic("one load balancer is not listed")
}

func (c *cloud) StatusTree(_ context.Context, id string) (*octavia.StatusTree, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pool := octavia.PoolStatus{Members: make([]octavia.MemberStatus, c.members/2)}
	return &octavia.StatusTree{Listeners: []octavia.ListenerStatus{{Pools: []octavia.PoolStatus{pool}}, {Pools: []octavia.PoolStatus{pool}}}}, c.send("tree", id)
}

func (c *cloud) Listeners(_ context.Context, id string) ([]octavia.Listener, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.send("listeners", id)
	return slices.DeleteFunc(slices.Clone(c.listeners), func(l octavia.Listener) bool { return l.LoadBalancers[0].ID != id }), err
}

func (c *cloud) Pools(_ context.Context, id string) ([]octavia.Pool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return nil, c.send("pools", id)
}

// FloatingIPs implements observe.Neutron.
func (c *cloud) FloatingIPs(_ context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	return []floatingips.FloatingIP{{ID: "fip-" + filter.PortID, PortID: filter.PortID, FloatingIP: "203.0.113.7"}}, nil
}

// Settle implements Settler.
func (c *cloud) Settle(_ context.Context, s *apply.Settling) (*model.LoadBalancer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settlings = append(c.settlings, s)
	_ = c.send("settle", "")
	if c.settling != nil {
		c.settling(c)
		c.settling = nil
	}
	result := c.settled[0]
	c.settled = c.settled[1:]
	return result.lb, result.err
}

// change changes a load balancer after some time.
func (c *cloud) change(after time.Duration, id string, change func(lb *octavia.LoadBalancer)) {
	c.events = append(c.events, event{after, func(c *cloud) {
		for i := range c.all {
			if c.all[i].ID == id {
				change(&c.all[i])
			}
		}
	}})
}

// remove removes a load balancer after some time.
func (c *cloud) remove(after time.Duration, id string) {
	c.events = append(c.events, event{after, func(c *cloud) {
		c.all = slices.DeleteFunc(c.all, func(lb octavia.LoadBalancer) bool { return lb.ID == id })
	}})
}

// touch moves updated_at after some time.
func (c *cloud) touch(after time.Duration, id string) {
	c.change(after, id, func(lb *octavia.LoadBalancer) { lb.UpdatedAt.Time = c.began.Add(after) })
}

func web() ownership.Identity {
	return ownership.Identity{ClusterName: "kubernetes", ClusterID: "cluster", ServiceUID: "uid", Namespace: "default", Service: "web"}
}

// balancer returns a load balancer of the Service without parts. It was changed an hour ago.
func balancer(id, status string) octavia.LoadBalancer {
	return octavia.LoadBalancer{
		ID: id, Name: web().Name(), Tags: web().Tags(), Provider: "amphora", AdminStateUp: true, ProvisioningStatus: status, VIPPortID: "port-" + id,
		UpdatedAt: octavia.Timestamp{Time: time.Now().Add(-time.Hour)},
	}
}

// timing has durations that no two requests have in common.
func timing() driver.Timing {
	return driver.Timing{
		Create:        driver.PollInterval{First: 30 * time.Second, Step: 30 * time.Second, Cap: 30 * time.Second},
		Update:        driver.PollInterval{First: 7 * time.Second, Step: 7 * time.Second, Cap: 7 * time.Second},
		ChildInterval: time.Second, ChildTimeout: time.Minute,
	}
}

// run calls a test with a Reader in a bubble.
func run(t *testing.T, test func(t *testing.T, c *cloud, r Reader)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cloud{began: time.Now(), fails: map[string]error{}}
		version := func(context.Context) (model.Version, error) { return model.Version{}, nil }
		w := watcher.New(c, clock.RealClock{})
		defer w.Close()
		test(t, c, Reader{
			Octavia: c, Observer: &observe.Observer{Octavia: c, Neutron: c, Version: version}, Watcher: w, Settler: c,
			Drivers: driver.NewRegistry(driver.Settings{Timing: timing()}), Locks: &async.Locks{}, Clock: clock.RealClock{},
		})
	})
}

// runCase is run for one case of a table.
func runCase(t *testing.T, name string, test func(t *testing.T, c *cloud, r Reader)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		run(t, test)
	})
}

// inSteps does work that returns async.ErrWaiting where it would block, and returns its error.
func inSteps(t *testing.T, work func(context.Context) error) error {
	t.Helper()
	woken := make(chan struct{}, 1)
	slot := async.Slot{Wake: func() { woken <- struct{}{} }}
	defer slot.Clear()
	ctx := async.WithSlot(t.Context(), &slot)
	err := work(ctx)
	for ; async.IsWaiting(err); err = work(ctx) {
		<-woken
	}
	return err
}

func (c *cloud) assertSent(t *testing.T, what string, want ...string) {
	t.Helper()
	if !slices.Equal(c.sent, want) {
		t.Errorf("%s: sent\n%s\nwant\n%s", what, strings.Join(c.sent, "\n"), strings.Join(want, "\n"))
	}
}
