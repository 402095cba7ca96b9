package neutron_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// names lists the names (or descriptions of floating IPs) that a query finds, sorted.
func (env *environment) names(path string) []string {
	env.t.Helper()
	status, answer := env.call(http.MethodGet, path, nil)
	if status != http.StatusOK {
		env.t.Errorf("GET %s answered %d %v", path, status, answer)
	}
	names := []string{}
	for key, list := range answer {
		if strings.HasSuffix(key, "_links") {
			continue
		}
		for _, object := range list.([]any) {
			names = append(names, fmt.Sprint(object.(map[string]any)["name"]))
		}
	}
	slices.Sort(names)
	return names
}

func TestList_FiltersPorts(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	group, err := env.CreateSecurityGroup(neutron.SecurityGroupSpec{ProjectID: project, Name: "g"})
	must(t, err)
	a := env.port(neutron.PortSpec{Name: "a", SubnetID: env.subnet.ID, Address: "10.6.0.100", DeviceID: "server-a", DeviceOwner: "compute:nova", Tags: []string{"red", "blue"}})
	b := env.port(neutron.PortSpec{Name: "b", SubnetID: env.subnet.ID, Address: "10.6.0.101", DeviceID: "server-b", DeviceOwner: "compute:nova", Tags: []string{"red"}, Description: "the b"})
	env.clock.SetTime(env.clock.Now().Add(time.Hour))
	env.port(neutron.PortSpec{Name: "c", SubnetID: env.subnetIPv6.ID, SecurityGroups: []string{group.ID}, AdminStateDown: true})

	for query, want := range map[string][]string{
		"name=a&name=b":                    {"a", "b"},
		"name=a&device_id=server-b":        {},
		"name=":                            {"", "", "a", "b", "c"}, // an empty value is no filter; the router's ports have no name
		"id=" + a.ID + "&id=" + b.ID:       {"a", "b"},
		"device_owner=compute:nova":        {"a", "b"},
		"description=the+b":                {"b"},
		"description=the":                  {},
		"network_id=" + env.external.ID:    {},
		"security_groups=" + group.ID:      {"c"},
		"admin_state_up=False":             {"c"},
		"admin_state_up=true&name=a":       {"a"},
		"tenant_id=" + project + "&name=a": {"a"},
		"project_id=" + other:              {},
		"fixed_ips=ip_address%3D10.6.0.100&fixed_ips=ip_address%3D10.6.0.101":          {"a", "b"},
		"fixed_ips=ip_address%3D10.6.0.100&fixed_ips=subnet_id%3D" + env.subnet.ID:     {"a"},
		"fixed_ips=ip_address%3D10.6.0.100&fixed_ips=subnet_id%3D" + env.subnetIPv6.ID: {},
		"fixed_ips=ip_address_substr%3D.0.10":                                          {"a", "b"},
		"tags=red,blue":                                                                {"a"},
		"tags-any=red,blue":                                                            {"a", "b"},
		"not-tags=red,blue&name=a&name=b":                                              {"b"},
		"not-tags-any=blue&tags=red":                                                   {"b"},
		"changed_since=2026-11-20T18:30:00":                                            {"c"},
	} {
		if got := env.names("/v2.0/ports?" + query); !slices.Equal(got, want) {
			t.Errorf("%s found %q, want %q", query, got, want)
		}
	}
	env.refused(http.MethodGet, "/v2.0/ports?colour=red&name=a", nil, 400, "HTTPBadRequest")
}

func TestList_FiltersFloatingIPs(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	port := env.port(neutron.PortSpec{})
	wanted, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID, PortID: port.ID, Description: "Floating IP for a"})
	must(t, err)
	_, err = env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID, Description: "Floating IP for ab"})
	must(t, err)
	for _, opts := range []floatingips.ListOpts{
		{PortID: port.ID}, {FloatingIP: wanted.Address}, {Description: "Floating IP for a"}, {FixedIP: port.FixedIPs[0].Address},
		{RouterID: env.router.ID, FloatingNetworkID: env.external.ID}, {Status: "ACTIVE"}, {ID: wanted.ID},
	} {
		pages, err := floatingips.List(env.member(), opts).AllPages(t.Context())
		must(t, err)
		found, err := floatingips.ExtractFloatingIPs(pages)
		if err != nil || len(found) != 1 || found[0].ID != wanted.ID {
			t.Errorf("%+v found %+v %v", opts, found, err)
		}
	}
}

func TestList_SelectsAttributesByRepeatedFields(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	port := env.port(neutron.PortSpec{Name: "a", SubnetID: env.subnet.ID})
	_, answer := env.call(http.MethodGet, "/v2.0/ports?name=a&fields=id&fields=fixed_ips&fields=nonsense", nil)
	want := map[string]any{"ports": []any{map[string]any{
		"id": port.ID, "fixed_ips": []any{map[string]any{"subnet_id": env.subnet.ID, "ip_address": port.FixedIPs[0].Address}},
	}}}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	_, answer = env.call(http.MethodGet, "/v2.0/ports/"+port.ID+"?fields=name", nil)
	if diff := cmp.Diff(map[string]any{"port": map[string]any{"name": "a"}}, answer); diff != "" {
		t.Errorf("one port (-want +got):\n%s", diff)
	}
}

