package garbage_test

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// vips makes the network of the VIPs of provider router, on the router of the nodes.
func (env *environment) vips() {
	env.T.Helper()
	network := env.Cloud.Neutron.AddNetwork(simneutron.NetworkSpec{Name: "vips", ProjectID: env.Cloud.Account.ProjectID})
	subnet, err := env.Cloud.Neutron.AddSubnet(simneutron.SubnetSpec{NetworkID: network.ID, CIDR: "127.101.0.0/24"})
	env.check(err)
	env.check(env.Cloud.Neutron.AddRouterInterface(env.Cloud.Router.ID, subnet.ID))
	env.Conf.LoadBalancer.RouterVIPNetworkID = network.ID
}

// route makes the VIP of a Service of provider router.
func (c *cluster) route(name string, uid int) *v1.Service {
	c.env.T.Helper()
	svc := serviceOf(name, uid)
	svc.Annotations[annotation.Provider] = "router"
	_, err := c.engine.Ensure(c.env.ctx, svc, []*v1.Node{c.node})
	c.env.check(err)
	return svc
}

// The VIPs of a deleted cluster are removed with their floating IPs and routes, also if cloud.conf has no network for
// them any more; those of another cluster on the same router stay.
//
//proves:140
func TestRun_RemovesVIPsOfOneCluster(t *testing.T) {
	t.Parallel()
	for _, query := range []garbage.Query{{ClusterID: deadID}, {ClusterName: "dead"}} {
		env := newEnvironment(t)
		env.vips()
		env.cluster(livingID, "living").route("web", 1)
		dead := env.cluster(deadID, "dead")
		var node string
		for key, object := range env.books() {
			if strings.HasPrefix(key, "port ") && strings.Contains(object, `"127.100.1.12"`) {
				node = key
			}
		}
		before := env.books()
		dead.route("web", 2)
		dead.route("api", 3)

		env.Cloud.RequestLog.Reset()
		listed := env.cleaned(garbage.Options{Query: query}, garbage.ExitFound)
		if got := count(listed, garbage.Found); got != 6 || env.writes() > 0 {
			t.Errorf("%d writes, found %q", env.writes(), words(listed.Items))
		}
		running := env.cleaned(garbage.Options{Query: query, Remove: true, Nova: env.session.Nova()}, garbage.ExitUnclear)
		if env.writes() > 0 || !strings.Contains(running.Items[0].Why, "of VIP 127.101.0.") {
			t.Errorf("%d writes while a next hop runs: %+v", env.writes(), running.Items)
		}
		env.cleaned(garbage.Options{Query: query, Remove: true}, garbage.ExitClean)
		env.became(before, node) // it keeps the address pair
		env.cleaned(garbage.Options{Query: query, Remove: true}, garbage.ExitNotCarried)
	}
}

// A port that a server uses by now stays, and so does one with the name of a VIP only.
func TestList_LeavesPortsThatAreNoVIPs(t *testing.T) {
	t.Parallel()
	who := of(deadID, "dead", "web")
	ports := garbage.Inventory{VIPs: []neutron.VIPPort{{ID: "bound", Tags: who.Tags(), DeviceOwner: "compute:nova"}, {ID: "mine", Name: who.Name()}}}
	_, items := garbage.List(ports, garbage.Query{ClusterID: deadID, ClusterName: "dead"})
	if got := words(items); !slices.Equal(got, []string{"left-alone vip bound"}) {
		t.Errorf("got %q", got)
	}
}

// The floating IPs of a deleted cluster are removed with their port forwardings, unless their targets run; those of
// another cluster stay.
//
//proves:140
func TestRun_RemovesPortForwardingsOfOneCluster(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	forward := func(c *cluster, name string, uid int, nodePort int32) {
		svc := serviceOf(name, uid)
		svc.Annotations[annotation.Provider] = "port-forwarding"
		for i := range svc.Spec.Ports {
			svc.Spec.Ports[i].NodePort = nodePort + int32(i)
		}
		_, err := c.engine.Ensure(env.ctx, svc, []*v1.Node{c.node})
		env.check(err)
	}
	forward(env.cluster(livingID, "living"), "web", 1, 30100)
	dead := env.cluster(deadID, "dead")
	before := env.books()
	forward(dead, "web", 2, 30200)

	env.Cloud.RequestLog.Reset()
	query := garbage.Query{ClusterID: deadID}
	running := env.cleaned(garbage.Options{Query: query, Remove: true, Nova: env.session.Nova()}, garbage.ExitUnclear)
	if env.writes() > 0 || !strings.Contains(running.Items[0].Why, "of floating IP ") {
		t.Errorf("%d writes while a target runs: %+v", env.writes(), running.Items)
	}
	env.cleaned(garbage.Options{Query: query, Remove: true}, garbage.ExitClean)
	env.became(before)
	env.cleaned(garbage.Options{Query: query, Remove: true}, garbage.ExitNotCarried)
}
