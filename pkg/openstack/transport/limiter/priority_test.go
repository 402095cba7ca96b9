package limiter

import (
	"context"
	"net/http"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

func TestPriority_FollowsMethodAndPath(t *testing.T) {
	t.Parallel()
	const high, normal, low = PriorityHigh, PriorityNormal, PriorityLow
	tests := []struct {
		method, path string
		want         Priority
	}{
		{"POST", "/v2.0/lbaas/loadbalancers", high},
		{"DELETE", "/v2.0/lbaas/loadbalancers/1?cascade=true", high},
		{"POST", "/v2.0/lbaas/listeners", high},
		{"DELETE", "/v2.0/lbaas/pools/1/members/2", high},
		{"PUT", "/v2.0/lbaas/listeners/1", normal},
		{"PUT", "/v2.0/lbaas/pools/1/members", normal},
		{"PUT", "/v2.0/lbaas/pools/1/members?additive_only=false", normal},
		{"PUT", "/v2.0/lbaas/pools/1/members?additive_only=true", low},
		{"PUT", "/v2.0/lbaas/pools/1/members?additive_only=True", low},
		{"PUT", "/v2.0/lbaas/listeners/1?additive_only=true", normal},
		{"POST", "/v2.0/lbaas/pools/1/members", low},
		{"POST", "/v2.0/floatingips", high},
		{"PUT", "/v2.0/floatingips/1", normal},
		{"GET", "/v2.0/lbaas/loadbalancers", normal},
	}
	for _, test := range tests {
		req, err := http.NewRequestWithContext(t.Context(), test.method, "http://127.0.0.1"+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := priorityOf(req, rest.KindOf(test.method, req.URL.Path)); got != test.want {
			t.Errorf("%s %s: priority %d, want %d", test.method, test.path, got, test.want)
		}
	}
}

func TestPriority_OfContextComesFirst(t *testing.T) {
	t.Parallel()
	for given, want := range map[Priority]Priority{
		PriorityHigh: PriorityHigh, PriorityLow: PriorityLow, -7: PriorityHigh, 7: PriorityLow,
	} {
		req, err := http.NewRequestWithContext(WithPriority(context.Background(), given), http.MethodPut, "http://127.0.0.1/v2.0/ports/1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := priorityOf(req, rest.KindOf(req.Method, req.URL.Path)); got != want {
			t.Errorf("given %d: %d, want %d", given, got, want)
		}
	}
}
