package loadbalancer_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	octaviaapi "github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// addListener returns a function with which another client adds a listener to a load balancer.
func addListener(env *environment, other *openstack.Session, loadBalancerID string) func() {
	return func() {
		if _, err := other.Octavia().CreateListener(env.ctx, octaviaapi.Listener{
			LoadBalancerID: loadBalancerID, Name: "somebody's", Protocol: "TCP", Port: 8443,
		}); err != nil {
			env.T.Error(err)
		}
	}
}

// Listeners of other owners, as ports returns them.
const (
	somebodys = "TCP/8443 somebody's"
	guests    = "TCP/443 listener_0_kube_service_kubernetes_default_guest"
)

// left fails unless the load balancer exists and contains only a listener of another owner.
func (env *environment) left(id, listener string) {
	env.T.Helper()
	if err := env.Cloud.WaitSettled(env.ctx); err != nil {
		env.T.Fatal(err)
	}
	lb, there := env.find(id)
	if !there {
		env.T.Fatal("the load balancer is deleted with the listener that another owner has just made")
	}
	if got := ports(lb); !slices.Equal(got, []string{listener}) {
		env.T.Errorf("its listeners are %v, want %s alone", got, listener)
	}
}

// A Service is deleted. Its load balancer was read, and has no objects of other clients. Then
// another client adds a listener, which locks the load balancer, and the deletion is refused with
// 409.
func TestDelete_LeavesListenerOfOthersThatHeldTheLoadBalancer(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		t.Run(map[bool]string{false: "its own", true: "the last on another's"}[shared], func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(2), service("web", 1)
			env.ensure(svc, nodes)
			id := env.loadBalancer().ID
			if shared {
				owner := svc
				svc = onto("guest", env.loadBalancer(), 443)
				env.ensure(svc, nodes)
				env.delete(leaving(owner))
			}
			env.Cloud.Faults.Add(faults.Rule{
				Method: http.MethodDelete, Route: lbRoute + "/{id}", Count: 1, Status: http.StatusConflict, Worded: true,
				Then: addListener(env, octaviaAsSomebodyElse(t, env), id),
			})
			env.delete(leaving(svc))
			env.left(id, somebodys)
		})
	}
}

// The change of another client may leave no object. Then the load balancer is deleted after another
// read.
func TestDelete_AsksOnceMoreWhatIsInLoadBalancerThatOthersHeld(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 2)
	env.ensure(svc, nodes)
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodDelete, Route: lbRoute + "/{id}", Count: 1, Status: http.StatusConflict, Worded: true})
	env.Cloud.RequestLog.Reset()
	env.delete(leaving(svc))
	env.loadBalancers(0)
	env.floatingIPs(0)
	deletions, lists := env.Cloud.RequestLog.Count(http.MethodDelete, lbRoute+"/{id}"), env.Cloud.RequestLog.Count(http.MethodGet, listenersRoute)
	if deletions != 2 || lists > 1 {
		t.Errorf("%d deletions of the load balancer and %d lists of its listeners, want 2 and at most one", deletions, lists)
	}
}

// A load balancer is replaced. While the new one is created, which takes minutes, another client
// adds a listener to the old one. The Service gets the new load balancer. The old one stays while
// it has the foreign listener; the deletion of the Service removes the Service's own parts of it.
func TestReplace_LeavesListenerOfOthersThatCameMeanwhile(t *testing.T) {
	t.Parallel()
	for when, rule := range map[string]faults.Rule{
		"before the new one is made":      {Method: http.MethodPost, Route: lbRoute},
		"before the floating IP is moved": {Method: http.MethodPut, Route: fipRoute + "/{id}"},
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(2), service("web", 1)
			env.ensure(svc, nodes)
			old := env.loadBalancer()
			address := svc.Status.LoadBalancer.Ingress[0].IP
			svc.Annotations[annotation.AllowReplace] = "true"
			svc.Annotations[annotation.FlavorID] = env.catalogue().ID
			rule.Count, rule.Then = 1, addListener(env, octaviaAsSomebodyElse(t, env), old.ID)
			env.Cloud.Faults.Add(rule)
			for range 2 { // also after a retry
				env.refused(svc, nodes, "is not deleted because it also holds listener")
				lb, there := env.find(old.ID)
				if !there || !slices.ContainsFunc(lb.Listeners, func(l *octavia.Listener) bool { return l.Name == "somebody's" }) {
					t.Fatal("the old load balancer is deleted with the listener that another client has made since")
				}
			}
			if all := env.Cloud.Neutron.FloatingIPs(); len(all) != 1 || all[0].Address != address {
				t.Errorf("the floating IPs are %+v, want %s alone", all, address)
			}
			env.delete(leaving(svc))
			env.left(old.ID, somebodys)
			env.loadBalancers(1)
		})
	}
}

// A Service is deleted. Octavia has read the list of its load balancers, and answers late. Meanwhile another Service
// joins the load balancer, and has finished before the answer arrives.
func TestDelete_KeepsLoadBalancerThatAnotherServiceJoinsDuringTheRead(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	own := env.loadBalancer()
	guest := onto("guest", own, 443)
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: lbRoute, Count: 1, AnswerDelay: 2 * time.Second})
	before := env.Cloud.Faults.Hits()
	deleted := make(chan error, 1)
	go func() { deleted <- env.engine.Delete(env.ctx, leaving(svc)) }()
	env.until("the list is being read", func() bool { return env.Cloud.Faults.Hits() > before })
	time.Sleep(100 * time.Millisecond) // the answer is ready by now
	env.ensure(guest, nodes)
	if err := <-deleted; err != nil {
		t.Error(err)
	}
	env.left(own.ID, guests)
	env.delete(leaving(guest))
	env.loadBalancers(0)
}

// A Service leaves its own load balancer, which is empty, for another one. It waits for the lock of a Service that is
// joining the empty one.
func TestLeave_KeepsLoadBalancerThatAnotherServiceJoins(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.Cloud.Octavia.SetQuota(env.Cloud.Account.ProjectID, "pool", 0)
	for range 2 { // the second creates it empty
		if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
			t.Fatal("created beyond the quota")
		}
	}
	own := env.loadBalancer()
	if len(own.Listeners)+len(own.Pools) > 0 {
		t.Fatalf("it is not empty: %+v", own)
	}
	env.Cloud.Octavia.SetQuota(env.Cloud.Account.ProjectID, "pool", -1)
	env.byHand("by-hand", "")
	for _, lb := range env.loadBalancers(2) {
		if lb.ID != own.ID {
			svc.Annotations[annotation.LoadBalancerID] = lb.ID
		}
	}
	guest := onto("guest", own, 443)
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: poolsRoute, Count: 1, Delay: time.Second})
	before := env.Cloud.Faults.Hits()
	joined := make(chan error, 1)
	go func() {
		_, err := env.engine.Ensure(env.ctx, guest, nodes)
		joined <- err
	}()
	env.until("the other Service has the lock", func() bool { return env.Cloud.Faults.Hits() > before })
	_, err := env.engine.Ensure(env.ctx, svc, nodes)
	if err := errors.Join(<-joined, err); err != nil {
		t.Log("served by the next attempt: ", err)
		env.ensure(svc, nodes)
	}
	env.left(own.ID, guests)
}
