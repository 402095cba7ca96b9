package e2e_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/openstack-ccm/openstack-ccm/tests/e2e"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/replay"
)

// The simulator gives the same answers to requests that were recorded from it, and the recording
// contains no token.
func TestRecorder_WritesReplayableFilesWithoutToken(t *testing.T) {
	t.Parallel()
	cloud, err := simulator.Start(simulator.Options{Release: "zed", Delays: map[string]octavia.Delays{"": {}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	account := gophercloud.AuthOptions{
		IdentityEndpoint: cloud.AuthURL(), Username: cloud.Account.UserName, Password: cloud.Account.Password,
		TenantName: cloud.Account.ProjectName, DomainName: "Default",
	}
	direct, err := e2e.NewAPI(t.Context(), account, "RegionOne")
	if err != nil {
		t.Fatal(err)
	}
	recorder, err := e2e.StartRecorder(t.Context(), direct)
	if err != nil {
		t.Fatal(err)
	}
	account.IdentityEndpoint = recorder.AuthURL()
	recorded, err := e2e.NewAPI(t.Context(), account, "RegionOne")
	if err != nil {
		t.Fatal(err)
	}
	lb, err := loadbalancers.Create(t.Context(), recorded.LoadBalancer, loadbalancers.CreateOpts{Name: "web", VipSubnetID: cloud.Subnet.ID}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	await.Eventually(t, "the load balancer", func(ctx context.Context) error {
		now, err := loadbalancers.Get(ctx, recorded.LoadBalancer, lb.ID).Extract()
		if err == nil && now.ProvisioningStatus != "ACTIVE" {
			err = errors.New("it is " + now.ProvisioningStatus)
		}
		return err
	})
	if err := loadbalancers.Delete(t.Context(), recorded.LoadBalancer, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "web.json")
	if err := recorder.Close(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), recorded.Network.Token()) {
		t.Errorf("there is a token in the recording, or %v", err)
	}
	result, err := replay.Files("zed", file)
	if err != nil {
		t.Fatal(err)
	}
	if result.Failed > 0 || result.Passed < 3 {
		t.Errorf("%+v", result)
	}
}
