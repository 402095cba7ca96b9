package loadbalancer_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// crossing is a cluster with many concurrent changes of Services. It knows all versions of a
// Service, including that of the API server and that of the informers.
type crossing struct {
	*environment
	all []*v1.Node

	mu   sync.Mutex
	dice *rand.Rand
	// states has the versions of each Service, the oldest first; informed is the index of the
	// informers' version, -1 after its deletion has reached them.
	states   map[types.UID][]*v1.Service
	informed map[types.UID]int
	gone     map[types.UID]bool
	nodes    []*v1.Node
	version  int
}

// roll returns a random number below n.
func (c *crossing) roll(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dice.IntN(n)
}

// change changes a Service. The change reaches the informers later.
func (c *crossing) change(svc *v1.Service, change func(*v1.Service)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := svc
	if states := c.states[svc.UID]; len(states) > 0 {
		next = states[len(states)-1].DeepCopy()
	}
	change(next)
	c.version++
	next.ResourceVersion = strconv.Itoa(100 + c.version)
	c.states[svc.UID] = append(c.states[svc.UID], next)
}

// replaceNodes selects the nodes of the cluster at random.
func (c *crossing) replaceNodes() {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes := slices.Clone(c.all)
	c.dice.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	c.nodes = nodes[:1+c.dice.IntN(len(nodes))]
}

// deliver passes some of the changes of a Service to the informers, and returns their version then.
func (c *crossing) deliver(uid types.UID, all bool) (*v1.Service, []*v1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, last := c.informed[uid], len(c.states[uid])-1
	switch {
	case c.gone[uid] && (all || c.dice.IntN(2) == 0):
		at = -1
	case all:
		at = last
	case at >= 0 && at < last:
		at += c.dice.IntN(last - at + 1)
	}
	if c.informed[uid] = at; at < 0 {
		return nil, nil
	}
	return c.states[uid][at], slices.Clone(c.nodes)
}

// newest returns the informers' version, or an earlier one: after a lost connection, an API server
// that lags behind may send it again. A deleted Service does not return.
func (c *crossing) newest(svc *v1.Service) (*v1.Service, []*v1.Node) {
	now, nodes := c.deliver(svc.UID, false)
	if now == nil || now.DeletionTimestamp != nil || c.roll(4) > 0 {
		return now, nodes
	}
	return c.any(svc.UID, now), nodes
}

// any returns a random version of a Service that is older than last.
func (c *crossing) any(uid types.UID, last *v1.Service) *v1.Service {
	c.mu.Lock()
	defer c.mu.Unlock()
	states := c.states[uid]
	return states[c.dice.IntN(1+slices.Index(states, last))]
}

// exists reads the API server, as the resync controller does.
func (c *crossing) exists(uid types.UID) func(context.Context) (bool, error) {
	return func(context.Context) (bool, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		last := c.states[uid][len(c.states[uid])-1]
		return !c.gone[uid] && last.DeletionTimestamp == nil && len(last.Status.LoadBalancer.Ingress) > 0, nil
	}
}

// control is the service controller for one Service: a single worker that ensures its changes and,
// if leave is set, deletes it in the end.
func (c *crossing) control(svc *v1.Service, leave bool) {
	for round := range 4 {
		switch c.roll(4) {
		case 0:
			c.change(svc, func(s *v1.Service) { s.Spec.Ports[0].NodePort = 32000 + int32(round) })
		case 1:
			c.change(svc, func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10." + itoa(round) + ".0.0/16"} })
		case 2:
			c.change(svc, func(s *v1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, port(v1.ProtocolUDP, 1000*round+int(s.Spec.Ports[0].Port)))
			})
		default:
			c.replaceNodes()
		}
		if now, nodes := c.deliver(svc.UID, false); c.roll(3) > 0 {
			c.publish(c.engine.Ensure(c.ctx, now.DeepCopy(), nodes))(svc)
		}
	}
	if leave {
		c.change(svc, func(s *v1.Service) { now := nowTime(); s.DeletionTimestamp = &now })
		c.deletes(svc)
		return
	}
	c.ensures(svc)
}

