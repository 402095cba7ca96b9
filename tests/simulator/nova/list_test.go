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

func TestFiltersOfServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nova.Options{})
	one := w.add(nova.ServerSpec{Name: "node-1", Address: "10.6.0.11", Tags: []string{"red", "blue"}})
	w.add(nova.ServerSpec{Name: "node-10", Address: "10.6.0.110", Zone: "az2", Tags: []string{"red"}, Flavor: "k8s.large"})
	w.add(nova.ServerSpec{Name: "Bastion", Address: "10.6.0.200"})
	w.add(nova.ServerSpec{Name: "foreign", ProjectID: "other"})
	w.SetStatus(one.ID, "SHUTOFF")
	large := w.Flavors()[1].ID
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
			if got := w.names(path+query, ""); !slices.Equal(got, want) {
				t.Errorf("%s%s found %q, want %q", path, query, got, want)
			}
		}
	}
	for _, query := range []string{"name=%28", "changes-since=yesterday", "limit=-1", "limit=many", "marker=nope"} {
		status, answer, _ := w.get("/v2.1/servers?"+query, "")
		if status != http.StatusBadRequest || answer["badRequest"] == nil {
			t.Errorf("%s answered %d %v", query, status, answer)
		}
	}
	for query, want := range map[string][]string{"tags=red,blue": {"node-1"}, "tags-any=red,blue": {"node-10", "node-1"}} {
		if got := w.names("/v2.1/servers?"+query, "2.26"); !slices.Equal(got, want) {
			t.Errorf("%s found %q, want %q", query, got, want)
		}
	}
	if status, answer, _ := w.get("/v2.1/servers?all_tenants=1", ""); status != http.StatusForbidden || answer["forbidden"] == nil {
		t.Errorf("the servers of all projects were answered %d %v", status, answer)
	}
}

func TestServersComeInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nova.Options{MaxPageSize: 2})
	for i := range 5 {
		w.add(nova.ServerSpec{Name: fmt.Sprintf("node-%d", i)})
	}
	w.add(nova.ServerSpec{Name: "another"})
	var pages [][]string
	err := servers.List(w.compute, servers.ListOpts{Name: "node", Limit: 10}).EachPage(t.Context(), func(_ context.Context, page pagination.Page) (bool, error) {
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
	if _, answer, _ := w.get("/v2.1/servers?limit=1&name=node-0", ""); answer["servers_links"] == nil {
		t.Error("a full page has no link, even if it is the last")
	}
	if _, answer, _ := w.get("/v2.1/servers?limit=2&name=node-0", ""); answer["servers_links"] != nil {
		t.Error("a page that is not full has a link")
	}
}

func TestChangesSinceTellOfDeletedServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nova.Options{})
	w.add(nova.ServerSpec{Name: "untouched"})
	stopped, deleted := w.add(nova.ServerSpec{Name: "stopped"}), w.add(nova.ServerSpec{Name: "deleted"})
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	since := w.clock.Now().Format(time.RFC3339)
	if got := w.names("/v2.1/servers/detail?changes-since="+since, ""); len(got) != 0 {
		t.Errorf("found %v before any change", got)
	}
	w.SetStatus(stopped.ID, "SHUTOFF")
	w.DeleteServer(deleted.ID)
	pages, err := servers.List(w.compute, servers.ListOpts{ChangesSince: since}).AllPages(t.Context())
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
	if got := w.names("/v2.1/servers/detail", ""); !slices.Equal(got, []string{"stopped", "untouched"}) {
		t.Errorf("the full list is %v", got)
	}
}

func TestServersOfADownCellAreLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nova.Options{})
	w.add(nova.ServerSpec{Name: "near"})
	far := w.add(nova.ServerSpec{Name: "far", Cell: "cell2"})
	w.SetCellDown("cell2", true)

	if got := w.names("/v2.1/servers/detail", ""); !slices.Equal(got, []string{"near"}) {
		t.Errorf("the list is %v", got)
	}
	if status, answer, _ := w.get("/v2.1/servers/"+far.ID, ""); status != http.StatusInternalServerError || answer["computeFault"] == nil {
		t.Errorf("the server answered %d %v, want no 404", status, answer)
	}
	status, answer, _ := w.get("/v2.1/servers/"+far.ID, "2.69")
	partial := answer["server"].(map[string]any)
	if status != http.StatusOK || partial["status"] != "UNKNOWN" || partial["id"] != far.ID || partial["name"] != nil {
		t.Errorf("from 2.69 on the server answered %d %v", status, answer)
	}
	_, answer, _ = w.get("/v2.1/servers/detail", "2.69")
	if listed := answer["servers"].([]any); len(listed) != 2 || listed[0].(map[string]any)["status"] != "UNKNOWN" {
		t.Errorf("from 2.69 on the list is %v", listed)
	}
	if len(w.Servers()) != 2 {
		t.Error("the Go side lost a server")
	}

	w.SetCellDown("cell2", false)
	if got := w.names("/v2.1/servers/detail", ""); !slices.Equal(got, []string{"far", "near"}) {
		t.Errorf("after the cell came back the list is %v", got)
	}
}

func TestServersOfOtherProjectsAreNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nova.Options{})
	foreign := w.add(nova.ServerSpec{Name: "foreign", ProjectID: "other"})
	if status, answer, _ := w.get("/v2.1/servers/"+foreign.ID, ""); status != http.StatusNotFound {
		t.Errorf("answered %d %v", status, answer)
	}
}

func TestServersComeAndGoAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nova.Options{})
	cancel := w.neutron.Subscribe(func() { _ = w.neutron.FloatingIPs() })
	defer cancel()
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for range 10 {
				server, err := w.AddServer(nova.ServerSpec{Name: fmt.Sprint("node-", i), ProjectID: w.projectID, NetworkID: w.network.ID})
				if err != nil {
					t.Error(err)
					return
				}
				w.SetStatus(server.ID, "SHUTOFF")
				if _, err := servers.Get(t.Context(), w.compute, server.ID).Extract(); err != nil {
					t.Error(err)
				}
				_ = w.Servers()
				w.DeleteServer(server.ID)
			}
		})
	}
	wait.Wait()
	if got := w.Servers(); len(got) != 0 {
		t.Errorf("%d servers are left", len(got))
	}
	for _, port := range w.neutron.Ports() {
		if port.DeviceOwner == "compute:nova" {
			t.Errorf("port %s is left of server %s", port.ID, port.DeviceID)
		}
	}
}
