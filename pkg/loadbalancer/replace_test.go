package loadbalancer_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// elsewhere adds a network of the tenant with a subnet that the router knows.
func (w *world) elsewhere() simneutron.Subnet {
	w.t.Helper()
	network := w.cloud.Neutron.AddNetwork(simneutron.NetworkSpec{Name: "elsewhere", ProjectID: w.cloud.Account.ProjectID})
	subnet, err := w.cloud.Neutron.AddSubnet(simneutron.SubnetSpec{Name: "elsewhere", NetworkID: network.ID, CIDR: "127.110.0.0/16"})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cloud.Neutron.AddRouterInterface(w.cloud.Router.ID, subnet.ID); err != nil {
		w.t.Fatal(err)
	}
	return subnet
}

// Only a new load balancer would do. First nothing permits that.
//
//proves:39,93
func TestWhatOnlyANewLoadBalancerWouldDoIsToldAndDoneWhenPermitted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*world, *v1.Service)
		told    string
		address string // of the VIP, when it is known
		check   func(simoctavia.LoadBalancer) bool
	}{
		"flavor": {
			func(_ *world, svc *v1.Service) { svc.Annotations[annotation.FlavorID] = "big/x4" }, "the flavor stays", "",
			func(lb simoctavia.LoadBalancer) bool { return lb.FlavorID != "" },
		},
		"availability zone": {
			func(_ *world, svc *v1.Service) { svc.Annotations[annotation.AvailabilityZone] = "az1" }, "the availability zone stays", "",
			func(lb simoctavia.LoadBalancer) bool { return lb.AvailabilityZone == "az1" },
		},
		"subnet": {
			func(w *world, svc *v1.Service) { svc.Annotations[annotation.SubnetID] = w.elsewhere().ID }, "the subnet of the VIP stays", "127.110.",
			func(simoctavia.LoadBalancer) bool { return true },
		},
		"network": {
			func(w *world, svc *v1.Service) { svc.Annotations[annotation.NetworkID] = w.elsewhere().NetworkID }, "the network of the VIP stays", "127.110.",
			func(simoctavia.LoadBalancer) bool { return true },
		},
		"port": {
			func(w *world, svc *v1.Service) { svc.Annotations[annotation.PortID] = w.port("127.100.9.9", "").ID }, "the port of the VIP stays", "127.100.9.9",
			func(simoctavia.LoadBalancer) bool { return true },
		},
		"address": {
			func(_ *world, svc *v1.Service) { svc.Annotations[annotation.VIPAddress] = "127.100.9.9" }, "the address of the VIP stays", "127.100.9.9",
			func(simoctavia.LoadBalancer) bool { return true },
		},
		"provider": {
			func(_ *world, svc *v1.Service) { svc.Annotations[annotation.Provider] = "ovn" }, "the provider stays", "",
			func(lb simoctavia.LoadBalancer) bool {
				return lb.Provider == "ovn" && lb.Pools[0].Algorithm == "SOURCE_IP_PORT"
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{})
			w.catalogue()
			nodes, svc := w.nodes(2), service("web", 2)
			w.ensure(svc, nodes)
			before, address := w.loadBalancer(), svc.Status.LoadBalancer.Ingress[0].IP
			ports := len(w.cloud.Neutron.Ports())
			c.change(w, svc)
			w.told()
			w.ensure(svc, nodes)
			if told := w.told(); !strings.Contains(told, c.told) || !strings.Contains(told, `loadbalancer.openstack.org/allow-replace: "true"`) {
				t.Errorf("told %q", told)
			}
			w.ensure(svc, nodes)
			if told := w.told(); told != "" {
				t.Errorf("told again %q", told)
			}
			if got := w.loadBalancer(); got.ID != before.ID {
				t.Fatal("it was replaced without permission")
			}

			svc.Annotations[annotation.AllowReplace] = "true"
			w.cloud.Books.Reset()
			w.ensure(svc, nodes)
			lb := w.loadBalancer()
			if lb.ID == before.ID || !c.check(lb) || !strings.HasPrefix(lb.VIP.Address, c.address) {
				t.Errorf("load balancer %+v", lb)
			}
			w.serves(svc, address)
			w.inOrder("POST loadbalancers", "PUT floatingips/{id}", "DELETE loadbalancers/{id}")
			w.unchanged(svc, nodes)
			delete(svc.Annotations, annotation.AllowReplace)
			w.unchanged(svc, nodes)
			w.delete(svc)
			w.loadBalancers(0)
			w.floatingIPs(0)
			if left := len(w.cloud.Neutron.Ports()); name != "subnet" && name != "network" && name != "port" && left != ports-2 {
				t.Errorf("%d ports are left of %d", left, ports)
			}
		})
	}
}

