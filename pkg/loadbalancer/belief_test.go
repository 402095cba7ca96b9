package loadbalancer_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	octaviaapi "github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// For each kind of published address, including a host name, a missing floating IP is found at the
// next start and by the drift watch.
//
//proves:89
func TestFloatingIP_IsReplacedWhenLostBehindHostname(t *testing.T) {
	t.Parallel()
	for _, hostname := range []string{"", "web.example.org"} {
		for _, lost := range []string{"while nothing runs", "later"} {
			t.Run(hostname+" "+lost, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{})
				nodes, svc := env.nodes(2), service("web", 1)
				if hostname != "" {
					svc.Annotations[annotation.Hostname] = hostname
				}
				env.ensure(svc, nodes)
				env.writeDown(svc)
				release := func() {
					if err := env.Cloud.Neutron.ReleaseFloatingIP(env.Cloud.Neutron.FloatingIPs()[0].ID); err != nil {
						t.Fatal(err)
					}
				}
				if lost == "later" {
					env.restart()
					env.ensure(svc, nodes)
					release()
					env.repair(svc, nodes)
				} else {
					release()
					env.restart()
					env.ensure(svc, nodes)
				}
				env.floatingIPs(1)
				env.unchanged(svc, nodes)
			})
		}
	}
}

// One rule holds before and after a restart: a floating IP that another client associates with the
// VIP of an internal Service is reported once, and stays.
//
//proves:89
func TestFloatingIP_OfOthersOnInternalServiceIsReportedAndStays(t *testing.T) {
	t.Parallel()
	const event = "LoadBalancerForeignFloatingIP"
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 1)
	svc.Annotations[annotation.Internal] = "true"
	env.ensure(svc, nodes[:2])
	env.writeDown(svc)
	fip := env.floatingIP("", "mine")
	if _, err := env.Cloud.Neutron.AssociateFloatingIP(fip.ID, env.loadBalancer().VIP.PortID, ""); err != nil {
		t.Fatal(err)
	}
	stays := func() {
		t.Helper()
		all := env.Cloud.Neutron.FloatingIPs()
		if len(all) != 1 || all[0].PortID != env.loadBalancer().VIP.PortID {
			t.Errorf("floating IPs %+v: want somebody's on the VIP", all)
		}
		if got, want := svc.Status.LoadBalancer.Ingress[0].IP, env.loadBalancer().VIP.Address; got != want {
			t.Errorf("published %s, want the VIP %s", got, want)
		}
	}
	env.repair(svc, nodes[:2])
	if emitted := env.emitted(); strings.Count(emitted, event) != 1 || !strings.Contains(emitted, fip.Address) {
		t.Errorf("events %q, want one %s with %s", emitted, event, fip.Address)
	}
	stays()
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes) // a node is added
	if reads := env.Cloud.RequestLog.Requests(requestlog.Reads(), func(r requestlog.Request) bool { return r.Route == fipRoute }); len(reads) > 0 {
		t.Errorf("the floating IP is read again:\n%s", printed(reads))
	}
	env.restart()
	env.ensure(svc, nodes[1:]) // from the record of the time before it was added
	if emitted := env.emitted(); strings.Count(emitted, event) != 1 {
		t.Errorf("after a restart, events %q, want one %s", emitted, event)
	}
	stays()
	env.writeDown(svc)
	env.restart()
	env.unchanged(svc, nodes[1:])
	env.records.Set(svc.UID, "")
	env.unchanged(svc, nodes[1:])
	stays()
	// The next snapshot shows that it is gone. Nothing else happens.
	if _, err := env.Cloud.Neutron.AssociateFloatingIP(fip.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	env.Cloud.RequestLog.Reset()
	env.repair(svc, nodes[1:])
	env.writes(0)
}

// A floating IP of the user that the Service requested is dissociated when the Service becomes
// internal, also if a host name was published.
func TestFloatingIP_NamedByServiceIsTakenOffWhenItTurnsInternal(t *testing.T) {
	t.Parallel()
	for _, hostname := range []string{"", "web.example.org"} {
		t.Run(hostname, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(2), service("web", 1)
			svc.Spec.LoadBalancerIP = env.floatingIP("", "mine").Address
			if hostname != "" {
				svc.Annotations[annotation.Hostname] = hostname
			}
			env.ensure(svc, nodes)
			env.writeDown(svc)
			svc.Spec.LoadBalancerIP = ""
			svc.Annotations[annotation.Internal] = "true"
			env.ensure(svc, nodes)
			if all := env.Cloud.Neutron.FloatingIPs(); len(all) != 1 || all[0].PortID != "" {
				t.Errorf("floating IPs %+v: want one on no port", all)
			}
			env.unchanged(svc, nodes)
		})
	}
}

// A record is not trusted if the load balancer is not at rest, if a change was begun and may not
// have ended, or if there is a second load balancer.
func TestRecord_IsNotTrustedWhereItMayNotHold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil   func(*environment, *v1.Service, []*v1.Node)
		problem string // in the error, or "" if there is none in the end
	}{
		"the load balancer is in ERROR, since the same second": {func(env *environment, svc *v1.Service, _ []*v1.Node) {
			if err := env.Cloud.Octavia.SetProvisioningStatus(env.loadBalancer().ID, octavia.Error); err != nil {
				env.T.Fatal(err)
			}
			words := strings.Fields(env.records.texts[svc.UID])
			words[1] = env.loadBalancer().UpdatedAt.UTC().Format(time.RFC3339Nano)
			env.records.Set(svc.UID, strings.Join(words, " "))
			env.restart()
		}, "is in ERROR"},
		"a change of this process was begun and refused": {func(env *environment, svc *v1.Service, nodes []*v1.Node) {
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: "/load-balancer/v2.0/lbaas/pools/{id}/members", Status: http.StatusBadRequest, Count: 1})
			if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
				env.T.Error("the change was not refused")
			}
		}, ""},
		"there is a second one of its name": {func(env *environment, _ *v1.Service, _ []*v1.Node) {
			lb := env.loadBalancer()
			if _, err := octaviaAsSomebodyElse(env.T, env).Octavia().CreateLoadBalancer(env.ctx, octaviaapi.LoadBalancer{Name: lb.Name, Tags: lb.Tags, VIPSubnetID: lb.VIP.SubnetID}); err != nil {
				env.T.Fatal(err)
			}
			env.loadBalancers(2)
			env.restart()
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(3), service("web", 1)
			env.ensure(svc, nodes[:2])
			env.writeDown(svc)
			c.spoil(env, svc, nodes)
			env.Cloud.RequestLog.Reset()
			if _, err := env.engine.Ensure(env.ctx, svc, nodes[:2]); c.problem == "" && err != nil || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
				t.Errorf("error %v, want %q", err, c.problem)
			}
			if reads := env.contentReads(); len(reads) == 0 {
				t.Error("the load balancer was not read")
			}
		})
	}
}
