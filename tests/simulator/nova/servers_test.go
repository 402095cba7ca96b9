package nova_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/attachinterfaces"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
)

func TestServers_HaveRealPort(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	added := env.add(nova.ServerSpec{Name: "node-1", Zone: "az1"})
	network, err := openstack.NewNetworkV2(env.provider, gophercloud.EndpointOpts{Region: "RegionOne"})
	must(t, err)
	pages, err := ports.List(network, ports.ListOpts{DeviceID: added.ID}).AllPages(t.Context())
	must(t, err)
	found, err := ports.ExtractPorts(pages)
	must(t, err)
	if len(found) != 1 || found[0].DeviceOwner != "compute:az1" || found[0].Status != "ACTIVE" || found[0].ID != added.PortIDs[0] {
		t.Fatalf("ports are %+v", found)
	}
	if got := []string{found[0].FixedIPs[0].IPAddress, found[0].FixedIPs[1].IPAddress}; !slices.Equal(got, added.Addresses) {
		t.Errorf("addresses are %v, want %v", got, added.Addresses)
	}
	interfaces, err := attachinterfaces.List(env.compute, added.ID).AllPages(t.Context())
	must(t, err)
	attached, err := attachinterfaces.ExtractInterfaces(interfaces)
	if err != nil || len(attached) != 1 || attached[0].PortID != found[0].ID || attached[0].NetID != env.network.ID || attached[0].MACAddr != found[0].MACAddress {
		t.Errorf("interfaces are %+v %v", attached, err)
	}
}

func TestServers_ShowAddressesOfTheirPortsAndFloatingIPs(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	added := env.add(nova.ServerSpec{Name: "node-1", NetworkID: env.network.ID, Address: "10.6.0.20"})
	second := env.neutron.AddNetwork(neutron.NetworkSpec{ProjectID: env.projectID, Name: "storage"})
	_, err := env.neutron.AddSubnet(neutron.SubnetSpec{NetworkID: second.ID, CIDR: "10.8.0.0/24"})
	must(t, err)
	extra, err := env.AttachInterface(added.ID, second.ID, "10.8.0.9")
	must(t, err)
	fip, err := env.neutron.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: env.projectID, NetworkID: env.external.ID, PortID: added.PortIDs[0]})
	must(t, err)
	first, err := env.neutron.Port(added.PortIDs[0])
	must(t, err)

	server, err := servers.Get(t.Context(), env.compute, added.ID).Extract()
	must(t, err)
	address := func(addr, kind, mac string) any {
		return map[string]any{"addr": addr, "version": 4.0, "OS-EXT-IPS:type": kind, "OS-EXT-IPS-MAC:mac_addr": mac}
	}
	want := map[string]any{
		"k8s-net": []any{address("10.6.0.20", "fixed", first.MACAddress), address(fip.Address, "floating", first.MACAddress)},
		"storage": []any{address("10.8.0.9", "fixed", extra.MACAddress)},
	}
	if diff := cmp.Diff(want, server.Addresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	if got, err := env.Server(added.ID); err != nil || !slices.Equal(got.Addresses, []string{"10.6.0.20", "10.8.0.9"}) {
		t.Errorf("the Go side sees %+v %v", got, err)
	}
	if _, err := env.AttachInterface("nope", second.ID, ""); err == nil {
		t.Error("attached a port to no server")
	}
}

func TestServers_ShowWhatTheyWereMadeWith(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	added := env.add(nova.ServerSpec{
		Name: "node-1", Zone: "az1", Flavor: "k8s.large", UserID: "user", AccessIPv4: "192.0.2.1",
		Metadata: map[string]string{"hostname": "node-1.example.org"},
	})
	server, err := servers.Get(t.Context(), env.compute, added.ID).Extract()
	must(t, err)
	if server.Name != "node-1" || server.Status != "ACTIVE" || server.TenantID != env.projectID || server.UserID != "user" ||
		server.AccessIPv4 != "192.0.2.1" || server.Metadata["hostname"] != "node-1.example.org" || server.AvailabilityZone != "az1" {
		t.Errorf("server is %+v", server)
	}
	if groups := server.SecurityGroups; len(groups) != 1 || groups[0]["name"] != "default" {
		t.Errorf("security groups are %v", groups)
	}
	flavor, err := flavors.Get(t.Context(), env.compute, server.Flavor["id"].(string)).Extract()
	if err != nil || flavor.Name != "k8s.large" || flavor.VCPUs != 8 || flavor.RAM != 16384 {
		t.Errorf("flavor is %+v %v", flavor, err)
	}
}

func TestServers_AreNotAddedWhenNeutronRefuses(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	_, err := env.AddServer(nova.ServerSpec{Name: "n", ProjectID: env.projectID, NetworkID: env.network.ID, Address: "10.6.0.1"})
	var refused *neutron.Error
	if !errors.As(err, &refused) || refused.Type != "IpAddressAlreadyAllocated" || len(env.Servers()) != 0 {
		t.Errorf("error is %v, servers are %v", err, env.Servers())
	}
}

