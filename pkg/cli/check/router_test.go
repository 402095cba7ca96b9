package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/check"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// Provider router is checked by its network, in a cloud without Octavia, and not compared with Octavia's providers.
//
//proves:140
func TestCheck_OfProviderRouterNeedsNoOctavia(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	e.without("load-balancer", "key-manager")
	network := e.cloud.Neutron.AddNetwork(neutron.NetworkSpec{Name: "vips", ProjectID: e.cloud.Account.ProjectID})
	subnet, err := e.cloud.Neutron.AddSubnet(neutron.SubnetSpec{NetworkID: network.ID, CIDR: "127.101.0.0/24"})
	if err == nil {
		err = e.cloud.Neutron.AddRouterInterface(e.cloud.Router.ID, subnet.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	e.set("lb-provider=router")
	if got := e.check(nil); got.ExitCode() != check.ExitWrong || !strings.Contains(text(t, got), "needs router-vip-network-id") {
		t.Errorf("without a network:\n%s", text(t, got))
	}
	e.set("router-vip-network-id=" + network.ID)
	got := e.check(nil)
	shown := text(t, got)
	if got.ExitCode() != check.ExitGood {
		t.Errorf("exit code %d:\n%s", got.ExitCode(), shown)
	}
	for _, want := range []string{"routes of router " + e.cloud.Router.ID, "127.101.0.0/24", "the nodes whose default gateway is router"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in\n%s", want, shown)
		}
	}
	if !slices.ContainsFunc(got.Findings, func(f check.Finding) bool { return slices.Contains(f.Rules, "delete_port") }) {
		t.Errorf("the right to delete ports is missing in\n%s", shown)
	}
}

// The network of VIPs is checked although Octavia serves the Services that name no provider.
func TestCheck_OfNetworkOfRouterVIPs(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{Topology: simulator.Topology{RouterVIPCIDR: "127.101.0.0/24"}})
	e.set("router-vip-network-id=" + e.cloud.RouterVIPs.ID)
	if got := e.check(nil); got.ExitCode() != check.ExitGood || !strings.Contains(text(t, got), "by routes of router "+e.cloud.Router.ID) {
		t.Errorf("exit code %d:\n%s", got.ExitCode(), text(t, got))
	}
	e.set("router-vip-network-id=00000000-0000-4000-8000-000000000000")
	if got := e.check(nil); got.ExitCode() != check.ExitWrong || !strings.Contains(text(t, got), "Services with this provider would be refused: ") {
		t.Errorf("of a network that does not exist, exit code %d:\n%s", got.ExitCode(), text(t, got))
	}
}

// Provider port-forwarding is checked by the extension of Neutron and the rights, in a cloud without Octavia.
//
//proves:140
func TestCheck_OfProviderPortForwardingNeedsServicePlugin(t *testing.T) {
	t.Parallel()
	for _, lacks := range []bool{false, true} {
		e := newEnvironment(t, simulator.Options{Neutron: func(o *neutron.Options) {
			o.Extensions = slices.DeleteFunc(neutron.DefaultExtensions(), func(alias string) bool { return lacks && strings.Contains(alias, "port-forwarding") })
		}})
		e.without("load-balancer", "key-manager")
		e.set("lb-provider=port-forwarding")
		got := e.check(nil)
		shown := text(t, got)
		if lacks {
			if got.ExitCode() != check.ExitWrong || !strings.Contains(shown, "needs the service plug-in port_forwarding") {
				t.Errorf("without the extension, exit code %d:\n%s", got.ExitCode(), shown)
			}
			continue
		}
		if got.ExitCode() != check.ExitGood || !strings.Contains(shown, "floating IPs with port forwardings") {
			t.Errorf("exit code %d:\n%s", got.ExitCode(), shown)
		}
		if !slices.ContainsFunc(got.Findings, func(f check.Finding) bool { return slices.Contains(f.Rules, "update_floatingip_port_forwarding") }) {
			t.Errorf("the right to change port forwardings is missing in\n%s", shown)
		}
	}
}
