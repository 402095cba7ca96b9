package neutron_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/openstack/utils"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

func TestNetworks_ShowTenantsExternalOneButNotItsSubnets(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	if got := env.names("/v2.0/networks?router:external=true"); !slices.Equal(got, []string{"ext-net"}) {
		t.Errorf("external networks are %v", got)
	}
	network, err := networks.Get(t.Context(), env.member(), env.external.ID).Extract()
	must(t, err)
	if !slices.Equal(network.Subnets, []string{env.outside.ID}) {
		t.Errorf("subnets of the external network are %v", network.Subnets)
	}
	if got := env.names("/v2.0/subnets"); !slices.Equal(got, []string{"k8s-subnet", "k8s-subnet6"}) {
		t.Errorf("subnets are %v", got)
	}
	env.refused(http.MethodGet, "/v2.0/subnets/"+env.outside.ID, nil, 404, "SubnetNotFound")
	if _, err := subnets.Get(t.Context(), env.client(admin, "admin"), env.outside.ID).Extract(); err != nil {
		t.Errorf("the administrator got %v", err)
	}

	open := newEnvironment(t, neutron.Options{ExternalSubnetsVisible: true})
	if _, err := subnets.Get(t.Context(), open.member(), open.outside.ID).Extract(); err != nil {
		t.Errorf("a tenant of an open cloud got %v", err)
	}
}

func TestNetworks_AreSeenByAllWhenSharedElseByOwner(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	shared := env.AddNetwork(neutron.NetworkSpec{ProjectID: other, Name: "shared", Shared: true})
	env.addSubnet(neutron.SubnetSpec{NetworkID: shared.ID, Name: "shared-subnet", CIDR: "10.20.0.0/24"})
	private := env.AddNetwork(neutron.NetworkSpec{ProjectID: other, Name: "private"})
	hidden := env.addSubnet(neutron.SubnetSpec{NetworkID: private.ID, Name: "private-subnet", CIDR: "10.21.0.0/24"})
	if got := env.names("/v2.0/networks"); !slices.Equal(got, []string{"ext-net", "k8s-net", "shared"}) {
		t.Errorf("networks are %v", got)
	}
	if got := env.names("/v2.0/subnets?ip_version=4"); !slices.Equal(got, []string{"k8s-subnet", "shared-subnet"}) {
		t.Errorf("subnets are %v", got)
	}
	env.refused(http.MethodGet, "/v2.0/networks/"+private.ID, nil, 404, "NetworkNotFound")
	env.refused(http.MethodGet, "/v2.0/subnets/"+hidden.ID, nil, 404, "SubnetNotFound")
}

func TestSubnets_HavePoolsAroundGateway(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	for cidr, want := range map[string][]subnets.AllocationPool{
		"10.1.0.0/24":   {{Start: "10.1.0.2", End: "10.1.0.254"}},
		"2001:db8::/64": {{Start: "2001:db8::2", End: "2001:db8::ffff:ffff:ffff:ffff"}},
		"10.3.0.128/26": {{Start: "10.3.0.130", End: "10.3.0.190"}},
	} {
		added := env.addSubnet(neutron.SubnetSpec{NetworkID: env.inside.ID, CIDR: cidr})
		got, err := subnets.Get(t.Context(), env.member(), added.ID).Extract()
		must(t, err)
		if !cmp.Equal(got.AllocationPools, want) {
			t.Errorf("pools of %s are %v, want %v", cidr, got.AllocationPools, want)
		}
	}
	middle := env.addSubnet(neutron.SubnetSpec{NetworkID: env.inside.ID, CIDR: "10.4.0.0/29", GatewayIP: "10.4.0.4"})
	if want := []neutron.AddressRange{{Start: "10.4.0.1", End: "10.4.0.3"}, {Start: "10.4.0.5", End: "10.4.0.6"}}; !cmp.Equal(middle.Pools, want) {
		t.Errorf("pools are %v, want %v", middle.Pools, want)
	}
	isolated := env.addSubnet(neutron.SubnetSpec{NetworkID: env.inside.ID, CIDR: "10.5.0.0/29", GatewayIP: "none"})
	if isolated.GatewayIP != "" || isolated.Pools[0].Start != "10.5.0.1" {
		t.Errorf("subnet without gateway is %+v", isolated)
	}
}

func TestSubnets_AreRefusedWhenInvalid(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	for name, spec := range map[string]neutron.SubnetSpec{
		"no CIDR":          {NetworkID: env.inside.ID},
		"no address":       {NetworkID: env.inside.ID, CIDR: "10.0.0.0/8", Pools: []neutron.AddressRange{{Start: "a", End: "10.0.0.2"}}},
		"no end":           {NetworkID: env.inside.ID, CIDR: "10.0.0.0/8", Pools: []neutron.AddressRange{{Start: "10.0.0.2"}}},
		"pool outside":     {NetworkID: env.inside.ID, CIDR: "10.0.0.0/8", Pools: []neutron.AddressRange{{Start: "11.0.0.2", End: "11.0.0.3"}}},
		"pool upside down": {NetworkID: env.inside.ID, CIDR: "10.0.0.0/8", Pools: []neutron.AddressRange{{Start: "10.0.0.9", End: "10.0.0.3"}}},
	} {
		t.Log(name)
		_, err := env.AddSubnet(spec)
		refusal(t, err, 400, "InvalidInput")
	}
	_, err := env.AddSubnet(neutron.SubnetSpec{NetworkID: "nope", CIDR: "10.0.0.0/8"})
	refusal(t, err, 404, "NetworkNotFound")
}

