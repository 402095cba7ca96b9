package neutron_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// Neutron, and proxies before it, take no URL above 8 KiB.
func TestPortsWithAddresses_AsksInShortURLs(t *testing.T) {
	t.Parallel()
	cloud, client := cloudAndNetwork(t)
	var addresses []string
	for i := range 200 {
		addresses = append(addresses, fmt.Sprintf("2001:db8:1234:5678:f816:3eff:fe93:%x", 0xd000+i))
	}
	if _, err := client.PortsWithAddresses(t.Context(), addresses); err != nil {
		t.Fatal(err)
	}
	asked := cloud.RequestLog.Requests(requestlog.Under("/network/v2.0/ports"))
	if len(asked) != 3 {
		t.Errorf("%d requests, want 3", len(asked))
	}
	for _, request := range asked {
		if len(request.Path) > 7500 {
			t.Errorf("a URL has %d bytes", len(request.Path))
		}
	}
}

func TestSetRoutes_ChangesOnlyRevisionThatWasRead(t *testing.T) {
	t.Parallel()
	cloud, client := cloudAndNetwork(t)
	server, err := cloud.AddServer("node-1", "")
	if err != nil {
		t.Fatal(err)
	}
	route := neutron.ExtraRoute{Destination: "10.244.1.0/24", NextHop: server.Addresses[0]}
	read, err := client.Router(t.Context(), cloud.Router.ID)
	if err != nil || len(read.Routes) > 0 || read.Revision == nil {
		t.Fatalf("read %+v, error %v", read, err)
	}
	set, err := client.SetRoutes(t.Context(), read, []neutron.ExtraRoute{route})
	if err != nil || len(set.Routes) != 1 || set.Routes[0] != route || *set.Revision <= *read.Revision {
		t.Fatalf("set to %+v, error %v", set, err)
	}
	if _, err := client.SetRoutes(t.Context(), read, nil); !apierror.IsStale(err) {
		t.Errorf("an old revision: error %v", err)
	}
	if set, err = client.SetRoutes(t.Context(), set, nil); err != nil || len(set.Routes) > 0 {
		t.Errorf("set to %+v, error %v", set, err)
	}
	_, err = client.Router(t.Context(), "00000000-0000-4000-8000-000000000000")
	if !apierror.IsNoRouter(err) || apierror.IsUnknownAction(err) {
		t.Errorf("a router that is not there: error %v", err)
	}
}

// The 404 of a proxy proves nothing about the extensions of Neutron.
func TestAddRoutes_ReportsUnknownActionOnlyFromNeutron(t *testing.T) {
	t.Parallel()
	for body, test := range map[string]struct {
		header string
		want   bool
	}{
		`{"NeutronError":{"type":"HTTPNotFound","message":"The resource could not be found.","detail":""}}`: {"", true},
		"<html><title>404 Not Found</title></html>":                                                         {"", false},
		"404 page not found": {"req-1", true},
		"":                   {"", false},
		`{"NeutronError":{"type":"RouterNotFound","message":"Router r could not be found","detail":""}}`: {"req-1", false},
	} {
		cloud := fakecloud.New(t)
		cloud.Services = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Del("X-Openstack-Request-Id")
			if test.header != "" {
				w.Header().Set("X-Openstack-Request-Id", test.header)
			}
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, body)
		}
		client := simulated.SignIn(t, &config.Config{Global: cloud.Config()}, openstack.SessionOptions{}).Neutron()
		err := client.AddRoutes(context.Background(), "r", []neutron.ExtraRoute{{Destination: "10.244.0.0/24", NextHop: "10.0.0.5"}})
		if got := apierror.IsUnknownAction(err); got != test.want {
			t.Errorf("%s: unknown action %t, want %t: %v", body, got, test.want, err)
		}
	}
}
