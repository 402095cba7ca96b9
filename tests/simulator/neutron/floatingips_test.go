package neutron_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

func floatingIPBody(attributes map[string]any) map[string]any {
	return map[string]any{"floatingip": attributes}
}

func TestFloatingIPs_AreCreatedAssociatedAndDescribedByOnePost(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	port := env.port(neutron.PortSpec{SubnetID: env.subnet.ID, Name: "vip", DeviceID: "lb-1", DeviceOwner: "Octavia"})

	fip, err := floatingips.Create(t.Context(), env.member(), floatingips.CreateOpts{
		FloatingNetworkID: env.external.ID, PortID: port.ID, Description: "for web",
	}).Extract()
	must(t, err)

	if fip.PortID != port.ID || fip.FixedIP != port.FixedIPs[0].Address || fip.RouterID != env.router.ID || fip.Status != "ACTIVE" {
		t.Errorf("floating IP is not associated: %+v", fip)
	}
	if fip.Description != "for web" || fip.ProjectID != project || !strings.HasPrefix(fip.FloatingIP, "172.24.5.1") {
		t.Errorf("floating IP is %+v", fip)
	}
	_, answer := env.call(http.MethodGet, "/v2.0/floatingips/"+fip.ID, nil)
	details, _ := answer["floatingip"].(map[string]any)["port_details"].(map[string]any)
	if details["name"] != "vip" || details["device_owner"] != "Octavia" || details["device_id"] != "lb-1" {
		t.Errorf("port_details are %v", details)
	}
}

func TestFloatingIPs_RefuseTagsOnCreation(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	message := env.refused(http.MethodPost, "/v2.0/floatingips", floatingIPBody(map[string]any{
		"floating_network_id": env.external.ID, "tags": []string{"mine"},
	}), 400, "HTTPBadRequest")
	if message != "Attribute 'tags' not allowed in POST" {
		t.Errorf("message is %q", message)
	}
	if len(env.FloatingIPs()) != 0 {
		t.Error("a refused floating IP was kept")
	}
}

func TestFloatingIPs_TakeTagsByTheirOwnCall(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	fip, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID})
	must(t, err)
	tags, err := attributestags.ReplaceAll(t.Context(), env.member(), "floatingips", fip.ID, attributestags.ReplaceAllOpts{Tags: []string{"b", "a"}}).Extract()
	must(t, err)
	must(t, attributestags.Add(t.Context(), env.member(), "floatingips", fip.ID, "c").ExtractErr())
	must(t, attributestags.Delete(t.Context(), env.member(), "floatingips", fip.ID, "a").ExtractErr())
	if strings.Join(tags, ",") != "b,a" {
		t.Errorf("replaced tags are %v", tags)
	}
	if got := env.FloatingIPs()[0].Tags; strings.Join(got, ",") != "b,c" {
		t.Errorf("tags are %v", got)
	}
	has, err := attributestags.Confirm(t.Context(), env.member(), "floatingips", fip.ID, "c").Extract()
	if err != nil || !has {
		t.Errorf("tag c: %v %v", has, err)
	}
}

func TestFloatingIPs_LeaveNothingWhenAssociationIsRefused(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	lonely := env.AddNetwork(neutron.NetworkSpec{ProjectID: project, Name: "lonely"})
	lonelySubnet := env.addSubnet(neutron.SubnetSpec{NetworkID: lonely.ID, CIDR: "10.9.0.0/24"})
	onlyIPv6 := env.port(neutron.PortSpec{SubnetID: env.subnetIPv6.ID})
	unrouted := env.port(neutron.PortSpec{SubnetID: lonelySubnet.ID})
	twice := env.port(neutron.PortSpec{FixedIPs: []neutron.FixedIP{{SubnetID: env.subnet.ID}, {SubnetID: env.subnet.ID}}})
	foreign := env.port(neutron.PortSpec{ProjectID: other})
	taken := env.port(neutron.PortSpec{SubnetID: env.subnet.ID})
	_, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID, PortID: taken.ID})
	must(t, err)
	before := len(env.Ports())

	for name, test := range map[string]struct {
		attributes map[string]any
		status     int
		kind       string
	}{
		"no network":         {map[string]any{}, 400, "HTTPBadRequest"},
		"unknown network":    {map[string]any{"floating_network_id": nobody}, 404, "NetworkNotFound"},
		"internal network":   {map[string]any{"floating_network_id": env.inside.ID}, 400, "BadRequest"},
		"unknown attribute":  {map[string]any{"floating_network_id": env.external.ID, "colour": "red"}, 400, "HTTPBadRequest"},
		"other project":      {map[string]any{"floating_network_id": env.external.ID, "project_id": other}, 400, "HTTPBadRequest"},
		"unknown port":       {map[string]any{"floating_network_id": env.external.ID, "port_id": nobody}, 404, "PortNotFound"},
		"foreign port":       {map[string]any{"floating_network_id": env.external.ID, "port_id": foreign.ID}, 404, "PortNotFound"},
		"port without IPv4":  {map[string]any{"floating_network_id": env.external.ID, "port_id": onlyIPv6.ID}, 400, "BadRequest"},
		"port with two":      {map[string]any{"floating_network_id": env.external.ID, "port_id": twice.ID}, 400, "BadRequest"},
		"address not of it":  {map[string]any{"floating_network_id": env.external.ID, "port_id": twice.ID, "fixed_ip_address": "10.6.9.9"}, 400, "BadRequest"},
		"no router":          {map[string]any{"floating_network_id": env.external.ID, "port_id": unrouted.ID}, 404, "ExternalGatewayForFloatingIPNotFound"},
		"port has one":       {map[string]any{"floating_network_id": env.external.ID, "port_id": taken.ID}, 409, "FloatingIPPortAlreadyAssociated"},
		"chosen by a member": {map[string]any{"floating_network_id": env.external.ID, "floating_ip_address": "172.24.5.14"}, 403, "PolicyNotAuthorized"},
	} {
		t.Log(name)
		env.refused(http.MethodPost, "/v2.0/floatingips", floatingIPBody(test.attributes), test.status, test.kind)
	}
	if got := len(env.FloatingIPs()); got != 1 {
		t.Errorf("%d floating IPs, want the one that was there", got)
	}
	if got := len(env.Ports()); got != before {
		t.Errorf("%d ports, want %d: a refusal leaked the port that holds the address", got, before)
	}
}

