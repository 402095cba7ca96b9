// Package simulated starts a simulated OpenStack for a test, and creates a session.
package simulated

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// Environment is a simulated cloud and the configuration of a controller in it. Fixtures of
// packages embed it and add what they test.
type Environment struct {
	T     *testing.T
	Cloud *simulator.Cloud
	// Conf is the cloud.conf that the cloud itself proposes.
	Conf *config.Config
}

// New starts the simulator for one test.
func New(t *testing.T, options simulator.Options) *Environment {
	t.Helper()
	cloud, conf := Cloud(t, options)
	return &Environment{T: t, Cloud: cloud, Conf: conf}
}

// SignIn opens a session that ends with the test.
func (e *Environment) SignIn(options openstack.SessionOptions) *openstack.Session {
	e.T.Helper()
	return SignIn(e.T, e.Conf, options)
}

// Settle waits until the cloud has done all that it was asked for.
func (e *Environment) Settle() {
	e.T.Helper()
	if err := e.Cloud.WaitSettled(e.T.Context()); err != nil {
		e.T.Fatal(err)
	}
}

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
