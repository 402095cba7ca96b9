package neutron_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

func TestPorts_GetOneAddressOfEachIPVersionOfNetwork(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	port, err := ports.Create(t.Context(), env.member(), ports.CreateOpts{NetworkID: env.inside.ID, Name: "p"}).Extract()
	must(t, err)
	if len(port.FixedIPs) != 2 || port.FixedIPs[0].SubnetID != env.subnet.ID || port.FixedIPs[1].SubnetID != env.subnetIPv6.ID {
		t.Fatalf("fixed IPs are %+v", port.FixedIPs)
	}
	if !netip.MustParsePrefix("10.6.0.0/16").Contains(netip.MustParseAddr(port.FixedIPs[0].IPAddress)) {
		t.Errorf("address %s is not of the subnet", port.FixedIPs[0].IPAddress)
	}
	if port.Status != "DOWN" || !port.AdminStateUp || port.ProjectID != project || port.MACAddress[:9] != "fa:16:3e:" {
		t.Errorf("port is %+v", port)
	}
	if groups := env.SecurityGroups(); len(groups) != 1 || !slices.Equal(port.SecurityGroups, []string{groups[0].ID}) {
		t.Errorf("groups of the port are %v, want the default group of %v", port.SecurityGroups, groups)
	}
}

func TestPorts_TakeNoAddressWhenRefused(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	small := env.addSubnet(neutron.SubnetSpec{NetworkID: env.inside.ID, CIDR: "10.7.0.0/30"})
	if _, err := env.CreatePort(neutron.PortSpec{ProjectID: project, SubnetID: small.ID}); err != nil {
		t.Fatalf("the only address of a /30: %v", err)
	}
	for name, test := range map[string]struct {
		spec   neutron.PortSpec
		status int
		kind   string
	}{
		"unknown network":   {neutron.PortSpec{NetworkID: "nope"}, 404, "NetworkNotFound"},
		"unknown subnet":    {neutron.PortSpec{NetworkID: env.inside.ID, SubnetID: "nope"}, 404, "SubnetNotFound"},
		"only a subnet":     {neutron.PortSpec{SubnetID: "nope"}, 404, "SubnetNotFound"},
		"subnet elsewhere":  {neutron.PortSpec{NetworkID: env.inside.ID, SubnetID: env.outside.ID}, 400, "InvalidInput"},
		"full subnet":       {neutron.PortSpec{SubnetID: small.ID}, 409, "IpAddressGenerationFailure"},
		"taken address":     {neutron.PortSpec{SubnetID: env.subnet.ID, Address: "10.6.0.1"}, 409, "IpAddressAlreadyAllocated"},
		"outside of subnet": {neutron.PortSpec{SubnetID: env.subnet.ID, Address: "10.99.0.1"}, 400, "InvalidIpForSubnet"},
		"outside of all":    {neutron.PortSpec{NetworkID: env.inside.ID, Address: "10.99.0.1"}, 400, "InvalidIpForNetwork"},
		"no address at all": {neutron.PortSpec{NetworkID: env.inside.ID, Address: "localhost"}, 400, "InvalidInput"},
		"unknown group":     {neutron.PortSpec{NetworkID: env.inside.ID, SecurityGroups: []string{"nope"}}, 404, "SecurityGroupNotFound"},
		"second of two": {neutron.PortSpec{NetworkID: env.inside.ID, FixedIPs: []neutron.FixedIP{
			{SubnetID: env.subnet.ID, Address: "10.6.0.77"}, {SubnetID: small.ID},
		}}, 409, "IpAddressGenerationFailure"},
	} {
		t.Log(name)
		test.spec.ProjectID = project
		_, err := env.CreatePort(test.spec)
		refusal(t, err, test.status, test.kind)
	}
	if _, err := env.CreatePort(neutron.PortSpec{ProjectID: project, SubnetID: env.subnet.ID, Address: "10.6.0.77"}); err != nil {
		t.Errorf("an address of a refused port is still taken: %v", err)
	}
}