func TestFloatingIPs_ConflictUntilExhaustedPoolHasAddressAgain(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	create := func() (*floatingips.FloatingIP, error) {
		return floatingips.Create(t.Context(), env.member(), floatingips.CreateOpts{FloatingNetworkID: env.external.ID}).Extract()
	}
	var last *floatingips.FloatingIP
	for range 5 { // six addresses, one of them the router's
		fip, err := create()
		must(t, err)
		last = fip
	}
	if _, err := create(); !gophercloud.ResponseCodeIs(err, http.StatusConflict) || !strings.Contains(err.Error(), "IpAddressGenerationFailure") {
		t.Fatalf("error is %v, want IpAddressGenerationFailure", err)
	}
	must(t, floatingips.Delete(t.Context(), env.member(), last.ID).ExtractErr())
	fip, err := create()
	must(t, err)
	if fip.FloatingIP != last.FloatingIP {
		t.Errorf("got %s, want the released %s", fip.FloatingIP, last.FloatingIP)
	}
}

func TestFloatingIPs_AreIPv4Addresses(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	outsideIPv6 := env.addSubnet(neutron.SubnetSpec{NetworkID: env.external.ID, CIDR: "2001:db8:24::/64"})
	fip, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID})
	if err != nil || !strings.HasPrefix(fip.Address, "172.24.5.") {
		t.Errorf("floating IP is %+v %v", fip, err)
	}
	_, err = env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID, SubnetID: outsideIPv6.ID})
	refusal(t, err, 400, "ExternalIpAddressExhausted")
	onlyIPv6 := env.AddNetwork(neutron.NetworkSpec{Name: "six", External: true})
	env.addSubnet(neutron.SubnetSpec{NetworkID: onlyIPv6.ID, CIDR: "2001:db8:25::/64"})
	_, err = env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: onlyIPv6.ID})
	refusal(t, err, 400, "BadRequest")
}

func TestFloatingIPs_ComeFromChosenSubnet(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	second := env.addSubnet(neutron.SubnetSpec{ProjectID: admin, NetworkID: env.external.ID, CIDR: "198.51.100.0/24"})
	fip, err := floatingips.Create(t.Context(), env.member(), floatingips.CreateOpts{FloatingNetworkID: env.external.ID, SubnetID: second.ID}).Extract()
	if err != nil || !strings.HasPrefix(fip.FloatingIP, "198.51.100.") {
		t.Errorf("floating IP is %+v %v", fip, err)
	}
}

func TestFloatingIPs_AreLimitedByQuota(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	env.SetQuota(project, "floatingip", 1)
	body := floatingIPBody(map[string]any{"floating_network_id": env.external.ID})
	if status, answer := env.call(http.MethodPost, "/v2.0/floatingips", body); status != http.StatusCreated {
		t.Fatalf("first answered %d %v", status, answer)
	}
	message := env.refused(http.MethodPost, "/v2.0/floatingips", body, 409, "OverQuota")
	if message != "Quota exceeded for resources: ['floatingip']." {
		t.Errorf("message is %q", message)
	}
}