// publish writes the status of a call's result, as the service controller does.
func (c *crossing) publish(status *v1.LoadBalancerStatus, err error) func(*v1.Service) {
	return func(svc *v1.Service) {
		if err == nil && status != nil {
			c.change(svc, func(s *v1.Service) { s.Status.LoadBalancer = *status })
		}
	}
}

// ensures calls Ensure until it succeeds with the last version.
func (c *crossing) ensures(svc *v1.Service) {
	var err error
	for c.ctx.Err() == nil {
		var status *v1.LoadBalancerStatus
		now, nodes := c.deliver(svc.UID, true)
		status, err = c.engine.Ensure(c.ctx, now.DeepCopy(), nodes)
		if c.publish(status, err)(svc); err == nil {
			return
		}
		if strings.Contains(err.Error(), "there is no such load balancer") { // the owner was faster
			c.change(svc, func(s *v1.Service) { delete(s.Annotations, annotation.LoadBalancerID) })
		}
		time.Sleep(time.Millisecond)
	}
	c.T.Errorf("ensure %s: %v", svc.Name, err)
}

// deletes calls Delete until nothing is left, and removes the finalizer.
func (c *crossing) deletes(svc *v1.Service) {
	var err error
	for c.ctx.Err() == nil {
		var exists bool
		now, _ := c.deliver(svc.UID, true)
		_, exists, err = c.engine.Get(c.ctx, now.DeepCopy())
		if err == nil && exists {
			err = c.engine.Delete(c.ctx, now.DeepCopy())
		}
		if err == nil {
			c.mu.Lock()
			c.gone[svc.UID] = true
			c.mu.Unlock()
			return
		}
		time.Sleep(time.Millisecond)
	}
	c.T.Errorf("delete %s: %v", svc.Name, err)
}

// resync is our own controller. It repairs and updates old versions of Services, again and again,
// until the service controller is done. Its last calls for a deleted Service are still under way
// then.
func (c *crossing) resync(svc *v1.Service, done <-chan struct{}) {
	for late := 5; late > 0 && c.ctx.Err() == nil; {
		select {
		case <-done:
			return
		default:
		}
		c.mu.Lock()
		states := c.states[svc.UID]
		if c.gone[svc.UID] || states[len(states)-1].DeletionTimestamp != nil {
			late--
		}
		old := states[c.dice.IntN(len(states))].DeepCopy()
		nodes := slices.Clone(c.nodes)
		c.mu.Unlock()
		if c.roll(2) == 0 {
			_, _ = c.engine.Repair(c.ctx, old, nil, c.exists(svc.UID)) // a failure is retried
		} else {
			_ = c.engine.Update(c.ctx, old, nodes)
		}
		time.Sleep(time.Duration(c.roll(3)) * time.Millisecond)
	}
}

// disturb makes requests fail with definite errors.
func (c *crossing) disturb() {
	for status, method := range map[int]string{http.StatusConflict: "", http.StatusTooManyRequests: "", http.StatusServiceUnavailable: http.MethodGet} {
		c.Cloud.Faults.Add(faults.Rule{Status: status, Method: method, Worded: true, Probability: 0.1, Count: 60, Seed: uint64(status), Route: "/load-balancer/**"})
	}
}

// Whatever happens concurrently to Services that share a load balancer, and whichever versions the
// informers deliver: in the end each Service has its last desired state, from one load balancer and
// one floating IP that were created once, and a deleted Service has nothing.
func TestInterleaving_EndsWithOneLoadBalancerAndNoLeak(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run("seed "+strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			interleave(t, seed)
		})
	}
}