func TestPorts_CountOnlyForQuotaOfTheirProject(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	owned := 2 // the router's interfaces
	env.SetQuota(project, "port", owned+1)
	env.port(neutron.PortSpec{})
	env.port(neutron.PortSpec{ProjectID: other})
	env.refused(http.MethodPost, "/v2.0/ports", map[string]any{"port": map[string]any{"network_id": env.inside.ID}}, 409, "OverQuota")
	if _, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID}); err != nil {
		t.Errorf("the port behind a floating IP was counted: %v", err)
	}
	env.SetQuota(project, "port", -1)
	env.port(neutron.PortSpec{})
}

func TestPorts_ReplaceListsAndKeepRestOnUpdate(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	port := env.port(neutron.PortSpec{Name: "before", SubnetID: env.subnet.ID, Address: "10.6.0.50"})
	group, err := env.CreateSecurityGroup(neutron.SecurityGroupSpec{ProjectID: project, Name: "extra"})
	must(t, err)
	name := "after"
	updated, err := ports.Update(t.Context(), env.member(), port.ID, ports.UpdateOpts{
		Name: &name, SecurityGroups: &[]string{group.ID},
		FixedIPs:            []ports.IP{{SubnetID: env.subnet.ID, IPAddress: "10.6.0.50"}, {SubnetID: env.subnet.ID, IPAddress: "10.6.0.51"}},
		AllowedAddressPairs: &[]ports.AddressPair{{IPAddress: "10.6.0.200"}},
	}).Extract()
	must(t, err)
	if updated.Name != "after" || !slices.Equal(updated.SecurityGroups, []string{group.ID}) || len(updated.FixedIPs) != 2 {
		t.Errorf("updated port is %+v", updated)
	}
	if want := []ports.AddressPair{{IPAddress: "10.6.0.200", MACAddress: port.MACAddress}}; !cmp.Equal(updated.AllowedAddressPairs, want) {
		t.Errorf("address pairs are %v, want %v", updated.AllowedAddressPairs, want)
	}
	status, answer := env.call(http.MethodPut, "/v2.0/ports/"+port.ID, map[string]any{"port": map[string]any{"security_groups": []string{}}})
	after, err := env.Port(port.ID)
	if err != nil || status != http.StatusOK || len(after.SecurityGroups) != 0 || after.Name != "after" || len(after.FixedIPs) != 2 {
		t.Errorf("answered %d %v, port is %+v", status, answer, after)
	}
	env.refused(http.MethodPut, "/v2.0/ports/"+port.ID, map[string]any{"port": map[string]any{"network_id": env.inside.ID}}, 400, "HTTPBadRequest")
}

func TestPorts_FreeAddressesTheyNoLongerHave(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	port := env.port(neutron.PortSpec{SubnetID: env.subnet.ID, Address: "10.6.0.50"})
	if _, err := env.UpdatePort(port.ID, neutron.PortUpdate{FixedIPs: &[]neutron.FixedIP{{SubnetID: env.subnet.ID, Address: "10.6.0.51"}}}); err != nil {
		t.Fatal(err)
	}
	env.port(neutron.PortSpec{SubnetID: env.subnet.ID, Address: "10.6.0.50"})
	must(t, env.DeletePort(port.ID))
	env.port(neutron.PortSpec{SubnetID: env.subnet.ID, Address: "10.6.0.51"})
}

func TestPorts_RefuseStaleRevisionByIfMatch(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	port := env.port(neutron.PortSpec{})
	path, body := "/v2.0/ports/"+port.ID, map[string]any{"port": map[string]any{"name": "n"}}
	revision := func() int {
		_, answer := env.call(http.MethodGet, path, nil)
		number, _ := answer["port"].(map[string]any)["revision_number"].(float64)
		return int(number)
	}
	before := revision()
	current := "revision_number=" + strconv.Itoa(before)
	if status, answer := env.call(http.MethodPut, path, body, "If-Match", current); status != http.StatusOK {
		t.Fatalf("the current revision was answered %d %v", status, answer)
	}
	if revision() != before+1 {
		t.Errorf("revision is %d after a change of %d", revision(), before)
	}
	status, answer := env.call(http.MethodPut, path, body, "If-Match", current)
	if kind := answer["NeutronError"].(map[string]any)["type"]; status != http.StatusPreconditionFailed || kind != "RevisionNumberConstraintFailed" {
		t.Errorf("a stale revision was answered %d %v", status, answer)
	}
	gone := map[string]any{"port": map[string]any{"security_groups": []string{"5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11"}}}
	if status, _ := env.call(http.MethodPut, path, gone, "If-Match", current); status != http.StatusNotFound {
		t.Errorf("a stale revision with an unknown group was answered %d", status)
	}
	if status, _ := env.call(http.MethodDelete, path, nil, "If-Match", current); status != http.StatusPreconditionFailed {
		t.Errorf("a stale delete was answered %d", status)
	}
	if status, _ := env.call(http.MethodPut, path, body, "If-Match", "etag"); status != http.StatusOK {
		t.Errorf("another kind of If-Match was answered %d", status)
	}
}