func TestVersions_AreServedWithoutToken(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	client := env.client("")
	for _, endpoint := range []string{"/network/", "/network"} {
		versions, err := utils.GetServiceVersions(t.Context(), client.ProviderClient, env.server.URL+endpoint, false)
		if err != nil || len(versions) != 1 || versions[0].Major != 2 {
			t.Errorf("versions at %s are %+v %v", endpoint, versions, err)
		}
	}
	_, answer := env.call(http.MethodGet, "/", nil)
	version := answer["versions"].([]any)[0].(map[string]any)
	if href := version["links"].([]any)[0].(map[string]any)["href"]; href != env.server.URL+"/network/v2.0/" || version["status"] != "CURRENT" {
		t.Errorf("version is %v", version)
	}
}

func TestExtensions_AreAnnounced(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{Extensions: []string{"security-group", "revision-if-match"}})
	_, answer := env.call(http.MethodGet, "/v2.0/extensions", nil)
	if got := len(answer["extensions"].([]any)); got != 2 {
		t.Errorf("%d extensions", got)
	}
	if status, _ := env.call(http.MethodGet, "/v2.0/extensions/revision-if-match", nil); status != http.StatusOK {
		t.Errorf("a known extension answered %d", status)
	}
	if status, text := env.text(http.MethodGet, "/v2.0/extensions/teleport"); status != http.StatusNotFound || !strings.Contains(text, "alias teleport does not exist") {
		t.Errorf("an unknown extension answered %d %q", status, text)
	}
}

func TestQuotas_AreShownWithTheirUse(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	env.SetQuota(project, "floatingip", 7)
	quota, err := quotas.Get(t.Context(), env.member(), project).Extract()
	must(t, err)
	if quota.FloatingIP != 7 || quota.Port != 500 {
		t.Errorf("quota is %+v", quota)
	}
	use, err := quotas.GetDetail(t.Context(), env.member(), project).Extract()
	must(t, err)
	if use.Port.Used != 2 || use.Port.Limit != 500 { // the router's interfaces
		t.Errorf("port use is %+v", use.Port)
	}
	if _, err := quotas.Get(t.Context(), env.member(), other).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		t.Errorf("another project's quota answered %v", err)
	}
	_, answer := env.call(http.MethodGet, "/v2.0/quotas/"+project+"/default", nil)
	if got := answer["quota"].(map[string]any)["floatingip"]; got != 50.0 {
		t.Errorf("default quota is %v", got)
	}
}

func TestAnswers_WrapErrorsInEnvelopeOfNeutron(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	env.refused(http.MethodGet, "/v2.0/nonsense", nil, 404, "HTTPNotFound")
	env.refused(http.MethodGet, "/v2.0/nonsense/x/tags", nil, 404, "HTTPNotFound")
	env.refused(http.MethodPost, "/v2.0/ports", map[string]any{"floatingip": map[string]any{}}, 400, "HTTPBadRequest")
	env.refused(http.MethodPost, "/v2.0/ports", "text", 400, "HTTPBadRequest")
	env.refused(http.MethodPost, "/v2.0/ports", map[string]any{"port": map[string]any{"name": 5}}, 400, "HTTPBadRequest")
}

func TestNeutron_ShowsSameObjectsInGoAsInAPI(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	network, err := env.Network(env.inside.ID)
	if err != nil || !slices.Equal(network.SubnetIDs, []string{env.subnet.ID, env.subnetIPv6.ID}) {
		t.Errorf("network is %+v %v", network, err)
	}
	subnet, err := env.Subnet(env.subnetIPv6.ID)
	if err != nil || subnet.IPVersion != 6 || subnet.GatewayIP != "fd00:6::1" {
		t.Errorf("subnet is %+v %v", subnet, err)
	}
	_, err = env.Network("nope")
	refusal(t, err, 404, "NetworkNotFound")
	_, err = env.Subnet("nope")
	refusal(t, err, 404, "SubnetNotFound")
	_, err = env.Port("nope")
	refusal(t, err, 404, "PortNotFound")
	_, err = env.UpdatePort("nope", neutron.PortUpdate{})
	refusal(t, err, 404, "PortNotFound")
	refusal(t, env.DeletePort("nope"), 404, "PortNotFound")
	refusal(t, env.ReleaseFloatingIP("nope"), 404, "FloatingIPNotFound")
	refusal(t, env.DeleteSecurityGroup("nope"), 404, "SecurityGroupNotFound")
	_, err = env.AssociateFloatingIP("nope", "", "")
	refusal(t, err, 404, "FloatingIPNotFound")
	_, err = env.AddSecurityGroupRules("nope")
	refusal(t, err, 404, "SecurityGroupNotFound")
	if len(env.Networks()) != 2 || len(env.Subnets()) != 3 || !strings.Contains(err.Error(), "404 SecurityGroupNotFound") {
		t.Errorf("%d networks, %d subnets, %v", len(env.Networks()), len(env.Subnets()), err)
	}
}
