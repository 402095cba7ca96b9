package loadbalancer_test

import (
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
)

// leave does what the service controller does with a Service that is deleted. It
// gives the reads beside those of the watcher.
func (w *world) leave(svc *v1.Service) []books.Request {
	w.t.Helper()
	leaving := svc.DeepCopy()
	now := nowTime()
	leaving.DeletionTimestamp = &now
	w.cloud.Books.Reset()
	_, exists, err := w.engine.Get(w.ctx, leaving)
	if !exists || err != nil {
		w.t.Fatalf("Get: exists %v, error %v", exists, err)
	}
	w.delete(leaving)
	return w.cloud.Books.Requests(books.Reads(), func(r books.Request) bool {
		// Security groups are listed once for all Services.
		return !strings.Contains(r.Path, "fields=provisioning_status&fields=operating") && !strings.Contains(r.Path, "/security-groups?fields=")
	})
}

func TestDeletionReadsTwoListsWhenWarm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes, svc := w.nodes(3), service("web", 3)
	w.ensure(svc, nodes)
	reads := w.leave(svc)
	w.writes(2)
	if len(reads) > 2 { // load balancers with its tag, floating IPs with its description
		t.Errorf("read\n%swant two lists", printed(reads))
	}
	w.loadBalancers(0)
	w.floatingIPs(0)
}

func TestDeletionAfterARestartReadsNoMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes, svc := w.nodes(3), service("web", 3)
	w.ensure(svc, nodes)
	w.restart()
	reads := w.leave(svc)
	w.writes(2)
	for _, r := range reads {
		if strings.Contains(r.Path, "/members") || strings.Contains(r.Path, "/pools") || strings.Contains(r.Path, "/healthmonitors") {
			t.Errorf("read %s", r.Path)
		}
	}
	w.loadBalancers(0)
	w.floatingIPs(0)
}

func TestDeletionLeavesWhatIsNotOursWhatEverIsRemembered(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		w := newWorld(t, worldOptions{})
		nodes, svc := w.nodes(3), service("web", 2)
		w.ensure(svc, nodes)
		foreignListener(t, w, w.loadBalancer().ID, 9000)
		if restart {
			w.restart()
		}
		w.leave(svc)
		lb := w.loadBalancer()
		if len(lb.Listeners) != 1 || lb.Listeners[0].ProtocolPort != 9000 || len(lb.Pools) != 0 {
			t.Errorf("left are %d listeners and %d pools", len(lb.Listeners), len(lb.Pools))
		}
	}
}

// second makes another load balancer for a Service, as a creation whose answer came
// too late does.
func (w *world) second() (id string) {
	w.t.Helper()
	session, err := openstack.NewSession(w.ctx, w.conf.Global, openstack.SessionOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer session.Close()
	first := w.loadBalancer()
	made, err := session.Octavia().CreateLoadBalancer(w.ctx, loadbalancers.CreateOpts{
		Name: first.Name, Tags: first.Tags, VipSubnetID: first.VIP.SubnetID,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cloud.WaitSettled(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	return made.ID
}

func TestASecondLoadBalancerGoesUnlessItHoldsWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	for _, foreign := range []bool{false, true} {
		w := newWorld(t, worldOptions{})
		nodes, svc := w.nodes(3), service("web", 2)
		w.ensure(svc, nodes)
		second, left := w.second(), 1
		if foreign {
			foreignListener(t, w, second, 9000)
			left = 2
		}
		w.restart()
		w.ensure(svc, nodes)
		w.loadBalancers(left)
		if told := strings.Contains(w.told(), "is left alone, as it holds listener "); told != foreign {
			t.Errorf("told that it is left alone: %v, want %v", told, foreign)
		}
		w.leave(svc)
		w.loadBalancers(left - 1)
		w.floatingIPs(0)
	}
}