// inOrder fails unless these are the first writes of their kinds, one after another.
func (w *world) inOrder(want ...string) {
	w.t.Helper()
	var got []string
	for _, r := range w.cloud.Books.Requests(books.Writes()) {
		words := strings.Split(r.Route, "/")
		name := r.Method + " " + words[len(words)-1]
		if words[len(words)-1] == "{id}" {
			name = r.Method + " " + words[len(words)-2] + "/{id}"
		}
		if slices.Contains(want, name) {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("writes %v, want %v", got, want)
	}
}

//proves:93
func TestReplacedLoadBalancerWithoutAFloatingIPChangesItsAddressAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	w.catalogue()
	nodes, svc := w.nodes(2), service("web", 1)
	svc.Annotations[annotation.Internal] = "true"
	w.ensure(svc, nodes)
	before := svc.Status.LoadBalancer.Ingress[0].IP
	svc.Annotations[annotation.FlavorID], svc.Annotations[annotation.AllowReplace] = "big/x4", "true"
	w.told()
	w.ensure(svc, nodes)
	now := svc.Status.LoadBalancer.Ingress[0].IP
	if now != w.loadBalancer().VIP.Address || now == before {
		t.Errorf("published %s, before %s", now, before)
	}
	if told := w.told(); !strings.Contains(told, "The address changed from "+before+" to "+now) {
		t.Errorf("told %q", told)
	}
	w.unchanged(svc, nodes)
}

// With a VIP that can be there only once, the old one has to go first.
//
//proves:26,27,93
func TestReplacedLoadBalancerKeepsTheVIPThatTheServiceAsksFor(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*world, *v1.Service){
		"port": func(w *world, svc *v1.Service) { svc.Annotations[annotation.PortID] = w.port("127.100.9.9", "").ID },
		"address": func(_ *world, svc *v1.Service) {
			svc.Annotations[annotation.Internal], svc.Spec.LoadBalancerIP = "true", "127.100.9.9"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{})
			w.catalogue()
			nodes, svc := w.nodes(2), service("web", 1)
			ask(w, svc)
			w.ensure(svc, nodes)
			before := svc.Status.LoadBalancer.Ingress[0].IP
			svc.Annotations[annotation.FlavorID], svc.Annotations[annotation.AllowReplace] = "big/x4", "true"
			w.ensure(svc, nodes)
			lb := w.loadBalancer()
			if lb.FlavorID == "" || lb.VIP.Address != "127.100.9.9" || svc.Status.LoadBalancer.Ingress[0].IP != before {
				t.Errorf("published %s, VIP %s, flavor %q", svc.Status.LoadBalancer.Ingress[0].IP, lb.VIP.Address, lb.FlavorID)
			}
			w.unchanged(svc, nodes)
		})
	}
}

// A published load balancer in ERROR is left alone, unless it may be replaced.
//
//proves:82
func TestLoadBalancerInErrorIsReplacedWhenPermitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	w.ensure(svc, nodes)
	before, address := w.loadBalancer(), svc.Status.LoadBalancer.Ingress[0].IP
	if err := w.cloud.Octavia.SetProvisioningStatus(before.ID, simoctavia.Error); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.refused(svc, nodes, `allow-replace: "true"`)
	svc.Annotations[annotation.AllowReplace] = "true"
	w.ensure(svc, nodes)
	if w.loadBalancer().ID == before.ID {
		t.Error("it is the same")
	}
	w.serves(svc, address)
	w.unchanged(svc, nodes)
}