func TestPorts_OfRouterCannotBeDeletedDirectly(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	for _, port := range env.Ports() {
		if port.DeviceOwner == "network:router_interface" {
			env.refused(http.MethodDelete, "/v2.0/ports/"+port.ID, nil, 409, "ServicePortInUse")
		}
	}
}

func TestPorts_AreHiddenFromOtherProjects(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	shared := env.AddNetwork(neutron.NetworkSpec{ProjectID: admin, Name: "shared", Shared: true})
	env.addSubnet(neutron.SubnetSpec{ProjectID: admin, NetworkID: shared.ID, CIDR: "10.9.0.0/24"})
	foreign := env.port(neutron.PortSpec{ProjectID: other, NetworkID: shared.ID})
	path := "/v2.0/ports/" + foreign.ID
	env.refused(http.MethodGet, path, nil, 404, "PortNotFound")
	env.refused(http.MethodDelete, path, nil, 404, "PortNotFound")
	err := ports.Delete(t.Context(), env.client(admin, "admin"), foreign.ID).ExtractErr()
	must(t, err)
	if _, err := ports.Get(t.Context(), env.client(admin, "admin"), foreign.ID).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("after its deletion the port answers %v", err)
	}
	env.refused(http.MethodPost, "/v2.0/ports", map[string]any{"port": map[string]any{"network_id": env.external.ID}}, 403, "HTTPForbidden")
}

// The owner of a network sees and deletes what others have in it, such as the interface of a router, and
// changes nothing there.
func TestPorts_AreShownToTheOwnerOfTheirNetwork(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	foreign := env.port(neutron.PortSpec{ProjectID: other})
	path := "/v2.0/ports/" + foreign.ID
	if status, _ := env.call(http.MethodGet, path, nil); status != http.StatusOK {
		t.Errorf("the port answers %d", status)
	}
	_, answer := env.call(http.MethodGet, "/v2.0/ports?id="+foreign.ID, nil)
	if all, _ := answer["ports"].([]any); len(all) != 1 {
		t.Errorf("the list has %v", answer)
	}
	env.refused(http.MethodPut, path, map[string]any{"port": map[string]any{"name": "mine"}}, 403, "PolicyNotAuthorized")
	if status, _ := env.call(http.MethodDelete, path, nil); status != http.StatusNoContent {
		t.Errorf("its deletion answers %d", status)
	}
}

