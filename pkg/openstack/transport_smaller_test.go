package openstack

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// silentPool never answers, and counts how often its connections are dropped.
type silentPool struct{ dropped int }

func (p *silentPool) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func (p *silentPool) CloseIdleConnections() { p.dropped++ }

// When an address moves to another machine, all connections to it are dead.
func TestConnectionsAreNotUsedAgainAfterATimeout(t *testing.T) {
	t.Parallel()
	pool := &silentPool{}
	e := &exchange{base: pool, timeout: time.Millisecond, maxBody: defaultMaxBody}
	req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://octavia/", nil)
	var timeout *apierror.TimeoutError
	if _, _, err := e.do(req); !errors.As(err, &timeout) || pool.dropped != 1 {
		t.Errorf("dropped %d times, want once: %v", pool.dropped, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := e.do(req.WithContext(ctx)); err == nil || pool.dropped != 1 {
		t.Errorf("dropped %d times although the caller ended it: %v", pool.dropped, err)
	}
}

// Barbican may ask to be left alone for minutes: load balancers do not wait for that.
func TestBarbicansPauseHoldsUpNoOtherService(t *testing.T) {
	t.Parallel()
	pacer := newPacer(Limits{}.withDefaults(), clock.RealClock{}, nil)
	request := func(path string) (*place, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		t.Cleanup(cancel)
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://cloud"+path, nil)
		return pacer.enter(req, request.KindOf(req.Method, req.URL.Path))
	}
	secret, err := request("/key-manager/v1/secrets/1")
	if err != nil {
		t.Fatal(err)
	}
	secret.leave(context.Background(), answered(503, 300))
	if _, err := request("/load-balancer/"); err != nil {
		t.Errorf("the version of Octavia: %v", err)
	}
}

// A refused redirect says where to and what to do.
func TestRedirectThatIsNotFollowedSaysSo(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	cloud.services = answer(301, "Location", "https://cloud.example.org:8774/compute/secret?path=1")
	err := getServer(cloud.session(t, cloud.config(), SessionOptions{}))
	const want = "a redirect to https://cloud.example.org:8774, which is not followed: give that in auth-url, or in the service catalog"
	if err == nil || !strings.Contains(apierror.Wrap(err, "read server 1").Error(), want) {
		t.Errorf("%v", apierror.Wrap(err, "read server 1"))
	}
}

// Octavia answers 500 to members that are null.
func TestNoMembersAreAnEmptyList(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	cloud.services = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "{}")
	}
	s := cloud.session(t, cloud.config(), SessionOptions{})
	if err := s.Octavia().SetMembers(context.Background(), "p1", nil, false); err != nil {
		t.Fatal(err)
	}
	if body := cloud.requests()[0].Body; body != `{"members":[]}` {
		t.Errorf("sent %s", body)
	}
}

// The 404 of a proxy says nothing about the extensions of Neutron.
func TestOnlyNeutronKnowsNoAction(t *testing.T) {
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
		cloud := newFakeCloud(t)
		cloud.services = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Del("X-Openstack-Request-Id")
			if test.header != "" {
				w.Header().Set("X-Openstack-Request-Id", test.header)
			}
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, body)
		}
		s := cloud.session(t, cloud.config(), SessionOptions{})
		err := s.Neutron().AddRoutes(context.Background(), "r", []neutron.ExtraRoute{{Destination: "10.244.0.0/24", NextHop: "10.0.0.5"}})
		if got := apierror.IsUnknownAction(err); got != test.want {
			t.Errorf("%s: unknown action %t, want %t: %v", body, got, test.want, err)
		}
	}
}
