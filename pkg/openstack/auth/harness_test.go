package auth

import (
	"context"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
)

// testOptions are what tests choose of a session and its transport.
type testOptions struct {
	UserAgent string
	Clock     clock.Clock
	Reread    func() (config.Global, error)
	Retry     transport.RetryPolicy
}

// signIn opens a session on a transport of its own.
func signIn(ctx context.Context, cfg config.Global, opts testOptions) (*Session, error) {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	files, err := transport.ReadTLS(cfg)
	if err != nil {
		return nil, err
	}
	carrier, err := transport.New(files, transport.Options{Clock: opts.Clock, Retry: opts.Retry})
	if err != nil {
		return nil, err
	}
	return SignIn(ctx, cfg, Options{Transport: carrier, UserAgent: opts.UserAgent, Clock: opts.Clock, Reread: opts.Reread})
}

// signedIn signs in to a cloud. The session ends with the test.
func signedIn(t *testing.T, cfg config.Global, opts testOptions) *Session {
	t.Helper()
	silent := klog.NewContext(context.Background(), klog.Logger{})
	s, err := signIn(silent, cfg, opts)
	if err != nil {
		t.Fatalf("sign in: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// getServer is a request like any other.
func getServer(s *Session) error {
	client, err := s.Compute(context.Background())
	if err != nil {
		return err
	}
	_, err = client.Get(context.Background(), client.ServiceURL("servers", "1"), nil, nil)
	return err
}
