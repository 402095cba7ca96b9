// Package simulated signs tests in to an OpenStack of their own.
package simulated

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// Cloud starts the simulator and reads its cloud.conf. It ends with the test.
func Cloud(t *testing.T, options simulator.Options) (*simulator.Cloud, *config.Config) {
	t.Helper()
	cloud, err := simulator.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	conf, _, err := config.Load(strings.NewReader(cloud.CloudConf()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return cloud, conf
}

// SignIn opens a session as cloud.conf says. It ends with the test.
func SignIn(t *testing.T, conf *config.Config, options openstack.SessionOptions) *openstack.Session {
	t.Helper()
	session, err := openstack.NewSession(t.Context(), conf.Global, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}
