package loadbalancer_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Whatever is published, also a host name: that the floating IP is gone is found at
// the next start, and by the watch.
//
//proves:89
func TestLostFloatingIPIsFoundBehindAHostname(t *testing.T) {
	t.Parallel()
	for _, hostname := range []string{"", "web.example.org"} {
		for _, lost := range []string{"while nothing runs", "later"} {
			t.Run(hostname+" "+lost, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{})
				nodes, svc := w.nodes(2), service("web", 1)
				if hostname != "" {
					svc.Annotations[annotation.Hostname] = hostname
				}
				w.ensure(svc, nodes)
				w.writeDown(svc)
				release := func() {
					if err := w.cloud.Neutron.ReleaseFloatingIP(w.cloud.Neutron.FloatingIPs()[0].ID); err != nil {
						t.Fatal(err)
					}
				}
				if lost == "later" {
					w.restart()
					w.ensure(svc, nodes)
					release()
					w.repair(svc, nodes)
				} else {
					release()
					w.restart()
					w.ensure(svc, nodes)
				}
				w.floatingIPs(1)
				w.unchanged(svc, nodes)
			})
		}
	}
}

// One rule, before and after a restart: a floating IP that somebody else puts on the
// VIP of an internal Service is told of, once, and stays.
//
//proves:89
func TestFloatingIPThatSomebodyPutsOnAnInternalServiceIsToldAndStays(t *testing.T) {
	t.Parallel()
	const event = "LoadBalancerForeignFloatingIP"
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(3), service("web", 1)
	svc.Annotations[annotation.Internal] = "true"
	w.ensure(svc, nodes[:2])
	w.writeDown(svc)
	fip := w.floatingIP("", "mine")
	if _, err := w.cloud.Neutron.AssociateFloatingIP(fip.ID, w.loadBalancer().VIP.PortID, ""); err != nil {
		t.Fatal(err)
	}
	stays := func() {
		t.Helper()
		all := w.cloud.Neutron.FloatingIPs()
		if len(all) != 1 || all[0].PortID != w.loadBalancer().VIP.PortID {
			t.Errorf("floating IPs %+v: want somebody's on the VIP", all)
		}
		if got, want := svc.Status.LoadBalancer.Ingress[0].IP, w.loadBalancer().VIP.Address; got != want {
			t.Errorf("published %s, want the VIP %s", got, want)
		}
	}
	w.repair(svc, nodes[:2])
	if told := w.told(); strings.Count(told, event) != 1 || !strings.Contains(told, fip.Address) {
		t.Errorf("events %q, want one %s with %s", told, event, fip.Address)
	}
	stays()
	w.cloud.Books.Reset()
	w.ensure(svc, nodes) // a node comes
	if reads := w.cloud.Books.Requests(books.Reads(), func(r books.Request) bool { return r.Route == fipRoute }); len(reads) > 0 {
		t.Errorf("the floating IP is read again:\n%s", printed(reads))
	}
	w.restart()
	w.ensure(svc, nodes[1:]) // from what was written down before it came
	if told := w.told(); strings.Count(told, event) != 1 {
		t.Errorf("after a restart, events %q, want one %s", told, event)
	}
	stays()
	w.writeDown(svc)
	w.restart()
	w.unchanged(svc, nodes[1:])
	delete(svc.Annotations, annotation.Fingerprint)
	w.unchanged(svc, nodes[1:])
	stays()
	// A look finds that it is gone, and that is all.
	if _, err := w.cloud.Neutron.AssociateFloatingIP(fip.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	w.cloud.Books.Reset()
	w.repair(svc, nodes[1:])
	w.writes(0)
}

// A floating IP of the user's own that the Service asked for goes off when the Service
// turns internal, also when a host name was published.
func TestFloatingIPThatWasAskedForIsTakenOffAnInternalService(t *testing.T) {
	t.Parallel()
	for _, hostname := range []string{"", "web.example.org"} {
		t.Run(hostname, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{})
			nodes, svc := w.nodes(2), service("web", 1)
			svc.Spec.LoadBalancerIP = w.floatingIP("", "mine").Address
			if hostname != "" {
				svc.Annotations[annotation.Hostname] = hostname
			}
			w.ensure(svc, nodes)
			w.writeDown(svc)
			svc.Spec.LoadBalancerIP = ""
			svc.Annotations[annotation.Internal] = "true"
			w.ensure(svc, nodes)
			if all := w.cloud.Neutron.FloatingIPs(); len(all) != 1 || all[0].PortID != "" {
				t.Errorf("floating IPs %+v: want one on no port", all)
			}
			w.unchanged(svc, nodes)
		})
	}
}

// What was written down is not believed of a load balancer that is not at rest, nor
// after a change that was begun and perhaps not ended, nor beside a second one.
func TestWhatWasWrittenDownIsReadAgainWhereItMayNotHold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*world, *v1.Service, []*v1.Node)
		told  string // in the error, or "" where all is well in the end
	}{
		"the load balancer is in ERROR, since the same second": {func(w *world, svc *v1.Service, _ []*v1.Node) {
			if err := w.cloud.Octavia.SetProvisioningStatus(w.loadBalancer().ID, octavia.Error); err != nil {
				w.t.Fatal(err)
			}
			words := strings.Fields(svc.Annotations[annotation.Fingerprint])
			words[1] = w.loadBalancer().UpdatedAt.UTC().Format(time.RFC3339Nano)
			svc.Annotations[annotation.Fingerprint] = strings.Join(words, " ")
			w.restart()
		}, "is in ERROR"},
		"a change of this process was begun and refused": {func(w *world, svc *v1.Service, nodes []*v1.Node) {
			w.cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: "/load-balancer/v2.0/lbaas/pools/{id}/members", Status: http.StatusBadRequest, Count: 1})
			if _, err := w.engine.Ensure(w.ctx, svc, nodes); err == nil {
				w.t.Error("the change was not refused")
			}
		}, ""},
		"there is a second one of its name": {func(w *world, _ *v1.Service, _ []*v1.Node) {
			lb := w.loadBalancer()
			if _, err := octaviaAsSomebodyElse(w.t, w).Octavia().CreateLoadBalancer(w.ctx, loadbalancers.CreateOpts{Name: lb.Name, Tags: lb.Tags, VipSubnetID: lb.VIP.SubnetID}); err != nil {
				w.t.Fatal(err)
			}
			w.loadBalancers(2)
			w.restart()
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{})
			nodes, svc := w.nodes(3), service("web", 1)
			w.ensure(svc, nodes[:2])
			w.writeDown(svc)
			c.spoil(w, svc, nodes)
			w.cloud.Books.Reset()
			if _, err := w.engine.Ensure(w.ctx, svc, nodes[:2]); c.told == "" && err != nil || c.told != "" && (err == nil || !strings.Contains(err.Error(), c.told)) {
				t.Errorf("error %v, want %q", err, c.told)
			}
			if reads := w.contentReads(); len(reads) == 0 {
				t.Error("the load balancer was not read")
			}
		})
	}
}
