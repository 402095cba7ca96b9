package status_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// vips adds a network for VIPs of provider router.
func (env *environment) vips() {
	env.T.Helper()
	network := env.Cloud.Neutron.AddNetwork(simneutron.NetworkSpec{Name: "vips", ProjectID: env.Cloud.Account.ProjectID})
	subnet, err := env.Cloud.Neutron.AddSubnet(simneutron.SubnetSpec{NetworkID: network.ID, CIDR: "127.101.0.0/24"})
	env.must(err)
	env.must(env.Cloud.Neutron.AddRouterInterface(env.Cloud.Router.ID, subnet.ID))
	env.Conf.LoadBalancer.RouterVIPNetworkID = network.ID
}

// A Service of provider router is shown with its VIP, floating IP and next hop, without a request to Octavia.
//
//proves:140
func TestStatus_ShowsServiceOfProviderRouter(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nil)
	env.vips()
	env.addNodes(1)
	env.served("web", []int32{80}, annotated("provider", "router"))
	env.Cloud.RequestLog.Reset()
	for _, report := range []*status.Report{env.read(t), env.read(t, "web")} {
		if s := report.Services[0]; s.State != status.Good || len(s.Addresses) != 2 || len(s.LoadBalancer.NextHops) != 1 || s.LoadBalancer.NextHops[0].Node != "node-0" {
			t.Errorf("%+v: %+v", s, s.LoadBalancer)
		}
	}
	if shown := text(t, env.read(t, "web")); !strings.Contains(shown, "next hop") || !strings.Contains(shown, "node-0  127.100.1.10") {
		t.Errorf("shown is\n%s", shown)
	}
	if sent := env.Cloud.RequestLog.Requests(requestlog.Under("/load-balancer/v2.0/lbaas")); len(sent) > 0 {
		t.Errorf("requests to Octavia: %v", sent)
	}
	env.must(env.Cloud.Neutron.SetRoutes(env.Cloud.Router.ID, nil))
	if s := env.read(t, "web").Services[0]; s.State != status.Failed || s.Problems[0].Text != "no route leads to the VIP" {
		t.Errorf("%+v", s)
	}
}

// A Service of provider port-forwarding is shown with its floating IP and node, without a request to Octavia.
//
//proves:140
func TestStatus_ShowsServiceOfProviderPortForwarding(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nil)
	env.addNodes(1)
	env.served("web", []int32{80, 81}, annotated("provider", "port-forwarding"))
	env.Cloud.RequestLog.Reset()
	for _, report := range []*status.Report{env.read(t), env.read(t, "web")} {
		s := report.Services[0]
		if s.State != status.Good || len(s.Addresses) != 1 || len(s.LoadBalancer.NextHops) != 1 || s.LoadBalancer.NextHops[0].Node != "node-0" || len(s.LoadBalancer.FloatingIPs) != 1 {
			t.Errorf("%+v: %+v", s, s.LoadBalancer)
		}
	}
	if sent := env.Cloud.RequestLog.Requests(requestlog.Under("/load-balancer/v2.0/lbaas")); len(sent) > 0 {
		t.Errorf("requests to Octavia: %v", sent)
	}
	fip := env.Cloud.Neutron.FloatingIPs()[0].ID
	env.must(env.Cloud.Neutron.RemoveForwarding(fip, env.Cloud.Neutron.Forwardings(fip)[0].ID))
	if s := env.read(t, "web").Services[0]; s.State != status.Failed || s.Problems[0].Text != "port TCP/80 is not forwarded" {
		t.Errorf("%+v", s)
	}
}

// On a floating IP that the Service requests and shares, only its own port forwardings count.
//
//proves:140
func TestStatus_LeavesOutPortForwardingsOfOthers(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, map[string]string{"deny-annotations": ""})
	env.addNodes(1)
	const address = "127.100.1.99"
	_, err := env.Cloud.AddServer("other", address)
	env.must(err)
	fip, err := env.Cloud.Neutron.CreateFloatingIP(simneutron.FloatingIPSpec{ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Cloud.ExternalNetwork.ID})
	env.must(err)
	forward := func(number int) {
		for _, port := range env.Cloud.Neutron.Ports() {
			if len(port.FixedIPs) > 0 && port.FixedIPs[0].Address == address {
				_, err := env.Cloud.Neutron.AddForwarding(fip.ID, simneutron.Forwarding{Protocol: "tcp", ExternalPort: number, InternalPort: number, PortID: port.ID, Address: address})
				env.must(err)
			}
		}
	}
	forward(22)
	env.served("web", []int32{80}, annotated("provider", "port-forwarding"), annotated("floating-ip-id", fip.ID))
	s := env.read(t, "web").Services[0]
	if lb := s.LoadBalancer; s.State != status.Good || !slices.Equal(lb.ForwardedPorts, []string{"TCP/80"}) || len(lb.NextHops) != 1 || lb.NextHops[0].Node != "node-0" {
		t.Errorf("%+v: %+v", s, s.LoadBalancer)
	}
	for _, f := range env.Cloud.Neutron.Forwardings(fip.ID) {
		if f.ExternalPort == 80 {
			env.must(env.Cloud.Neutron.RemoveForwarding(fip.ID, f.ID))
		}
	}
	forward(80)
	if s := env.read(t, "web").Services[0]; s.State != status.Failed || len(s.Problems) != 1 || s.Problems[0].Text != "port TCP/80 is not forwarded" {
		t.Errorf("%+v", s)
	}
}

// A Service that is refused another provider is shown with the load balancer that still serves it.
//
//proves:140
func TestStatus_ShowsLoadBalancerThatServiceKeepsWhenRefusedAnotherProvider(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"port-forwarding", "router", "amphora"} {
		for _, to := range []string{"port-forwarding", "router", "amphora"} {
			if from == to {
				continue
			}
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, nil)
				env.vips()
				env.addNodes(1)
				svc, _ := env.served("web", []int32{80}, annotated("provider", from))
				annotated("provider", to)(svc)
				if err := env.serve(svc); err == nil {
					t.Fatal("the Service is not refused")
				}
				for _, report := range []*status.Report{env.read(t), env.read(t, "web")} {
					s := report.Services[0]
					if s.State != status.Refused || len(s.Problems) != 1 || s.LoadBalancer == nil || s.LoadBalancer.Provider != from {
						t.Errorf("%+v: %+v", s, s.LoadBalancer)
					}
				}
			})
		}
	}
}

// Port forwardings are read only for a Service that requests them, or is published without another load balancer.
//
//proves:140
func TestStatus_ReadsNoPortForwardingsWhereAnotherLoadBalancerServes(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nil)
	env.vips()
	env.addNodes(1)
	env.served("octavia", []int32{80})
	env.served("routed", []int32{81}, annotated("provider", "router"))
	env.add(env.newService("new", []int32{82}))
	env.Cloud.RequestLog.Reset()
	for _, names := range [][]string{nil, {"octavia"}, {"routed"}, {"new"}} {
		env.read(t, names...)
	}
	for _, sent := range env.Cloud.RequestLog.Requests() {
		if strings.Contains(sent.Path, "port_forwardings") {
			t.Errorf("port forwardings are read: %v", sent)
		}
	}
}
