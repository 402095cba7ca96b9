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

func TestTenantsSeeTheExternalNetworkButNotItsSubnets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{})
	if got := w.names("/v2.0/networks?router:external=true"); !slices.Equal(got, []string{"ext-net"}) {
		t.Errorf("external networks are %v", got)
	}
	network, err := networks.Get(t.Context(), w.member(), w.external.ID).Extract()
	must(t, err)
	if !slices.Equal(network.Subnets, []string{w.outside.ID}) {
		t.Errorf("subnets of the external network are %v", network.Subnets)
	}
	if got := w.names("/v2.0/subnets"); !slices.Equal(got, []string{"k8s-subnet", "k8s-subnet6"}) {
		t.Errorf("subnets are %v", got)
	}
	w.refused(http.MethodGet, "/v2.0/subnets/"+w.outside.ID, nil, 404, "SubnetNotFound")
	if _, err := subnets.Get(t.Context(), w.client(admin, "admin"), w.outside.ID).Extract(); err != nil {
		t.Errorf("the administrator got %v", err)
	}

	open := newWorld(t, neutron.Options{ExternalSubnetsVisible: true})
	if _, err := subnets.Get(t.Context(), open.member(), open.outside.ID).Extract(); err != nil {
		t.Errorf("a tenant of an open cloud got %v", err)
	}
}

func TestSharedNetworksAreSeenByAllAndOthersByTheirOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{})
	shared := w.AddNetwork(neutron.NetworkSpec{ProjectID: other, Name: "shared", Shared: true})
	w.addSubnet(neutron.SubnetSpec{NetworkID: shared.ID, Name: "shared-subnet", CIDR: "10.20.0.0/24"})
	private := w.AddNetwork(neutron.NetworkSpec{ProjectID: other, Name: "private"})
	hidden := w.addSubnet(neutron.SubnetSpec{NetworkID: private.ID, Name: "private-subnet", CIDR: "10.21.0.0/24"})
	if got := w.names("/v2.0/networks"); !slices.Equal(got, []string{"ext-net", "k8s-net", "shared"}) {
		t.Errorf("networks are %v", got)
	}
	if got := w.names("/v2.0/subnets?ip_version=4"); !slices.Equal(got, []string{"k8s-subnet", "shared-subnet"}) {
		t.Errorf("subnets are %v", got)
	}
	w.refused(http.MethodGet, "/v2.0/networks/"+private.ID, nil, 404, "NetworkNotFound")
	w.refused(http.MethodGet, "/v2.0/subnets/"+hidden.ID, nil, 404, "SubnetNotFound")
}

func TestASubnetHasPoolsAroundItsGateway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{})
	for cidr, want := range map[string][]subnets.AllocationPool{
		"10.1.0.0/24":   {{Start: "10.1.0.2", End: "10.1.0.254"}},
		"2001:db8::/64": {{Start: "2001:db8::2", End: "2001:db8::ffff:ffff:ffff:ffff"}},
		"10.3.0.128/26": {{Start: "10.3.0.130", End: "10.3.0.190"}},
	} {
		added := w.addSubnet(neutron.SubnetSpec{NetworkID: w.inside.ID, CIDR: cidr})
		got, err := subnets.Get(t.Context(), w.member(), added.ID).Extract()
		must(t, err)
		if !cmp.Equal(got.AllocationPools, want) {
			t.Errorf("pools of %s are %v, want %v", cidr, got.AllocationPools, want)
		}
	}
	middle := w.addSubnet(neutron.SubnetSpec{NetworkID: w.inside.ID, CIDR: "10.4.0.0/29", GatewayIP: "10.4.0.4"})
	if want := []neutron.AddressRange{{Start: "10.4.0.1", End: "10.4.0.3"}, {Start: "10.4.0.5", End: "10.4.0.6"}}; !cmp.Equal(middle.Pools, want) {
		t.Errorf("pools are %v, want %v", middle.Pools, want)
	}
	isolated := w.addSubnet(neutron.SubnetSpec{NetworkID: w.inside.ID, CIDR: "10.5.0.0/29", GatewayIP: "none"})
	if isolated.GatewayIP != "" || isolated.Pools[0].Start != "10.5.0.1" {
		t.Errorf("subnet without gateway is %+v", isolated)
	}
}

func TestASubnetThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{})
	for name, spec := range map[string]neutron.SubnetSpec{
		"no CIDR":          {NetworkID: w.inside.ID},
		"no address":       {NetworkID: w.inside.ID, CIDR: "10.0.0.0/8", Pools: []neutron.AddressRange{{Start: "a", End: "10.0.0.2"}}},
		"no end":           {NetworkID: w.inside.ID, CIDR: "10.0.0.0/8", Pools: []neutron.AddressRange{{Start: "10.0.0.2"}}},
		"pool outside":     {NetworkID: w.inside.ID, CIDR: "10.0.0.0/8", Pools: []neutron.AddressRange{{Start: "11.0.0.2", End: "11.0.0.3"}}},
		"pool upside down": {NetworkID: w.inside.ID, CIDR: "10.0.0.0/8", Pools: []neutron.AddressRange{{Start: "10.0.0.9", End: "10.0.0.3"}}},
	} {
		t.Log(name)
		_, err := w.AddSubnet(spec)
		refusal(t, err, 400, "InvalidInput")
	}
	_, err := w.AddSubnet(neutron.SubnetSpec{NetworkID: "nope", CIDR: "10.0.0.0/8"})
	refusal(t, err, 404, "NetworkNotFound")
}

func TestTheRootTellsTheVersionWithoutAToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{})
	client := w.client("")
	for _, endpoint := range []string{"/network/", "/network"} {
		versions, err := utils.GetServiceVersions(t.Context(), client.ProviderClient, w.server.URL+endpoint, false)
		if err != nil || len(versions) != 1 || versions[0].Major != 2 {
			t.Errorf("versions at %s are %+v %v", endpoint, versions, err)
		}
	}
	_, answer := w.call(http.MethodGet, "/", nil)
	version := answer["versions"].([]any)[0].(map[string]any)
	if href := version["links"].([]any)[0].(map[string]any)["href"]; href != w.server.URL+"/network/v2.0/" || version["status"] != "CURRENT" {
		t.Errorf("version is %v", version)
	}
}

func TestExtensionsAreAnnounced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{Extensions: []string{"security-group", "revision-if-match"}})
	_, answer := w.call(http.MethodGet, "/v2.0/extensions", nil)
	if got := len(answer["extensions"].([]any)); got != 2 {
		t.Errorf("%d extensions", got)
	}
	if status, _ := w.call(http.MethodGet, "/v2.0/extensions/revision-if-match", nil); status != http.StatusOK {
		t.Errorf("a known extension answered %d", status)
	}
	if status, text := w.text(http.MethodGet, "/v2.0/extensions/teleport"); status != http.StatusNotFound || !strings.Contains(text, "alias teleport does not exist") {
		t.Errorf("an unknown extension answered %d %q", status, text)
	}
}

func TestQuotasAreShownWithTheirUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{})
	w.SetQuota(project, "floatingip", 7)
	quota, err := quotas.Get(t.Context(), w.member(), project).Extract()
	must(t, err)
	if quota.FloatingIP != 7 || quota.Port != 500 {
		t.Errorf("quota is %+v", quota)
	}
	use, err := quotas.GetDetail(t.Context(), w.member(), project).Extract()
	must(t, err)
	if use.Port.Used != 2 || use.Port.Limit != 500 { // the router's interfaces
		t.Errorf("port use is %+v", use.Port)
	}
	if _, err := quotas.Get(t.Context(), w.member(), other).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		t.Errorf("another project's quota answered %v", err)
	}
	_, answer := w.call(http.MethodGet, "/v2.0/quotas/"+project+"/default", nil)
	if got := answer["quota"].(map[string]any)["floatingip"]; got != 50.0 {
		t.Errorf("default quota is %v", got)
	}
}

func TestWhatIsNotThereAnswersInNeutronsEnvelope(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{})
	w.refused(http.MethodGet, "/v2.0/nonsense", nil, 404, "HTTPNotFound")
	w.refused(http.MethodGet, "/v2.0/nonsense/x/tags", nil, 404, "HTTPNotFound")
	w.refused(http.MethodPost, "/v2.0/ports", map[string]any{"floatingip": map[string]any{}}, 400, "HTTPBadRequest")
	w.refused(http.MethodPost, "/v2.0/ports", "text", 400, "HTTPBadRequest")
	w.refused(http.MethodPost, "/v2.0/ports", map[string]any{"port": map[string]any{"name": 5}}, 400, "HTTPBadRequest")
}

func TestTheGoSideSeesWhatTheAPISees(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{})
	network, err := w.Network(w.inside.ID)
	if err != nil || !slices.Equal(network.SubnetIDs, []string{w.subnet.ID, w.subnetIPv6.ID}) {
		t.Errorf("network is %+v %v", network, err)
	}
	subnet, err := w.Subnet(w.subnetIPv6.ID)
	if err != nil || subnet.IPVersion != 6 || subnet.GatewayIP != "fd00:6::1" {
		t.Errorf("subnet is %+v %v", subnet, err)
	}
	_, err = w.Network("nope")
	refusal(t, err, 404, "NetworkNotFound")
	_, err = w.Subnet("nope")
	refusal(t, err, 404, "SubnetNotFound")
	_, err = w.Port("nope")
	refusal(t, err, 404, "PortNotFound")
	_, err = w.UpdatePort("nope", neutron.PortUpdate{})
	refusal(t, err, 404, "PortNotFound")
	refusal(t, w.DeletePort("nope"), 404, "PortNotFound")
	refusal(t, w.ReleaseFloatingIP("nope"), 404, "FloatingIPNotFound")
	refusal(t, w.DeleteSecurityGroup("nope"), 404, "SecurityGroupNotFound")
	_, err = w.AssociateFloatingIP("nope", "", "")
	refusal(t, err, 404, "FloatingIPNotFound")
	_, err = w.AddSecurityGroupRules("nope")
	refusal(t, err, 404, "SecurityGroupNotFound")
	if len(w.Networks()) != 2 || len(w.Subnets()) != 3 || !strings.Contains(err.Error(), "404 SecurityGroupNotFound") {
		t.Errorf("%d networks, %d subnets, %v", len(w.Networks()), len(w.Subnets()), err)
	}
}
