package loadbalancer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

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
	c.looks(2) // those of a restart are counted from zero
	c.finds("1 floating-ip true", "1 load-balancer true", "1 security-group true")
	c.looks(3)
	if len(c.events) != 2 || !strings.HasPrefix(c.events[0], "GarbageFound ") || !strings.Contains(c.events[0], "garbage-policy=delete") {
		t.Errorf("emitted %q, want an event of each start", c.events)
	}
	if got := c.Cloud.RequestLog.Requests(requestlog.Writes()); len(got) > 0 {
		t.Errorf("writes:\n%s", printed(got))
	}
	c.has(before)
	c.there = append(c.there, web) // restored from a backup
	c.looks(2)
	c.finds()
}

// Two clusters of one name share a project with a person, and with cloud-provider-openstack under
// our name: only our own objects are removed.
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
		t.Errorf("emitted %q", c.events)
	}
	c.vanish(former)
	c.looks(2)
	if now := c.objects(); len(now) != len(before)-5 {
		t.Errorf("of %d objects %d are left:\n%s", len(before), len(now), strings.Join(now, "\n"))
	}
}

// A Service that was recreated under its name during a downtime has a load balancer of its own. The
// old one belongs to no Service.
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

// Of a shared load balancer only the parts without a Service are removed, whichever Service owned
// it.
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

// An object that is created between the reads of the cloud and of the Services is no garbage, nor
// is one that a Service begins to use before the removal.
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
		case 1, 2: // created after the read of the cloud
			c.with(service(fmt.Sprint("new-", reads), 1))
		case 3: // right before the removal of the load balancer
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
	if emitted := strings.Join(c.events, "\n"); !strings.Contains(emitted, "GarbageNotRemoved ") {
		t.Errorf("emitted %s", emitted)
	}
}

// The process is killed at every deletion: the next one continues.
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

// The collector uses the load balancers and floating IPs of the drift watch.
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
	c.buried() // the log has all requests of the old process
	c.Cloud.RequestLog.Reset()
	c.looks(3)
	if got := c.Cloud.RequestLog.Requests(); len(got) != 6 ||
		c.Cloud.RequestLog.Count(http.MethodGet, "/load-balancer/v2.0/lbaas/listeners") != 3 || c.Cloud.RequestLog.Count(http.MethodGet, "/network/v2.0/security-groups") != 3 {
		t.Errorf("three looks cost %d requests:\n%s", len(got), printed(got))
	}
}

// A kept floating IP is only reported, as are the objects of a Service that no longer requests a
// load balancer.
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
		t.Errorf("emitted %q", c.events)
	}
}