// Every request of a replacement is, in turn, the last one of a controller that is
// killed, before the cloud has done its work and after. Then another one finishes it,
// or the user wants the old one back, or the Service goes.
//
//proves:93
func TestKilledDuringAReplacementLeavesOneLoadBalancerWithTheSameFloatingIP(t *testing.T) {
	t.Parallel()
	for _, legacy := range []bool{false, true} {
		for _, then := range []string{"finished", "taken back", "deleted"} {
			for _, afterWork := range []bool{false, true} {
				if legacy && !afterWork {
					continue
				}
				t.Run(then, func(t *testing.T) {
					t.Parallel()
					for last := 1; replacementKilledAt(t, last, afterWork, legacy, then); last++ {
						if last > 100 {
							t.Fatal("a replacement takes more than 100 requests")
						}
					}
				})
			}
		}
	}
}

func replacementKilledAt(t *testing.T, n int, afterWork, legacy bool, then string) bool {
	t.Helper()
	w := newWorld(t, worldOptions{})
	w.catalogue()
	nodes, svc := w.nodes(1), service("web", 1)
	w.ensure(svc, nodes)
	address := svc.Status.LoadBalancer.Ingress[0].IP
	if legacy {
		w.asLeftByThePeer()
		svc.Annotations[annotation.LoadBalancerID] = w.loadBalancer().ID
	}
	wanted := svc.DeepCopy()
	wanted.Annotations[annotation.FlavorID], wanted.Annotations[annotation.AllowReplace] = "big/x4", "true"
	w.restart()
	ctx, kill := context.WithCancel(w.ctx)
	defer kill()
	remove := w.cloud.Faults.Add(faults.Rule{Route: "/**", From: n, AfterWork: afterWork, Drop: true})
	go func() {
		for w.cloud.Faults.Hits() == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		kill()
	}()
	_, err := w.engine.Ensure(ctx, wanted, nodes)
	killed := w.cloud.Faults.Hits() > 0
	if killed {
		w.buried()
	}
	remove()
	if !killed {
		return false
	}
	if err == nil {
		t.Fatalf("request %d: Ensure succeeded without an answer", n)
	}
	w.restart()
	switch then {
	case "finished":
		w.ensure(wanted, nodes)
		if w.loadBalancer().FlavorID == "" {
			t.Errorf("request %d: no flavor", n)
		}
		svc = wanted
	case "taken back":
		w.ensure(svc, nodes)
	}
	if then != "deleted" {
		w.serves(svc, address)
		w.unchanged(svc, nodes)
	}
	w.delete(svc)
	w.loadBalancers(0)
	w.floatingIPs(0)
	return true
}

// asLeftByThePeer makes load balancer and floating IP look as if
// cloud-provider-openstack had made them.
func (w *world) asLeftByThePeer() {
	w.t.Helper()
	lb := w.loadBalancer()
	name := "kube_service_kubernetes_default_web"
	session, err := openstack.NewSession(w.ctx, w.conf.Global, openstack.SessionOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer session.Close()
	octaviaAPI, err := session.LoadBalancer(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	neutronAPI, err := session.Network(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, write := range []struct {
		client *gophercloud.ServiceClient
		path   string
		body   map[string]any
	}{
		{octaviaAPI, "lbaas/loadbalancers/" + lb.ID, map[string]any{"loadbalancer": map[string]any{"tags": []string{name}}}},
		{octaviaAPI, "lbaas/listeners/" + lb.Listeners[0].ID, map[string]any{"listener": map[string]any{"tags": []string{name}}}},
		{octaviaAPI, "lbaas/pools/" + lb.Pools[0].ID, map[string]any{"pool": map[string]any{"tags": []string{}}}},
		{neutronAPI, "floatingips/" + w.cloud.Neutron.FloatingIPs()[0].ID, map[string]any{"floatingip": map[string]any{"description": legacyDescription}}},
	} {
		answer, err := write.client.Put(w.ctx, write.client.ServiceURL(write.path), write.body, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
		if err != nil {
			w.t.Fatal(err)
		}
		_ = answer.Body.Close()
		if err := w.cloud.WaitSettled(w.ctx); err != nil {
			w.t.Fatal(err)
		}
	}
}
