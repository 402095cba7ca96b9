package cloudprovider

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// nobodyListens is the address of a Keystone that is away.
const nobodyListens = "http://127.0.0.1:1/identity/v3"

func TestConnectWhenAvailable_WaitsForKeystone(t *testing.T) {
	t.Parallel()
	_, c := connection(t, func(*config.Config) {})
	clk := clocktesting.NewFakeClock(time.Now())
	there, rereads := *c.Config, 0
	c.Clock, c.Config.Global.AuthURL = clk, nobodyListens
	c.Reread = func() (*config.Config, []config.Warning, error) {
		if rereads++; rereads == 1 {
			return nil, nil, errors.New("cloud.conf is just being written")
		}
		return &there, nil, nil
	}
	connected := make(chan *Provider, 1)
	go func() {
		p, err := ConnectWhenAvailable(t.Context(), c)
		if err != nil {
			t.Error(err)
		}
		connected <- p
	}()
	await.Condition(t, "the sign-in with what cloud.conf says by then", func() bool {
		clk.Step(firstSignInDelay)
		return len(connected) > 0
	})
	if p := <-connected; p != nil {
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if rereads != 2 || c.Config.Global.AuthURL != nobodyListens {
		t.Errorf("cloud.conf was read %d times, and the caller's is %s", rereads, c.Config.Global.AuthURL)
	}
}

func TestConnectWhenAvailable_ReturnsRefusedCredentials(t *testing.T) {
	t.Parallel()
	_, c := connection(t, func(conf *config.Config) { conf.Global.Password = "wrong" })
	if p, err := ConnectWhenAvailable(t.Context(), c); p != nil || apierror.StatusCode(err) != http.StatusUnauthorized {
		t.Errorf("got %v, %v", p, err)
	}
}

func TestConnectWhenAvailable_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	_, c := connection(t, func(conf *config.Config) { conf.Global.AuthURL = nobodyListens })
	clk := clocktesting.NewFakeClock(time.Now())
	c.Clock = clk
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := ConnectWhenAvailable(ctx, c)
		ended <- err
	}()
	await.Condition(t, "it waits", clk.HasWaiters)
	stop()
	if err := <-ended; err == nil {
		t.Error("it has connected")
	}
}
