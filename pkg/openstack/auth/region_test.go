package auth

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

// catalogOf makes a catalog of lines such as "compute RegionTwo RegionOne".
func catalogOf(lines ...string) []tokens.CatalogEntry {
	var catalog []tokens.CatalogEntry
	for _, line := range lines {
		words := strings.Fields(line)
		entry := tokens.CatalogEntry{Type: words[0]}
		for _, region := range words[1:] {
			for _, iface := range []string{"internal", "public"} {
				entry.Endpoints = append(entry.Endpoints, tokens.Endpoint{
					Interface: iface, Region: region, RegionID: region, URL: "http://" + iface + "." + region + "/" + words[0],
				})
			}
		}
		catalog = append(catalog, entry)
	}
	return catalog
}

func TestRegion_IsPinnedAtSignIn(t *testing.T) {
	t.Parallel()
	later := catalogOf("load-balancer RegionTwo RegionOne Site", "network RegionTwo RegionOne", "compute RegionTwo RegionOne", "key-manager RegionTwo RegionOne Site")
	for name, test := range map[string]struct {
		region  string
		catalog []tokens.CatalogEntry
		// home is the pinned region, "" when it is refused; at is where the load
		// balancer and the key manager are looked for in later.
		home, octavia, barbican string
		warned                  int
	}{
		"one region":                   {"", catalogOf("compute RegionOne", "network RegionOne", "load-balancer RegionOne", "key-manager RegionOne"), "RegionOne", "RegionOne", "RegionOne", 0},
		"a service that comes later":   {"", catalogOf("network RegionOne", "compute RegionOne"), "RegionOne", "RegionOne", "RegionOne", 0},
		"several regions":              {"", catalogOf("compute RegionOne RegionTwo", "network RegionOne RegionTwo", "load-balancer RegionOne RegionTwo"), "RegionOne", "RegionOne", "RegionOne", 1},
		"a key manager of the site":    {"", catalogOf("compute RegionOne", "network RegionOne", "key-manager Site"), "RegionOne", "RegionOne", "Site", 2},
		"a region that is given":       {"RegionTwo", catalogOf("compute RegionOne RegionTwo", "network RegionOne RegionTwo"), "RegionTwo", "RegionTwo", "RegionTwo", 0},
		"which is meant is not clear":  {"", catalogOf("compute RegionOne RegionTwo", "network RegionTwo RegionOne"), "", "", "", 0},
		"an alias of the network type": {"", catalogOf("networking RegionTwo", "load-balancer RegionTwo"), "RegionTwo", "RegionTwo", "RegionTwo", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pinned, warnings, err := endpointSelector{region: test.region, iface: "public"}.pin(test.catalog)
			if test.home == "" {
				if err == nil || !strings.Contains(err.Error(), "region") || !strings.Contains(err.Error(), "compute in RegionOne, network in RegionTwo") {
					t.Errorf("got %v, want a refusal that names both", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := pinned.regionOf(""); got != test.home {
				t.Errorf("pinned is %q, want %q", got, test.home)
			}
			if len(warnings) != test.warned {
				t.Errorf("warnings %q, want %d", warnings, test.warned)
			}
			for service, region := range map[string]string{"compute": test.home, "network": test.home, "load-balancer": test.octavia, "key-manager": test.barbican} {
				got, err := pinned.find(later, []string{service})
				if want := "http://public." + region + "/" + service; err != nil || got != want {
					t.Errorf("%s is at %s, %v; want %s", service, got, err, want)
				}
			}
		})
	}
}

// An operator who adds a region must not find the cluster's nodes and load balancers
// looked for there.
func TestRegion_StaysPinnedWithNewToken(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	cfg := cloud.Config()
	cfg.Region = ""
	s := signedIn(t, cfg, testOptions{})
	if s.PinnedRegion() != "RegionOne" || s.Region() != "" {
		t.Errorf("pinned region %q, configured %q", s.PinnedRegion(), s.Region())
	}
	cloud.Set(func() { cloud.Before = "RegionTwo" })
	cloud.RevokeAll()
	if err := getServer(s); err != nil {
		t.Fatal(err)
	}
	if cloud.SignInCount() != 2 {
		t.Fatalf("%d sign-ins, want the catalog of a second one", cloud.SignInCount())
	}
	for _, find := range []func(context.Context) (*gophercloud.ServiceClient, error){s.Compute, s.Network, s.LoadBalancer} {
		client, err := find(t.Context())
		if err != nil || !strings.HasPrefix(client.Endpoint, cloud.URL) {
			t.Errorf("endpoint %+v, %v", client, err)
		}
	}
	cloud.Set(func() { cloud.Region = "RegionThree" })
	cloud.RevokeAll()
	if err := getServer(s); err != nil { // the last one where it was
		t.Fatal(err)
	}
	var missing ErrNoEndpoint
	if _, err := s.Compute(t.Context()); !errors.As(err, &missing) || missing.Region != "RegionOne" {
		t.Errorf("once the region is gone: %v", err)
	}
}

func TestEndpoint_IsFoundWithinAMinuteOfAppearing(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]string{"a password": "", "a token that nothing renews": "given-token"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := fakecloud.New(t)
			cfg := cloud.Config()
			if token != "" {
				cfg.Token, cfg.Username, cfg.Password, cfg.TenantID = token, "", "", ""
			}
			cloud.Set(func() { delete(cloud.Paths, "load-balancer") })
			now := clocktesting.NewFakeClock(time.Now())
			s := signedIn(t, cfg, testOptions{Clock: now})
			missing := func(when string, signIns int) {
				t.Helper()
				var missing ErrNoEndpoint
				if _, err := s.LoadBalancer(t.Context()); !errors.As(err, &missing) {
					t.Fatalf("%s: got %v, want ErrNoEndpoint", when, err)
				}
				if got := cloud.SignInCount(); got != signIns {
					t.Errorf("%s: %d requests to Keystone, want %d", when, got, signIns)
				}
			}
			missing("at the first look, which asks anew", 2)
			cloud.Set(func() { cloud.Paths["load-balancer"] = "/load-balancer" })
			missing("shortly after", 2)
			now.Step(refreshAge)
			for range 2 {
				if _, err := s.LoadBalancer(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if got := cloud.SignInCount(); got != 3 {
				t.Errorf("%d requests to Keystone, want 3", got)
			}
		})
	}
}
