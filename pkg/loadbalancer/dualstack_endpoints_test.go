package loadbalancer_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// onBoth sets the endpoints of a dual-stack Service: nodes by their numbers, for each IP family.
func (f *fakeEndpoints) onBoth(svc *v1.Service, v4, v6 string) {
	f.on(svc, v6)
	second := f.of
	second[0].Family = v1.IPv6Protocol
	f.on(svc, v4)
	f.set(append(f.of, second...))
}

// The members follow the endpoints of each IP family. A move takes one batch, and a family that loses its
// last endpoint its members: nothing answers there.
//
//proves:29,55
func TestDualStack_FollowsEndpointsOfEachFamily(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]struct{ start, moved, v4, v6 string }{
		octavia.ProviderAmphora: {"127.100.1.10 127.100.1.11", "127.100.1.10 127.100.1.12", "127.100.1.10", "fd00:6::10"},
		octavia.ProviderOVN: {
			"127.100.1.10 127.100.1.11 fd00:6::10 fd00:6::11", "127.100.1.10 127.100.1.12 fd00:6::10 fd00:6::12", "127.100.1.10", "fd00:6::10",
		},
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			f := &fakeEndpoints{}
			env := newEnvironment(t, environmentOptions{
				keys: map[string]string{"lb-provider": provider}, endpoints: f,
				simulator: simulator.Options{Release: "2026.1", Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"}},
			})
			nodes, svc := env.dualNodes(3), dual(service("web", 1), require, v1.IPv4Protocol, v1.IPv6Protocol)
			svc.Annotations[annotation.Members] = annotation.MembersEndpointNodes
			f.onBoth(svc, "0 1", "0 1")
			svc.Status.LoadBalancer = *env.ensure(svc, nodes)
			expect := func(want string) {
				t.Helper()
				if got := env.addressesAt("TCP", int(svc.Spec.Ports[0].Port)); got != want {
					t.Errorf("members %s, want %s", got, want)
				}
			}
			expect(want.start)
			for _, c := range []struct{ v4, v6, want string }{{"0 2", "0 2", want.moved}, {"0", "", want.v4}, {"", "0", want.v6}} {
				f.onBoth(svc, c.v4, c.v6)
				env.Cloud.RequestLog.Reset()
				env.ensure(svc, nodes)
				env.writes(1)
				expect(c.want)
			}
			env.unchanged(svc, nodes)
		})
	}
}
