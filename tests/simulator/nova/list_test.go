package nova_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
)

func TestList_FiltersServers(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	one := env.add(nova.ServerSpec{Name: "node-1", Address: "10.6.0.11", Tags: []string{"red", "blue"}})
	env.add(nova.ServerSpec{Name: "node-10", Address: "10.6.0.110", Zone: "az2", Tags: []string{"red"}, Flavor: "k8s.large"})
	env.add(nova.ServerSpec{Name: "Bastion", Address: "10.6.0.200"})
	env.add(nova.ServerSpec{Name: "foreign", ProjectID: "other"})
	env.SetStatus(one.ID, "SHUTOFF")
	large := env.Flavors()[1].ID
	for query, want := range map[string][]string{
		"":                             {"Bastion", "node-10", "node-1"}, // newest first
		"name=node-1":                  {"node-10", "node-1"},
		"name=%5Enode-1%24":            {"node-1"},
		"name=bastion":                 {"Bastion"}, // the database ignores case
		"status=SHUTOFF":               {"node-1"},
		"status=active&name=node":      {"node-10"},
		"status=ACTIVE&status=SHUTOFF": {"Bastion", "node-10", "node-1"},
		"ip=10.6.0.11":                 {"node-10", "node-1"},
		"ip=%5E10.6.0.11%24":           {"node-1"},
		"availability_zone=az2":        {"node-10"},
		"flavor=" + large:              {"node-10"},
		"uuid=" + one.ID:               {"node-1"},
		"tags=red,blue":                {"Bastion", "node-10", "node-1"}, // from 2.26 on
		"unknown=filter":               {"Bastion", "node-10", "node-1"},
	} {
		for _, path := range []string{"/v2.1/servers?", "/v2.1/servers/detail?"} {
			if got := env.names(path+query, ""); !slices.Equal(got, want) {
				t.Errorf("%s%s found %q, want %q", path, query, got, want)
			}
		}
	}
	for _, query := range []string{"name=%28", "changes-since=yesterday", "limit=-1", "limit=many", "marker=nope"} {
		status, answer, _ := env.get("/v2.1/servers?"+query, "")
		if status != http.StatusBadRequest || answer["badRequest"] == nil {
			t.Errorf("%s answered %d %v", query, status, answer)
		}
	}
	for query, want := range map[string][]string{"tags=red,blue": {"node-1"}, "tags-any=red,blue": {"node-10", "node-1"}} {
		if got := env.names("/v2.1/servers?"+query, "2.26"); !slices.Equal(got, want) {
			t.Errorf("%s found %q, want %q", query, got, want)
		}
	}
	if status, answer, _ := env.get("/v2.1/servers?all_tenants=1", ""); status != http.StatusForbidden || answer["forbidden"] == nil {
		t.Errorf("the servers of all projects were answered %d %v", status, answer)
	}
}

func TestList_ComesInPages(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{MaxPageSize: 2})
	for i := range 5 {
		env.add(nova.ServerSpec{Name: fmt.Sprintf("node-%d", i)})
	}
	env.add(nova.ServerSpec{Name: "another"})
	var pages [][]string
	err := servers.List(env.compute, servers.ListOpts{Name: "node", Limit: 10}).EachPage(t.Context(), func(_ context.Context, page pagination.Page) (bool, error) {
		found, err := servers.ExtractServers(page)
		var names []string
		for _, server := range found {
			names = append(names, server.Name)
		}
		pages = append(pages, names)
		return true, err
	})
	must(t, err)
	want := [][]string{{"node-4", "node-3"}, {"node-2", "node-1"}, {"node-0"}}
	if len(pages) != 3 || !slices.EqualFunc(pages, want, slices.Equal) {
		t.Errorf("pages are %v, want %v", pages, want)
	}
	if _, answer, _ := env.get("/v2.1/servers?limit=1&name=node-0", ""); answer["servers_links"] == nil {
		t.Error("a full page has no link, even if it is the last")
	}
	if _, answer, _ := env.get("/v2.1/servers?limit=2&name=node-0", ""); answer["servers_links"] != nil {
		t.Error("a page that is not full has a link")
	}
}