func TestList_SortsByKeysAndThenByID(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	var ids []string
	for _, name := range []string{"b", "a", "b"} {
		ids = append(ids, env.port(neutron.PortSpec{Name: name, DeviceID: "d", DeviceOwner: name}).ID)
	}
	order := func(query string) (found []string) {
		t.Helper()
		_, answer := env.call(http.MethodGet, "/v2.0/ports?device_id=d&"+query, nil)
		for _, object := range answer["ports"].([]any) {
			found = append(found, object.(map[string]any)["id"].(string))
		}
		return found
	}
	low, high := min(ids[0], ids[2]), max(ids[0], ids[2])
	if got, want := order(""), slices.Sorted(slices.Values(ids)); !slices.Equal(got, want) {
		t.Errorf("unsorted list is %v, want by ID %v", got, want)
	}
	if got, want := order("sort_key=name&sort_dir=asc"), []string{ids[1], low, high}; !slices.Equal(got, want) {
		t.Errorf("ascending list is %v, want %v", got, want)
	}
	if got, want := order("sort_key=name&sort_dir=desc"), []string{low, high, ids[1]}; !slices.Equal(got, want) {
		t.Errorf("descending list is %v, want %v", got, want)
	}
	for _, query := range []string{"sort_key=name", "sort_key=colour&sort_dir=asc", "sort_key=name&sort_dir=up"} {
		env.refused(http.MethodGet, "/v2.0/ports?"+query, nil, 400, "HTTPBadRequest")
	}
}

func TestList_LinksPagesToNeighborsAndKeepsQuery(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	for range 5 {
		env.port(neutron.PortSpec{Name: "mine"})
	}
	env.port(neutron.PortSpec{Name: "another"})
	var sizes []int
	pager := ports.List(env.member(), ports.ListOpts{Name: "mine", Limit: 2})
	err := pager.EachPage(t.Context(), func(_ context.Context, page pagination.Page) (bool, error) {
		found, err := ports.ExtractPorts(page)
		for _, port := range found {
			if port.Name != "mine" {
				t.Errorf("page has %+v: the link lost the filter", port)
			}
		}
		sizes = append(sizes, len(found))
		return true, err
	})
	must(t, err)
	if !slices.Equal(sizes, []int{2, 2, 1}) {
		t.Errorf("pages have sizes %v", sizes)
	}

	_, first := env.call(http.MethodGet, "/v2.0/ports?name=mine&limit=2", nil)
	links := first["ports_links"].([]any)
	if len(links) != 2 || links[0].(map[string]any)["rel"] != "next" || links[1].(map[string]any)["rel"] != "previous" {
		t.Fatalf("links are %v", links)
	}
	next, err := url.Parse(links[0].(map[string]any)["href"].(string))
	must(t, err)
	if next.Path != "/network/v2.0/ports" || next.Query().Get("name") != "mine" || next.Query().Get("limit") != "2" {
		t.Errorf("next is %s", next)
	}
	_, second := env.call(http.MethodGet, "/v2.0/ports?"+next.RawQuery, nil)
	back, err := url.Parse(second["ports_links"].([]any)[1].(map[string]any)["href"].(string))
	must(t, err)
	_, again := env.call(http.MethodGet, "/v2.0/ports?"+back.RawQuery, nil)
	if diff := cmp.Diff(first["ports"], again["ports"]); diff != "" {
		t.Errorf("the page before the second is not the first (-first +before):\n%s", diff)
	}
}

func TestList_UsesSmallerOfRequestedAndAllowedPageSize(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{MaxPageSize: 2})
	for range 4 {
		env.port(neutron.PortSpec{Name: "mine"})
	}
	for query, want := range map[string]int{"": 2, "&limit=1": 1, "&limit=3": 2, "&limit=0": 2} {
		_, answer := env.call(http.MethodGet, "/v2.0/ports?name=mine"+query, nil)
		if got := len(answer["ports"].([]any)); got != want {
			t.Errorf("%q answered %d ports, want %d", query, got, want)
		}
	}
	env.refused(http.MethodGet, "/v2.0/ports?limit=many", nil, 400, "BadRequest")
	env.refused(http.MethodGet, "/v2.0/ports?limit=-1", nil, 400, "BadRequest")
	env.refused(http.MethodGet, "/v2.0/ports?limit=1&marker=nope", nil, 404, "PortNotFound")
}

func TestList_HasNoLinksWithoutLimit(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	if _, answer := env.call(http.MethodGet, "/v2.0/ports", nil); len(answer) != 1 {
		t.Errorf("answer has %d keys", len(answer))
	}
}