func TestPorts_NeverShareAddressWhenMadeAtOnce(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	client := env.member()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 20 {
				port, err := ports.Create(t.Context(), client, ports.CreateOpts{NetworkID: env.inside.ID}).Extract()
				if err != nil {
					t.Error(err)
					return
				}
				_ = env.Ports()
				if port.FixedIPs[0].IPAddress[len(port.FixedIPs[0].IPAddress)-1] == '0' {
					if err := ports.Delete(t.Context(), client, port.ID).ExtractErr(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	seen := map[string]bool{}
	for _, port := range env.Ports() {
		for _, fixed := range port.FixedIPs {
			if seen[fixed.Address] {
				t.Errorf("two ports have %s", fixed.Address)
			}
			seen[fixed.Address] = true
		}
	}
}

func TestSubscribe_ReportsChangesUntilCanceled(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	heard := make(chan struct{}, 100)
	cancel := env.Subscribe(func() {
		_ = env.Ports() // the lock is free again
		heard <- struct{}{}
	})
	port := env.port(neutron.PortSpec{})
	fip, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID, PortID: port.ID})
	must(t, err)
	if _, err := env.AssociateFloatingIP(fip.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	must(t, env.ReleaseFloatingIP(fip.ID))
	must(t, env.DeletePort(port.ID))
	if len(heard) != 5 {
		t.Errorf("heard %d times of 5 changes", len(heard))
	}
	_, _ = env.call(http.MethodGet, "/v2.0/ports", nil)
	cancel()
	env.port(neutron.PortSpec{})
	if len(heard) != 5 {
		t.Errorf("heard %d times after a read and cancel", len(heard))
	}
}

func TestPorts_TakeNoSecurityGroupsWithoutPortSecurity(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	group, err := env.CreateSecurityGroup(neutron.SecurityGroupSpec{ProjectID: project, Name: "web"})
	must(t, err)
	path := "/v2.0/ports/" + env.port(neutron.PortSpec{ProjectID: project, SubnetID: env.subnet.ID}).ID
	put := func(attributes map[string]any) (int, map[string]any) {
		return env.call(http.MethodPut, path, map[string]any{"port": attributes})
	}
	off, on := map[string]any{"port_security_enabled": false}, map[string]any{"port_security_enabled": true, "security_groups": []string{group.ID}}
	if status, answer := put(off); status != http.StatusConflict {
		t.Errorf("switched off with a group: %d %v", status, answer)
	}
	off["security_groups"] = []string{}
	if status, answer := put(off); status != http.StatusOK {
		t.Errorf("switched off without groups: %d %v", status, answer)
	}
	if status, answer := put(map[string]any{"security_groups": []string{group.ID}}); status != http.StatusBadRequest {
		t.Errorf("a group where port security is off: %d %v", status, answer)
	}
	if status, answer := put(on); status != http.StatusOK {
		t.Errorf("switched on with a group: %d %v", status, answer)
	}
}

func TestPorts_RefuseInvalidAllowedAddressPairs(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	pair := func(address string) map[string]any { return map[string]any{"ip_address": address} }
	var many []any
	for i := range 11 {
		many = append(many, pair(fmt.Sprintf("10.244.%d.0/24", i)))
	}
	guarded := env.port(neutron.PortSpec{ProjectID: project, SubnetID: env.subnet.ID})
	open := env.port(neutron.PortSpec{ProjectID: project, SubnetID: env.subnet.ID, WithoutPortSecurity: true})
	for name, test := range map[string]struct {
		port   neutron.Port
		pairs  []any
		status int
		kind   string
	}{
		"too many":         {guarded, many, 400, "AllowedAddressPairExhausted"},
		"twice the same":   {guarded, []any{pair("10.244.0.0/24"), pair("10.244.0.0/24")}, 400, "DuplicateAddressPairInRequest"},
		"no port security": {open, []any{pair("10.244.0.0/24")}, 409, "AddressPairAndPortSecurityRequired"},
	} {
		t.Log(name)
		env.refused(http.MethodPut, "/v2.0/ports/"+test.port.ID, map[string]any{"port": map[string]any{"allowed_address_pairs": test.pairs}}, test.status, test.kind)
	}
}

func TestPorts_HaveTagsOfTheirCreationOnlyWithExtension(t *testing.T) {
	t.Parallel()
	for extensions, want := range map[string]int{"router": 0, "tag-ports-during-bulk-creation": 1} {
		env := newEnvironment(t, neutron.Options{Extensions: []string{extensions}})
		body := map[string]any{"port": map[string]any{"network_id": env.inside.ID, "tags": []string{"mine"}}}
		if status, answer := env.call(http.MethodPost, "/v2.0/ports", body); status != http.StatusCreated {
			t.Fatalf("%d %v", status, answer)
		}
		ports := env.Ports()
		if tags := ports[len(ports)-1].Tags; len(tags) != want {
			t.Errorf("with %s: tags %v", extensions, tags)
		}
	}
}

func TestPorts_HaveNoAllowedAddressPairsWithoutExtension(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{Extensions: []string{"router"}})
	path := "/v2.0/ports/" + env.port(neutron.PortSpec{ProjectID: project, SubnetID: env.subnet.ID}).ID
	if _, body := env.text(http.MethodGet, path); strings.Contains(body, "allowed_address_pairs") {
		t.Errorf("the port has them: %s", body)
	}
	env.refused(http.MethodPut, path, map[string]any{"port": map[string]any{"allowed_address_pairs": []any{}}}, 400, "HTTPBadRequest")
}
