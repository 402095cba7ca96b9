package loadbalancer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// elsewhere adds a network of the tenant with a subnet behind the router.
func (env *environment) elsewhere() simneutron.Subnet {
	env.T.Helper()
	network := env.Cloud.Neutron.AddNetwork(simneutron.NetworkSpec{Name: "elsewhere", ProjectID: env.Cloud.Account.ProjectID})
	subnet, err := env.Cloud.Neutron.AddSubnet(simneutron.SubnetSpec{Name: "elsewhere", NetworkID: network.ID, CIDR: "127.110.0.0/16"})
	if err != nil {
		env.T.Fatal(err)
	}
	if err := env.Cloud.Neutron.AddRouterInterface(env.Cloud.Router.ID, subnet.ID); err != nil {
		env.T.Fatal(err)
	}
	return subnet
}

// The change requires a new load balancer. In the beginning nothing permits that.
//
//proves:39,93
func TestReplacement_IsReportedAndDoneWhenPermitted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*environment, *v1.Service)
		emitted string
		address string // of the VIP, if it is known
		check   func(simoctavia.LoadBalancer) bool
	}{
		"flavor": {
			func(_ *environment, svc *v1.Service) { svc.Annotations[annotation.FlavorID] = "big/x4" }, "the flavor stays", "",
			func(lb simoctavia.LoadBalancer) bool { return lb.FlavorID != "" },
		},
		"availability zone": {
			func(_ *environment, svc *v1.Service) { svc.Annotations[annotation.AvailabilityZone] = "az1" }, "the availability zone stays", "",
			func(lb simoctavia.LoadBalancer) bool { return lb.AvailabilityZone == "az1" },
		},
		"subnet": {
			func(env *environment, svc *v1.Service) { svc.Annotations[annotation.SubnetID] = env.elsewhere().ID }, "the subnet of the VIP stays", "127.110.",
			func(simoctavia.LoadBalancer) bool { return true },
		},
		"network": {
			func(env *environment, svc *v1.Service) {
				svc.Annotations[annotation.NetworkID] = env.elsewhere().NetworkID
			}, "the network of the VIP stays", "127.110.",
			func(simoctavia.LoadBalancer) bool { return true },
		},
		"port": {
			func(env *environment, svc *v1.Service) {
				svc.Annotations[annotation.PortID] = env.port("127.100.9.9", "").ID
			}, "the port of the VIP stays", "127.100.9.9",
			func(simoctavia.LoadBalancer) bool { return true },
		},
		"address": {
			func(_ *environment, svc *v1.Service) { svc.Annotations[annotation.VIPAddress] = "127.100.9.9" }, "the address of the VIP stays", "127.100.9.9",
			func(simoctavia.LoadBalancer) bool { return true },
		},
		"provider": {
			func(_ *environment, svc *v1.Service) { svc.Annotations[annotation.Provider] = "ovn" }, "the provider stays", "",
			func(lb simoctavia.LoadBalancer) bool {
				return lb.Provider == "ovn" && lb.Pools[0].Algorithm == "SOURCE_IP_PORT"
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			env.catalogue()
			nodes, svc := env.nodes(2), service("web", 2)
			env.ensure(svc, nodes)
			before, address := env.loadBalancer(), svc.Status.LoadBalancer.Ingress[0].IP
			ports := len(env.Cloud.Neutron.Ports())
			c.change(env, svc)
			env.emitted()
			env.ensure(svc, nodes)
			if emitted := env.emitted(); !strings.Contains(emitted, c.emitted) || !strings.Contains(emitted, `loadbalancer.openstack.org/allow-replace: "true"`) {
				t.Errorf("emitted %q", emitted)
			}
			env.ensure(svc, nodes)
			if emitted := env.emitted(); emitted != "" {
				t.Errorf("emitted again %q", emitted)
			}
			if got := env.loadBalancer(); got.ID != before.ID {
				t.Fatal("it was replaced without permission")
			}

			svc.Annotations[annotation.AllowReplace] = "true"
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			lb := env.loadBalancer()
			if lb.ID == before.ID || !c.check(lb) || !strings.HasPrefix(lb.VIP.Address, c.address) {
				t.Errorf("load balancer %+v", lb)
			}
			env.serves(svc, address)
			env.inOrder("POST loadbalancers", "PUT floatingips/{id}", "DELETE loadbalancers/{id}")
			env.unchanged(svc, nodes)
			delete(svc.Annotations, annotation.AllowReplace)
			env.unchanged(svc, nodes)
			env.delete(svc)
			env.loadBalancers(0)
			env.floatingIPs(0)
			if left := len(env.Cloud.Neutron.Ports()); name != "subnet" && name != "network" && name != "port" && left != ports-2 {
				t.Errorf("%d ports are left of %d", left, ports)
			}
		})
	}
}

// inOrder fails unless these are the first writes of their kinds, in this order.
func (env *environment) inOrder(want ...string) {
	env.T.Helper()
	var got []string
	for _, r := range env.Cloud.RequestLog.Requests(requestlog.Writes()) {
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
		env.T.Errorf("writes %v, want %v", got, want)
	}
}

//proves:93
func TestReplacement_WithoutFloatingIPChangesAddressAndReportsIt(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	env.catalogue()
	nodes, svc := env.nodes(2), service("web", 1)
	svc.Annotations[annotation.Internal] = "true"
	env.ensure(svc, nodes)
	before := svc.Status.LoadBalancer.Ingress[0].IP
	svc.Annotations[annotation.FlavorID], svc.Annotations[annotation.AllowReplace] = "big/x4", "true"
	env.emitted()
	env.ensure(svc, nodes)
	now := svc.Status.LoadBalancer.Ingress[0].IP
	if now != env.loadBalancer().VIP.Address || now == before {
		t.Errorf("published %s, before %s", now, before)
	}
	if emitted := env.emitted(); !strings.Contains(emitted, "The address changed from "+before+" to "+now) {
		t.Errorf("emitted %q", emitted)
	}
	env.unchanged(svc, nodes)
}