func TestList_ShowsDeletedServersByChangesSince(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	env.add(nova.ServerSpec{Name: "untouched"})
	stopped, deleted := env.add(nova.ServerSpec{Name: "stopped"}), env.add(nova.ServerSpec{Name: "deleted"})
	env.clock.SetTime(env.clock.Now().Add(time.Minute))
	since := env.clock.Now().Format(time.RFC3339)
	if got := env.names("/v2.1/servers/detail?changes-since="+since, ""); len(got) != 0 {
		t.Errorf("found %v before any change", got)
	}
	env.SetStatus(stopped.ID, "SHUTOFF")
	env.DeleteServer(deleted.ID)
	pages, err := servers.List(env.compute, servers.ListOpts{ChangesSince: since}).AllPages(t.Context())
	must(t, err)
	found, err := servers.ExtractServers(pages)
	must(t, err)
	statuses := map[string]string{}
	for _, server := range found {
		statuses[server.Name] = server.Status
	}
	if len(statuses) != 2 || statuses["stopped"] != "SHUTOFF" || statuses["deleted"] != "DELETED" {
		t.Errorf("changes are %v", statuses)
	}
	if got := env.names("/v2.1/servers/detail", ""); !slices.Equal(got, []string{"stopped", "untouched"}) {
		t.Errorf("the full list is %v", got)
	}
}

func TestList_LeavesOutServersOfDownCell(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	env.add(nova.ServerSpec{Name: "near"})
	far := env.add(nova.ServerSpec{Name: "far", Cell: "cell2"})
	env.SetCellDown("cell2", true)

	if got := env.names("/v2.1/servers/detail", ""); !slices.Equal(got, []string{"near"}) {
		t.Errorf("the list is %v", got)
	}
	if status, answer, _ := env.get("/v2.1/servers/"+far.ID, ""); status != http.StatusInternalServerError || answer["computeFault"] == nil {
		t.Errorf("the server answered %d %v, want no 404", status, answer)
	}
	status, answer, _ := env.get("/v2.1/servers/"+far.ID, "2.69")
	partial := answer["server"].(map[string]any)
	if status != http.StatusOK || partial["status"] != "UNKNOWN" || partial["id"] != far.ID || partial["name"] != nil {
		t.Errorf("from 2.69 on the server answered %d %v", status, answer)
	}
	_, answer, _ = env.get("/v2.1/servers/detail", "2.69")
	if listed := answer["servers"].([]any); len(listed) != 2 || listed[0].(map[string]any)["status"] != "UNKNOWN" {
		t.Errorf("from 2.69 on the list is %v", listed)
	}
	if len(env.Servers()) != 2 {
		t.Error("the Go side lost a server")
	}

	env.SetCellDown("cell2", false)
	if got := env.names("/v2.1/servers/detail", ""); !slices.Equal(got, []string{"far", "near"}) {
		t.Errorf("after the cell came back the list is %v", got)
	}
}

func TestServers_AreHiddenFromOtherProjects(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	foreign := env.add(nova.ServerSpec{Name: "foreign", ProjectID: "other"})
	if status, answer, _ := env.get("/v2.1/servers/"+foreign.ID, ""); status != http.StatusNotFound {
		t.Errorf("answered %d %v", status, answer)
	}
}

func TestServers_AreAddedAndDeletedConcurrently(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nova.Options{})
	cancel := env.neutron.Subscribe(func() { _ = env.neutron.FloatingIPs() })
	defer cancel()
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for range 10 {
				server, err := env.AddServer(nova.ServerSpec{Name: fmt.Sprint("node-", i), ProjectID: env.projectID, NetworkID: env.network.ID})
				if err != nil {
					t.Error(err)
					return
				}
				env.SetStatus(server.ID, "SHUTOFF")
				if _, err := servers.Get(t.Context(), env.compute, server.ID).Extract(); err != nil {
					t.Error(err)
				}
				_ = env.Servers()
				env.DeleteServer(server.ID)
			}
		})
	}
	wait.Wait()
	if got := env.Servers(); len(got) != 0 {
		t.Errorf("%d servers are left", len(got))
	}
	for _, port := range env.neutron.Ports() {
		if port.DeviceOwner == "compute:nova" {
			t.Errorf("port %s is left of server %s", port.ID, port.DeviceID)
		}
	}
}
