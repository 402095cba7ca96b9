package openstack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

//proves:95
func TestNewSession_SignsInByCloudsYAML(t *testing.T) {
	t.Parallel()
	cloud, _ := simulated(t, simulator.Options{})
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	text := fmt.Sprintf("clouds:\n  mine:\n    auth: {auth_url: %q, user_id: %q, password: %q, project_id: %q}\n    region_name: RegionOne\n",
		cloud.AuthURL(), cloud.Account.UserID, cloud.Account.Password, cloud.Account.ProjectID)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	none := func(string) (string, bool) { return "", false }
	cfg, _, err := config.Load(strings.NewReader("[Global]\nuse-clouds=true\ncloud=mine\nclouds-file="+file+"\n"), none)
	if err != nil {
		t.Fatal(err)
	}
	s := signIn(t, cfg.Global)
	if s.ProjectID() != cloud.Account.ProjectID {
		t.Errorf("project %q, want %q", s.ProjectID(), cloud.Account.ProjectID)
	}
	if _, err := s.Octavia().LoadBalancers(t.Context(), octavia.LoadBalancerFilter{All: true}); err != nil {
		t.Error(err)
	}
}
