package openstack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

// All of it at once, for the race detector.
func TestSession_IsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	cloud.Services = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/load-balancer/" {
			serveVersion("v2.26")(w, r)
			return
		}
		fmt.Fprint(w, "{}")
	}
	s := newSession(t, cloud.Config(), SessionOptions{Metrics: transport.NewMetrics(), VersionAge: time.Nanosecond})
	var all sync.WaitGroup
	for worker := range 16 {
		all.Go(func() {
			for round := range 20 {
				if worker == 0 && round%5 == 0 {
					cloud.RevokeAll()
				}
				// Two revocations can hit one request: the second 401 is an answer.
				if err := getServer(s); err != nil && apierror.StatusCode(err) != 401 {
					t.Error(err)
				}
				if _, err := s.LoadBalancerVersion(context.Background()); err != nil {
					t.Error(err)
				}
				_ = s.ProjectID()
			}
		})
	}
	all.Wait()
}

func TestClose_LeavesNothingBehind(t *testing.T) {
	cloud := fakecloud.New(t)
	before := goleak.IgnoreCurrent()
	s, err := NewSession(context.Background(), cloud.Config(), SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := getServer(s); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close() // twice does no harm
	cloud.CloseClientConnections()
	goleak.VerifyNone(t, before)
}

func TestNewSession_NamesMissingCredentials(t *testing.T) {
	t.Parallel()
	const url = "http://127.0.0.1:1/v3"
	tests := map[string]config.Global{
		"no credentials: set password":                            {AuthURL: url},
		"one of Username and UserID":                              {AuthURL: url, Password: "s3cret"},
		"one of DomainID or DomainName":                           {AuthURL: url, Password: "s3cret", Username: "ccm"},
		"Application Credential Secret":                           {AuthURL: url, ApplicationCredentialID: "a"},
		"auth-url is not an http or https URL":                    {AuthURL: "keystone:5000", Password: "s3cret", UserID: "u1"},
		`os-endpoint-type "secret": allowed are public, internal`: {AuthURL: url, Password: "s3cret", UserID: "u1", EndpointType: "secret"},
		"read ca-file":                                            {AuthURL: url, Password: "s3cret", UserID: "u1", CAFile: "/does/not/exist"},
	}
	for want, cfg := range tests {
		_, err := NewSession(context.Background(), cfg, SessionOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// newSession signs in to a cloud. The session ends with the test.
func newSession(t *testing.T, cfg config.Global, opts SessionOptions) *Session {
	t.Helper()
	silent := klog.NewContext(context.Background(), klog.Logger{})
	s, err := NewSession(silent, cfg, opts)
	if err != nil {
		t.Fatalf("NewSession: %v", err)
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