// If the VIP can exist only once, the old load balancer is deleted first.
//
//proves:26,27,93
func TestReplacement_KeepsVIPThatServiceAsksFor(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*environment, *v1.Service){
		"port": func(env *environment, svc *v1.Service) {
			svc.Annotations[annotation.PortID] = env.port("127.100.9.9", "").ID
		},
		"address": func(_ *environment, svc *v1.Service) {
			svc.Annotations[annotation.Internal], svc.Spec.LoadBalancerIP = "true", "127.100.9.9"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			env.catalogue()
			nodes, svc := env.nodes(2), service("web", 1)
			ask(env, svc)
			env.ensure(svc, nodes)
			before := svc.Status.LoadBalancer.Ingress[0].IP
			svc.Annotations[annotation.FlavorID], svc.Annotations[annotation.AllowReplace] = "big/x4", "true"
			env.ensure(svc, nodes)
			lb := env.loadBalancer()
			if lb.FlavorID == "" || lb.VIP.Address != "127.100.9.9" || svc.Status.LoadBalancer.Ingress[0].IP != before {
				t.Errorf("published %s, VIP %s, flavor %q", svc.Status.LoadBalancer.Ingress[0].IP, lb.VIP.Address, lb.FlavorID)
			}
			env.unchanged(svc, nodes)
		})
	}
}

// A published load balancer in ERROR is left unchanged, unless it may be replaced.
//
//proves:82
func TestReplacement_OfLoadBalancerInErrorNeedsPermission(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	before, address := env.loadBalancer(), svc.Status.LoadBalancer.Ingress[0].IP
	if err := env.Cloud.Octavia.SetProvisioningStatus(before.ID, simoctavia.Error); err != nil {
		t.Fatal(err)
	}
	env.restart()
	env.refused(svc, nodes, `allow-replace: "true"`)
	svc.Annotations[annotation.AllowReplace] = "true"
	env.ensure(svc, nodes)
	if env.loadBalancer().ID == before.ID {
		t.Error("it is the same")
	}
	env.serves(svc, address)
	env.unchanged(svc, nodes)
}

// A controller is killed at every moment of a replacement, in turn. Then another one completes it,
// or the user reverts the change, or the Service is deleted.
//
//proves:93
func TestCrash_DuringReplacementLeavesOneLoadBalancerWithSameFloatingIP(t *testing.T) {
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
	env := newEnvironment(t, environmentOptions{})
	env.catalogue()
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	address := svc.Status.LoadBalancer.Ingress[0].IP
	if legacy {
		env.asLeftByThePeer()
		svc.Annotations[annotation.LoadBalancerID] = env.loadBalancer().ID
	}
	wanted := svc.DeepCopy()
	wanted.Annotations[annotation.FlavorID], wanted.Annotations[annotation.AllowReplace] = "big/x4", "true"
	if !env.killed(wanted, nodes, n, afterWork) {
		return false
	}
	switch then {
	case "finished":
		env.ensure(wanted, nodes)
		if env.loadBalancer().FlavorID == "" {
			t.Errorf("moment %d: no flavor", n)
		}
		svc = wanted
	case "taken back":
		env.ensure(svc, nodes)
	}
	if then != "deleted" {
		env.serves(svc, address)
		env.unchanged(svc, nodes)
	}
	env.delete(svc)
	env.loadBalancers(0)
	env.floatingIPs(0)
	return true
}

// asLeftByThePeer changes load balancer and floating IP to those that cloud-provider-openstack
// would have created.
func (env *environment) asLeftByThePeer() {
	env.T.Helper()
	lb := env.loadBalancer()
	name := "kube_service_kubernetes_default_web"
	session, err := openstack.NewSession(env.ctx, env.Conf.Global, openstack.SessionOptions{})
	if err != nil {
		env.T.Fatal(err)
	}
	defer session.Close()
	octaviaAPI, err := session.LoadBalancer(env.ctx)
	if err != nil {
		env.T.Fatal(err)
	}
	neutronAPI, err := session.Network(env.ctx)
	if err != nil {
		env.T.Fatal(err)
	}
	for _, write := range []struct {
		client *gophercloud.ServiceClient
		path   string
		body   map[string]any
	}{
		{octaviaAPI, "lbaas/loadbalancers/" + lb.ID, map[string]any{"loadbalancer": map[string]any{"tags": []string{name}}}},
		{octaviaAPI, "lbaas/listeners/" + lb.Listeners[0].ID, map[string]any{"listener": map[string]any{"tags": []string{name}}}},
		{octaviaAPI, "lbaas/pools/" + lb.Pools[0].ID, map[string]any{"pool": map[string]any{"tags": []string{}}}},
		{neutronAPI, "floatingips/" + env.Cloud.Neutron.FloatingIPs()[0].ID, map[string]any{"floatingip": map[string]any{"description": legacyDescription}}},
	} {
		answer, err := write.client.Put(env.ctx, write.client.ServiceURL(write.path), write.body, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
		if err != nil {
			env.T.Fatal(err)
		}
		_ = answer.Body.Close()
		if err := env.Cloud.WaitSettled(env.ctx); err != nil {
			env.T.Fatal(err)
		}
	}
}
