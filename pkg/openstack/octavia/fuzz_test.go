package octavia_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/hostile"
)

// calls returns all methods that decode an answer.
func calls(c *octavia.Client) []func(context.Context) error {
	return []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := c.LoadBalancers(ctx, octavia.LoadBalancerFilter{All: true})
			return err
		},
		func(ctx context.Context) error { _, err := c.LoadBalancer(ctx, "lb"); return err },
		func(ctx context.Context) error { _, err := c.LoadBalancerStates(ctx, ""); return err },
		func(ctx context.Context) error { _, err := c.LoadBalancerState(ctx, "lb"); return err },
		func(ctx context.Context) error { _, err := c.Listeners(ctx, "lb"); return err },
		func(ctx context.Context) error { _, err := c.Pools(ctx, "lb"); return err },
		func(ctx context.Context) error { _, err := c.Members(ctx, "pool"); return err },
		func(ctx context.Context) error { _, err := c.Monitor(ctx, "monitor"); return err },
		func(ctx context.Context) error { _, err := c.AllMonitors(ctx); return err },
		func(ctx context.Context) error { _, err := c.Providers(ctx); return err },
		func(ctx context.Context) error { _, err := c.Flavors(ctx); return err },
		func(ctx context.Context) error { _, err := c.AvailabilityZones(ctx); return err },
		func(ctx context.Context) error { _, err := c.PoolOwners(ctx, "lb"); return err },
		func(ctx context.Context) error { _, err := c.StatusTree(ctx, "lb"); return err },
		func(ctx context.Context) error {
			_, err := c.CreateLoadBalancer(ctx, octavia.LoadBalancer{VIPSubnetID: "subnet"})
			return err
		},
		func(ctx context.Context) error {
			_, err := c.CreateListener(ctx, octavia.Listener{LoadBalancerID: "lb", Protocol: "TCP", Port: 80})
			return err
		},
		func(ctx context.Context) error {
			_, err := c.CreatePool(ctx, octavia.Pool{LoadBalancerID: "lb", Protocol: "TCP", Algorithm: "ROUND_ROBIN"})
			return err
		},
		func(ctx context.Context) error {
			_, err := c.CreateMonitor(ctx, octavia.HealthMonitor{PoolID: "pool", Type: "TCP", Delay: 1, Timeout: 1, MaxRetries: 1})
			return err
		},
		func(ctx context.Context) error {
			_, err := c.AddMember(ctx, "pool", octavia.Member{Address: "192.0.2.1", Port: 80})
			return err
		},
		func(ctx context.Context) error { return c.DeleteLoadBalancer(ctx, "lb", true) },
	}
}

// FuzzAnswer makes Octavia answer any text to every kind of request.
func FuzzAnswer(f *testing.F) {
	for n, body := range []string{
		`{"loadbalancers": [{"id": "1", "created_at": "2026-11-20T18:34:24", "pools": [{"id": "p"}], "tags": ["a"]}], "loadbalancers_links": [{"rel": "next", "href": "http://x/?limit=1&marker=1"}]}` +
			"\n---\n" + `{"loadbalancers": [{"id": "2"}], "loadbalancers_links": [{"rel": "next", "href": "%"}]}`,
		`{"loadbalancer": {"id": "1", "created_at": "not a time", "vip_address": 7}}`,
		`{"listeners": [{"id": "l", "allowed_cidrs": null, "insert_headers": {"X-Forwarded-For": "true"}, "timeout_client_data": 1e400}]}`,
		`{"pools": [{"id": "p", "session_persistence": {"type": "SOURCE_IP", "persistence_timeout": -1}, "members": [{}]}]}`,
		`{"members": [{"id": "m", "weight": 99999999999999999999}]}`,
		`{"healthmonitor": {"id": "m", "http_version": "1.1", "domain_name": "\u001b[2J"}}`,
		`{"healthmonitors": {}}`, `{"providers": [{"name": "a\nb"}, null]}`, `{"flavors": null}`,
		`{"availability_zones": [[[[]]]]}`, `{"pools": [{"id": "\n"}], "pools_links": {}}`, `[]`, `{"members":[],"members":[{"id":"x"}]}`,
		`{"statuses": {"loadbalancer": {"listeners": [{"pools": [{"health_monitor": {}, "members": [{"protocol_port": 1}]}]}]}}}`,
		`{"loadbalancer": {"id": "1", "pools": [{"id": "p", "members": [{"x": [{}]}]}]}}`, "\xff\xfe", "", "null", `{"faultstring": "a\r\nb"}`, `{"loadbalancer": "`,
	} {
		f.Add(n, 200, []byte(body))
		f.Add(n, []int{400, 404, 409, 500, 201, 204}[n%6], []byte(body))
	}
	f.Fuzz(func(t *testing.T, which, status int, answer []byte) {
		cloud := hostile.NewCloud(t, 200+max(0, status)%400, answer)
		all := calls(octavia.New(cloud))
		cloud.Try(all[max(0, which)%len(all)])
	})
}

// FuzzVersions makes Octavia answer any text to a request for its versions.
func FuzzVersions(f *testing.F) {
	f.Add(300, []byte(`{"versions": [{"id": "v2.26", "status": "CURRENT"}, {"id": "v2.0", "status": "SUPPORTED"}]}`))
	f.Add(200, []byte(`{"versions": [{"id": "v99999999999.1", "status": "CURRENT"}, {"id": 7}]}`))
	f.Add(404, []byte(`<html>`))
	f.Fuzz(func(t *testing.T, status int, answer []byte) {
		cloud := hostile.NewCloud(t, 200+max(0, status)%400, answer)
		reader := octavia.NewVersionReader(t.Context(), cloud, octavia.VersionOptions{Age: time.Hour, Clock: clock.RealClock{}})
		cloud.Try(func(ctx context.Context) error {
			version, err := reader.Version(ctx)
			if err == nil && (version.Major < 0 || version.Major > 1<<16 || version == (model.Version{})) {
				t.Errorf("version %s", version)
			}
			return err
		})
	})
}
