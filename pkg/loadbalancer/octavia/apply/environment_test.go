package apply_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

const (
	lbaas       = "/load-balancer/v2.0/lbaas/"
	floatingIPs = "/network/v2.0/floatingips"
)

// environment is a simulated cloud and an applier that works on it.
type environment struct {
	*simulated.Environment
	ctx     context.Context
	applier *apply.Applier
	// options are those of the plans, apart from Cascade.
	options plan.Options
}

func newEnvironment(t *testing.T, options simulator.Options) *environment {
	t.Helper()
	simulation := simulated.New(t, options)
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	t.Cleanup(cancel)
	session := simulation.SignIn(openstack.SessionOptions{
		Retry: transport.RetryPolicy{BaseDelay: time.Millisecond, MaxDelay: 2 * time.Millisecond},
	})
	if _, err := session.LoadBalancerVersion(ctx); err != nil { // as at start-up
		t.Fatal(err)
	}
	lb, network := session.Octavia(), session.Neutron()
	shared := watcher.New(lb, clock.RealClock{})
	t.Cleanup(shared.Close)
	fast := driver.PollInterval{First: time.Millisecond, Cap: 5 * time.Millisecond}
	return &environment{Environment: simulation, ctx: ctx, applier: apply.New(apply.Applier{
		Octavia: lb, Neutron: network, Watcher: shared, Clock: clock.RealClock{},
		Observer: &observe.Observer{Octavia: lb, Neutron: network, Version: session.LoadBalancerVersion},
		Drivers: driver.NewRegistry(driver.Settings{Timing: driver.Timing{
			Create: fast, Update: fast, Delete: fast, ChildInterval: time.Millisecond, ChildTimeout: 50 * time.Millisecond, LostCreateRetry: time.Millisecond,
		}}),
	})}
}

// us is the identity of the Service default/web.
func us() ownership.Identity {
	return ownership.Identity{ClusterName: "rig", ClusterID: "our-cluster", ServiceUID: "our-service", Namespace: "default", Service: "web"}
}

// observe reads the state of the cloud, as after a restart.
func (e *environment) observe() model.Observed {
	e.T.Helper()
	if err := e.Cloud.WaitSettled(e.ctx); err != nil {
		e.T.Fatal(err)
	}
	var observed model.Observed
	found, err := e.applier.Observer.Find(e.ctx, us(), observe.Hints{})
	if err != nil {
		e.T.Fatal(err)
	}
	for i, lb := range found.LoadBalancers {
		read, err := e.applier.Observer.Contents(e.ctx, us(), lb)
		if err != nil {
			e.T.Fatal(err)
		}
		if i == 0 {
			observed.LoadBalancer = read
		} else {
			observed.Duplicates = append(observed.Duplicates, *read)
		}
	}
	if err := e.applier.Observer.FloatingIPs(e.ctx, us(), &observed, observe.FloatingIPHints{}); err != nil {
		e.T.Fatal(err)
	}
	return observed
}

// attempt reads, plans and runs once. The plan is empty if there was nothing to do.
func (e *environment) attempt(desired *model.LoadBalancer) (plan.Plan, model.Observed, error) {
	e.T.Helper()
	observed := e.observe()
	todo := plan.Delete(observed, plan.Options{Cascade: true})
	if desired != nil {
		options := e.options
		options.Cascade = true
		todo = plan.Diff(desired, observed, options)
	}
	after, err := e.run(observed, todo)
	return todo, after, err
}

// run carries out a plan of the Service.
func (e *environment) run(observed model.Observed, todo plan.Plan) (model.Observed, error) {
	return e.applier.Run(e.ctx, apply.Request{ID: us(), Observed: observed, Plan: todo})
}

// reach brings the cloud to the desired state, in one pass without an error, and checks that the
// applier returns the state of the cloud.
func (e *environment) reach(desired *model.LoadBalancer) model.Observed {
	e.T.Helper()
	todo, observed, err := e.attempt(desired)
	if err != nil {
		e.T.Fatalf("%v\n%s", err, todo)
	}
	read := e.observe()
	if diff := cmp.Diff(read, observed, ignoring()); diff != "" {
		e.T.Errorf("after\n%sthe applier knows something else than the cloud has: %s", todo, diff)
	}
	e.nothingToDo(desired, read)
	return observed
}

// ignoring leaves out values that a run does not track: the time of the last change, operating
// statuses, and the order of equal parts.
func ignoring() cmp.Option {
	return cmp.Options{
		cmpopts.EquateEmpty(), cmpopts.IgnoreFields(model.LoadBalancer{}, "UpdatedAt"), cmpopts.IgnoreFields(model.Status{}, "Operating"),
		cmpopts.IgnoreFields(model.FloatingIP{}, "Revision"),
	}
}

func (e *environment) nothingToDo(desired *model.LoadBalancer, observed model.Observed) {
	e.T.Helper()
	todo := plan.Delete(observed, plan.Options{Cascade: true})
	if desired != nil {
		todo = plan.Diff(desired, observed, plan.Options{})
	}
	if !todo.Empty() {
		e.T.Errorf("still to do:\n%s", todo)
	}
}

// writes counts the requests of a method to a route, which may contain {id}.
func (e *environment) writes(method, route string) int {
	return e.Cloud.RequestLog.Count(method, route)
}

// web is the desired state of a Service with these TCP ports.
func (e *environment) web(ports ...int) *model.LoadBalancer {
	id := us()
	lb := &model.LoadBalancer{
		Name: id.Name(), Description: id.Description(), Tags: id.Tags(), Provider: "amphora",
		VIP:        model.VIP{SubnetID: e.Cloud.Subnet.ID},
		FloatingIP: &model.FloatingIP{NetworkID: e.Cloud.ExternalNetwork.ID, Description: id.FloatingIPs().Description()},
	}
	for i, port := range ports {
		lb.Listeners = append(lb.Listeners, model.Listener{
			Name: id.ListenerName(i), Protocol: model.TCP, Port: port, Tags: id.Tags(),
			Pool: model.Pool{
				Name: id.PoolName(i), Protocol: model.TCP, Algorithm: "ROUND_ROBIN", Tags: id.Tags(), Members: members(3, port),
				Monitor: &model.Monitor{
					Name: id.MonitorName(i), Type: "TCP", Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3, Tags: id.Tags(),
				},
			},
		})
	}
	lb.Sort()
	return lb
}

func members(n, port int) model.Members {
	var all []model.Member
	for i := range n {
		all = append(all, model.Member{
			Name: fmt.Sprintf("node-%d", i), Address: fmt.Sprintf("127.100.%d.%d", i/250, i%250+1), Port: 30000 + port,
		})
	}
	return model.MembersOf(all...)
}
