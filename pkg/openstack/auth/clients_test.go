package auth

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

func TestToken_ServesAllServicesWithoutDiscovery(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s := signedIn(t, cloud.Config(), testOptions{UserAgent: "openstack-cloud-controller-manager/v1.2.3"})
	ctx := context.Background()
	lb, err := s.LoadBalancer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	network, err := s.Network(ctx)
	if err != nil {
		t.Fatal(err)
	}
	compute, err := s.Compute(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{lb.ServiceURL("lbaas", "loadbalancers"), network.ServiceURL("ports"), compute.ServiceURL("servers")} {
		if _, err := lb.Get(ctx, url, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	var paths []string
	for _, r := range cloud.Requests() {
		paths = append(paths, r.Path)
		if r.Token != "token-1" || !strings.HasPrefix(r.UserAgent, "openstack-cloud-controller-manager/v1.2.3 gophercloud/") {
			t.Errorf("token %q, user agent %q", r.Token, r.UserAgent)
		}
	}
	want := []string{"/load-balancer/v2.0/lbaas/loadbalancers", "/network/v2.0/ports", "/compute/v2.1/servers"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if cloud.SignInCount() != 1 {
		t.Errorf("%d token requests, want 1", cloud.SignInCount())
	}
}

func TestEndpoint_AcceptsAllShapesOfURL(t *testing.T) {
	t.Parallel()
	tests := []struct{ service, path, root, base string }{
		{"load-balancer", "", "/", "/v2.0/"},
		{"load-balancer", "/", "/", "/v2.0/"},
		{"load-balancer", "/load-balancer", "/load-balancer/", "/load-balancer/v2.0/"},
		{"load-balancer", "/load-balancer/", "/load-balancer/", "/load-balancer/v2.0/"},
		{"load-balancer", "/load-balancer/v2.0", "/load-balancer/", "/load-balancer/v2.0/"},
		{"load-balancer", "/v2.0/", "/", "/v2.0/"},
		{"load-balancer", "/v2", "/", "/v2/"},
		{"load-balancer", "/v2.0/lbaas", "/", "/v2.0/"},
		{"network", "", "/", "/v2.0/"},
		{"network", "/networking/", "/networking/", "/networking/v2.0/"},
		{"network", "/network/v2.0", "/network/", "/network/v2.0/"},
		{"compute", "/v2.1/", "/", "/v2.1/"},
		{"compute", "/compute/v2.1/project-1", "/compute/", "/compute/v2.1/project-1/"},
		{"compute", "/v2/project-1/", "/", "/v2/project-1/"},
		{"compute", "/compute", "/compute/", "/compute/v2.1/"},
	}
	for _, test := range tests {
		cloud := fakecloud.New(t)
		cloud.Paths = map[string]string{test.service: test.path}
		s := signedIn(t, cloud.Config(), testOptions{})
		find := s.LoadBalancer
		switch test.service {
		case "network":
			find = s.Network
		case "compute":
			find = s.Compute
		}
		client, err := find(context.Background())
		if err != nil {
			t.Errorf("%s %q: %v", test.service, test.path, err)
			continue
		}
		if client.Endpoint != cloud.URL+test.root || client.ResourceBaseURL() != cloud.URL+test.base {
			t.Errorf("%s %q: root %s, base %s", test.service, test.path, client.Endpoint, client.ResourceBaseURL())
		}
	}
}

func TestEndpoint_IsChosenByRegionAndInterface(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	cfg := cloud.Config()
	cfg.EndpointType = "internalURL"
	client, err := signedIn(t, cfg, testOptions{}).Network(context.Background())
	if err != nil || client.Endpoint != "http://internal.invalid/network/" {
		t.Errorf("internal endpoint %+v, %v", client, err)
	}

	cfg.EndpointType, cfg.Region = "admin", "Nowhere"
	_, err = signedIn(t, cfg, testOptions{}).LoadBalancer(context.Background())
	want := ErrNoEndpoint{Service: "load-balancer", Region: "Nowhere", Interface: "admin",
		Offered: []string{"RegionOne internal", "RegionOne public"}}
	var got ErrNoEndpoint
	if !errors.As(err, &got) {
		t.Fatalf("not an ErrNoEndpoint: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const text = "the service catalog has no admin endpoint of type load-balancer in region Nowhere; it has RegionOne internal, RegionOne public"
	if got.Error() != text {
		t.Errorf("text %q", got.Error())
	}

	cloud.Set(func() { delete(cloud.Paths, "load-balancer") })
	cfg.Region = ""
	_, err = signedIn(t, cfg, testOptions{}).LoadBalancer(context.Background())
	if err == nil || !strings.HasSuffix(err.Error(), "in any region; it has no endpoint at all") {
		t.Errorf("text %v", err)
	}
}

func TestEndpoint_FollowsCatalogOfNewToken(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s := signedIn(t, cloud.Config(), testOptions{})
	cloud.Set(func() { cloud.Paths["network"] = "/moved" })
	cloud.RevokeAll()
	if err := getServer(s); err != nil {
		t.Fatal(err)
	}
	client, err := s.Network(context.Background())
	if err != nil || client.Endpoint != cloud.URL+"/moved/" {
		t.Errorf("%+v, %v", client, err)
	}
}