func interleave(t *testing.T, seed uint64) {
	t.Helper()
	c := &crossing{
		dice:   rand.New(rand.NewPCG(seed, 1)),
		states: map[types.UID][]*v1.Service{}, informed: map[types.UID]int{}, gone: map[types.UID]bool{},
	}
	options := environmentOptions{keys: map[string]string{"manage-security-groups": strconv.FormatBool(seed%4 > 1)}, newest: c.newest}
	if seed%2 == 1 {
		options.hold = time.Millisecond
	}
	c.environment = newEnvironment(t, options)
	c.all = c.environment.nodes(4)
	defer c.listen()()
	c.replaceNodes()
	alone, owner := service("alone", 1), service("owner", 1)
	for _, svc := range []*v1.Service{alone, owner} {
		c.change(svc, func(*v1.Service) {})
	}
	c.ensures(owner)
	guest := onto("guest", c.loadBalancer(), 443)
	c.change(guest, func(*v1.Service) {})
	services, leave := []*v1.Service{alone, owner, guest}, []bool{seed&1 > 0, seed&2 > 0, seed&4 > 0}
	if c.disturb(); seed < 4 {
		c.Cloud.Faults.Clear()
	}
	c.cross(services, leave)
	c.Cloud.Faults.Clear()
	if c.ctx.Err() != nil {
		t.Fatal("it never ends")
	}
	c.check(services, leave)
}

// listen collects the events until it is stopped, and logs the last of them if the test fails.
func (c *crossing) listen() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var last []string
		for {
			select {
			case event := <-c.events.Events:
				last = append(last[max(0, len(last)-20):], event)
			case <-done:
				if c.T.Failed() {
					c.T.Logf("the last events:\n%s", strings.Join(last, "\n"))
				}
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// cross runs all changes concurrently.
func (c *crossing) cross(services []*v1.Service, leave []bool) {
	var controllers, resyncs sync.WaitGroup
	done := make(chan struct{})
	for n, svc := range services {
		controllers.Go(func() { c.control(svc, leave[n]) })
		for range 3 {
			resyncs.Go(func() { c.resync(svc, done) })
		}
	}
	controllers.Wait()
	close(done)
	resyncs.Wait()
}

// check compares the cloud with the remaining Services.
func (c *crossing) check(services []*v1.Service, leave []bool) {
	c.T.Helper()
	var names []string
	want, most := 0, 2
	if !leave[0] {
		want++
	}
	if !leave[1] || !leave[2] {
		want++
	}
	if leave[1] {
		most++ // the guest may come too late, and get a load balancer of its own
	}
	for n, svc := range services {
		if !leave[n] {
			c.ensures(svc) // corrects the last repair, which may have used old nodes
		}
		if !leave[n] || n == 1 && !leave[2] { // the guest has the owner's load balancer
			names = append(names, string(svc.UID), svc.Namespace+"/"+svc.Name)
		}
	}
	balancers := c.loadBalancers(want)
	c.floatingIPs(want)
	if orphans := c.Cloud.Orphans(names, nil); len(orphans) > 0 {
		c.T.Errorf("left are %+v", orphans)
	}
	if leaked := c.Cloud.LeakedPorts(); len(leaked) > 0 {
		c.T.Errorf("leaked are the ports %+v", leaked)
	}
	made := c.Cloud.RequestLog.Requests(func(r requestlog.Request) bool {
		return r.Method == http.MethodPost && r.Route == lbRoute && r.Status == http.StatusCreated
	})
	if len(made) > most {
		c.T.Errorf("%d load balancers were made", len(made))
	}
	var listeners []string
	for _, lb := range balancers {
		listeners = append(listeners, ports(lb)...)
		c.membersOf(lb)
	}
	asked := 0
	for n, svc := range services {
		if now, _ := c.deliver(svc.UID, true); !leave[n] {
			asked += len(now.Spec.Ports)
		}
	}
	if len(listeners) != asked {
		c.T.Errorf("%d ports have the listeners %v", asked, listeners)
	}
}

// membersOf fails unless all pools have exactly the present nodes.
func (c *crossing) membersOf(lb simoctavia.LoadBalancer) {
	c.T.Helper()
	for _, pool := range lb.Pools {
		if len(pool.Members) != len(c.nodes) {
			c.T.Errorf("%d members of %s on %d nodes", len(pool.Members), pool.Name, len(c.nodes))
		}
	}
}