func TestServers_AreGoneWithTheirPortsWhenDeleted(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	kept, deleted := env.add(nova.ServerSpec{Name: "kept"}), env.add(nova.ServerSpec{Name: "deleted"})
	if !env.DeleteServer(deleted.ID) || env.DeleteServer(deleted.ID) || env.SetStatus(deleted.ID, "ACTIVE") {
		t.Error("a server was not deleted exactly once")
	}
	status, answer, _ := env.get("/v2.1/servers/"+deleted.ID, "")
	want := map[string]any{"itemNotFound": map[string]any{"code": 404.0, "message": "Instance " + deleted.ID + " could not be found."}}
	if status != http.StatusNotFound || !cmp.Equal(answer, want) {
		t.Errorf("answered %d %v", status, answer)
	}
	for _, path := range []string{"/v2.1/servers/" + deleted.ID + "/os-interface", "/v2.1/servers/not-an-id", "/v2.1/flavors/nope", "/v2.1/extensions/nonsense"} {
		if status, answer, _ := env.get(path, ""); status != http.StatusNotFound || answer["itemNotFound"] == nil {
			t.Errorf("%s answered %d %v", path, status, answer)
		}
	}
	if _, err := env.Server(deleted.ID); err == nil {
		t.Error("the Go side still has the server")
	}
	if got := env.Servers(); len(got) != 1 || got[0].ID != kept.ID {
		t.Errorf("servers are %+v", got)
	}
	for _, port := range env.neutron.Ports() {
		if port.DeviceID == deleted.ID {
			t.Errorf("port %s was left behind", port.ID)
		}
	}
}

func TestServers_HaveStateOfTheirStatus(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	added := env.add(nova.ServerSpec{Name: "node-1"})
	for status, state := range map[string]string{
		"ACTIVE": "active", "SHUTOFF": "stopped", "BUILD": "building", "REBOOT": "active", "HARD_REBOOT": "active", "PAUSED": "paused",
		"SUSPENDED": "suspended", "RESCUE": "rescued", "VERIFY_RESIZE": "resized", "SHELVED": "shelved",
		"SHELVED_OFFLOADED": "shelved_offloaded", "SOFT_DELETED": "soft-delete", "ERROR": "error", "UNKNOWN": "error",
	} {
		env.SetStatus(added.ID, status)
		server, err := servers.Get(t.Context(), env.compute, added.ID).Extract()
		must(t, err)
		if server.Status != status || server.VmState != state {
			t.Errorf("status is %s with state %s, want %s with %s", server.Status, server.VmState, status, state)
		}
	}
}

func TestAnswers_HaveFieldsOfRealNova(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	added := env.add(nova.ServerSpec{Name: "node-3", Metadata: map[string]string{"rig": "node"}})
	text, err := os.ReadFile("testdata/server.json")
	must(t, err)
	recorded := map[string]any{}
	must(t, json.Unmarshal(text, &recorded))
	recorded["addresses"] = map[string]any{"k8s-net": recorded["addresses"].(map[string]any)["k8s-net"]}
	_, answer, _ := env.get("/v2.1/servers/"+added.ID, "")
	sameShape(t, "server", recorded, answer["server"])
	_, answer, _ = env.get("/v2.1/servers/detail", "")
	sameShape(t, "servers[]", recorded, answer["servers"].([]any)[0])
	_, answer, _ = env.get("/v2.1/servers", "")
	sameShape(t, "brief", map[string]any{"id": "", "name": "", "links": recorded["links"]}, answer["servers"].([]any)[0])
	for i, end := range []string{"/compute/v2.1/servers/", "/compute/servers/"} {
		link := answer["servers"].([]any)[0].(map[string]any)["links"].([]any)[i].(map[string]any)
		if link["href"] != env.url+end+added.ID {
			t.Errorf("link is %v", link)
		}
	}
}

// sameShape compares an answer with a recorded one: the same keys with values
// of the same kind. Null stands for any kind, an empty list for any list.
func sameShape(t *testing.T, path string, recorded, answered any) {
	t.Helper()
	switch want := recorded.(type) {
	case map[string]any:
		got, _ := answered.(map[string]any)
		for key := range got {
			if _, ok := want[key]; !ok {
				t.Errorf("%s.%s was never recorded", path, key)
			}
		}
		for key, value := range want {
			if _, ok := got[key]; !ok {
				t.Errorf("%s.%s is missing", path, key)
				continue
			}
			sameShape(t, path+"."+key, value, got[key])
		}
	case []any:
		got, ok := answered.([]any)
		if !ok {
			t.Errorf("%s is a %T, recorded as a list", path, answered)
		}
		if len(want) > 0 && len(got) > 0 {
			sameShape(t, path+"[]", want[0], got[0])
		}
	default:
		if recorded != nil && answered != nil && fmt.Sprintf("%T", recorded) != fmt.Sprintf("%T", answered) {
			t.Errorf("%s is %v, recorded as %v", path, answered, recorded)
		}
	}
}