func TestFloatingIPs_HaveChosenAddressOnlyForPermittedRoles(t *testing.T) {
	t.Parallel()
	choose := func(env *environment, roles ...string) (*floatingips.FloatingIP, error) {
		return floatingips.Create(t.Context(), env.client(project, roles...), floatingips.CreateOpts{
			FloatingNetworkID: env.external.ID, FloatingIP: "172.24.5.14",
		}).Extract()
	}
	strict := newEnvironment(t, neutron.Options{})
	if _, err := choose(strict, "member"); !gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		t.Errorf("a member got %v, want 403", err)
	}
	fip, err := choose(strict, "member", "manager")
	if err != nil || fip.FloatingIP != "172.24.5.14" {
		t.Errorf("a manager got %v %v", fip, err)
	}
	if _, err := choose(strict, "manager"); !gophercloud.ResponseCodeIs(err, http.StatusConflict) || !strings.Contains(err.Error(), "IpAddressAlreadyAllocated") {
		t.Errorf("the second of the same address got %v", err)
	}
	open := newEnvironment(t, neutron.Options{FloatingIPAddressByMembers: true})
	if _, err := choose(open, "member"); err != nil {
		t.Errorf("a member of an open cloud got %v", err)
	}
}

func TestFloatingIPs_MoveBetweenPorts(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	first, second := env.port(neutron.PortSpec{}), env.port(neutron.PortSpec{})
	created, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID, PortID: first.ID})
	must(t, err)
	put := func(opts floatingips.UpdateOpts) *floatingips.FloatingIP {
		t.Helper()
		fip, err := floatingips.Update(t.Context(), env.member(), created.ID, opts).Extract()
		must(t, err)
		return fip
	}
	if fip := put(floatingips.UpdateOpts{PortID: &second.ID}); fip.PortID != second.ID || fip.FixedIP != second.FixedIPs[0].Address {
		t.Errorf("moved floating IP is %+v", fip)
	}
	description := "kept"
	if fip := put(floatingips.UpdateOpts{Description: &description}); fip.Description != "kept" {
		t.Errorf("described floating IP is %+v", fip)
	}
	if got := env.FloatingIPs()[0]; got.Description != "kept" {
		t.Errorf("floating IP is %+v", got)
	}
	if fip := put(floatingips.UpdateOpts{PortID: new(string)}); fip.PortID != "" || fip.FixedIP != "" {
		t.Errorf("disassociated floating IP is %+v", fip)
	}
}

func TestFloatingIPs_NeedPortForFixedAddress(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	created, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID})
	must(t, err)
	env.refused(http.MethodPut, "/v2.0/floatingips/"+created.ID, floatingIPBody(map[string]any{
		"port_id": nil, "fixed_ip_address": "10.6.9.9",
	}), 400, "BadRequest")
}

func TestFloatingIPs_StayAssociatedWhenDescriptionChanges(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	port := env.port(neutron.PortSpec{})
	created, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID, PortID: port.ID})
	must(t, err)
	status, _ := env.call(http.MethodPut, "/v2.0/floatingips/"+created.ID, floatingIPBody(map[string]any{"description": "new"}))
	if got := env.FloatingIPs()[0]; status != http.StatusOK || got.PortID != port.ID || got.Description != "new" {
		t.Errorf("answered %d, floating IP is %+v", status, got)
	}
}

func TestFloatingIPs_AreDisassociatedWhenPortIsDeleted(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	port := env.port(neutron.PortSpec{})
	created, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID, PortID: port.ID})
	must(t, err)
	must(t, env.DeletePort(port.ID))
	got := env.FloatingIPs()
	if len(got) != 1 || got[0].Address != created.Address || got[0].PortID != "" || got[0].RouterID != "" || got[0].Status != "DOWN" {
		t.Errorf("floating IPs are %+v", got)
	}
}

func TestFloatingIPs_AreHiddenFromOtherProjects(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	foreign, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: other, NetworkID: env.external.ID})
	must(t, err)
	path := "/v2.0/floatingips/" + foreign.ID
	env.refused(http.MethodGet, path, nil, 404, "FloatingIPNotFound")
	env.refused(http.MethodPut, path, floatingIPBody(map[string]any{"description": "mine"}), 404, "FloatingIPNotFound")
	env.refused(http.MethodDelete, path, nil, 404, "FloatingIPNotFound")
	env.refused(http.MethodPut, path+"/tags", map[string]any{"tags": []string{"mine"}}, 404, "TagResourceNotFound")
	pages, err := floatingips.List(env.client(admin, "admin"), floatingips.ListOpts{}).AllPages(t.Context())
	must(t, err)
	all, err := floatingips.ExtractFloatingIPs(pages)
	if err != nil || len(all) != 1 {
		t.Errorf("an administrator sees %v %v, want one", all, err)
	}
}