func TestMicroversions_AreNegotiated(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{MaxMicroversion: 90})
	added := env.add(nova.ServerSpec{Name: "node-1", Tags: []string{"k8s"}})
	path := "/v2.1/servers/" + added.ID
	for asked, granted := range map[string]string{"": "2.1", "2.47": "2.47", "2.90": "2.90", "latest": "2.90"} {
		status, _, header := env.get(path, asked)
		if status != http.StatusOK || header.Get("OpenStack-API-Version") != "compute "+granted || header.Get("X-OpenStack-Nova-API-Version") != granted {
			t.Errorf("%q answered %d with %v", asked, status, header)
		}
	}
	for asked, want := range map[string]int{"2.91": 406, "3.1": 406, "2.0": 406, "two": 400} {
		if status, answer, _ := env.get(path, asked); status != want {
			t.Errorf("%q answered %d %v, want %d", asked, status, answer, want)
		}
	}
	env.compute.Microversion = "2.26" // gophercloud sends both headers
	server, err := servers.Get(t.Context(), env.compute, added.ID).Extract()
	if err != nil || server.Tags == nil || !slices.Equal(*server.Tags, []string{"k8s"}) {
		t.Errorf("server is %+v %v", server, err)
	}
}

func TestFlavors_AreLinkOrValuesByMicroversion(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{Flavors: []nova.Flavor{{ID: "f1", Name: "m1", VCPUs: 2, RAM: 4096, Disk: 20, ExtraSpecs: map[string]string{"a": "b"}}}})
	added := env.add(nova.ServerSpec{Name: "node-1"})
	flavor := func(microversion string) any {
		_, answer, _ := env.get("/v2.1/servers/"+added.ID, microversion)
		return answer["server"].(map[string]any)["flavor"]
	}
	link := map[string]any{"id": "f1", "links": []any{map[string]any{"rel": "bookmark", "href": env.url + "/compute/flavors/f1"}}}
	if diff := cmp.Diff(link, flavor("2.46")); diff != "" {
		t.Errorf("before 2.47 (-want +got):\n%s", diff)
	}
	values := map[string]any{
		"vcpus": 2.0, "ram": 4096.0, "disk": 20.0, "ephemeral": 0.0, "swap": 0.0, "original_name": "m1", "extra_specs": map[string]any{"a": "b"},
	}
	if diff := cmp.Diff(any(values), flavor("2.47")); diff != "" {
		t.Errorf("from 2.47 on (-want +got):\n%s", diff)
	}
	for microversion, keys := range map[string]int{"": 11, "2.55": 12, "2.61": 13, "2.75": 13} {
		_, answer, _ := env.get("/v2.1/flavors/f1", microversion)
		if got := answer["flavor"].(map[string]any); len(got) != keys {
			t.Errorf("with %q a flavor has %d keys: %v", microversion, len(got), got)
		}
	}
}

func TestFlavors_AreListed(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	env.add(nova.ServerSpec{Name: "node-1", Flavor: "made.up"})
	pages, err := flavors.ListDetail(env.compute, flavors.ListOpts{}).AllPages(t.Context())
	must(t, err)
	found, err := flavors.ExtractFlavors(pages)
	isMadeUp := func(flavor flavors.Flavor) bool { return flavor.Name == "made.up" }
	if err != nil || len(found) != 3 || !slices.ContainsFunc(found, isMadeUp) || len(env.Flavors()) != 3 {
		t.Errorf("flavors are %+v %v", found, err)
	}
	_, answer, _ := env.get("/v2.1/flavors", "")
	if got := answer["flavors"].([]any)[0].(map[string]any); len(got) != 3 {
		t.Errorf("a flavor in the brief list has %v", got)
	}
}

func TestVersions_AreServedWithAndWithoutSlash(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{MaxMicroversion: 96})
	response, err := env.http.Get(env.url + "/compute/") // without a token
	must(t, err)
	must(t, response.Body.Close())
	if response.StatusCode != http.StatusOK {
		t.Errorf("the root answered %d", response.StatusCode)
	}
	for _, path := range []string{"/v2.1", "/v2.1/"} {
		_, answer, _ := env.get(path, "")
		version := answer["version"].(map[string]any)
		if version["version"] != "2.96" || version["min_version"] != "2.1" || !strings.Contains(fmt.Sprint(version["links"]), env.url+"/compute/v2.1/") {
			t.Errorf("%s answered %v", path, version)
		}
	}
}
