package lookup_test

import (
	"context"
	"net/http"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// wideCloud has something for each read: external networks without a default, routers to some of them, subnets of
// both IP families, servers and a free port.
func wideCloud() (*tables, []members.Backend) {
	cloud := internet(false, "mars")
	cloud.network(neutron.Network{ID: "dual", ProjectID: "ours"}, "d4 10.2.0.0/24", "d6 fd00:d::/64", "f4 10.3.0.0/24")
	cloud.routers = append(cloud.routers, neutron.Router{
		ID: "other", Gateways: []neutron.RouterGateway{{NetworkID: "one"}, {NetworkID: "three"}}, Routes: to("10.244.0.0/16", "10.2.0.11"),
	})
	cloud.attach("other", "d4", "10.2.0.1")
	cloud.attach("other", "d6", "fd00:d::1")
	nodes := nodesOf(cloud, at{"d4", "10.2.0.11"}, at{"f4", "10.3.0.11"}, at{"d6", "fd00:d::11"})
	cloud.servers = append(cloud.servers, neutron.Port{ID: "free", FixedIPs: []neutron.FixedIP{{SubnetID: "d4", IPAddress: "10.2.0.50"}}})
	cloud.flavors, cloud.zones = catalog().flavors, catalog().zones
	return cloud, nodes
}

// A read without an answer is an error, never a guess, and it is not kept: the next call succeeds.
func TestReader_ReturnsTheErrorOfEachRead(t *testing.T) {
	t.Parallel()
	prefer := dual(v1.IPFamilyPolicyPreferDualStack)
	calls := map[string]func(context.Context, *lookup.Reader, []members.Backend) error{
		"pool of a network": func(ctx context.Context, r *lookup.Reader, _ []members.Backend) error {
			_, err := r.Pools.Of(ctx, "dual", v1.IPv6Protocol)
			return err
		},
		"pool of a subnet": func(ctx context.Context, r *lookup.Reader, _ []members.Backend) error {
			_, err := r.Pools.In(ctx, "d4")
			return err
		},
		"pods": func(ctx context.Context, r *lookup.Reader, nodes []members.Backend) error {
			_, err := r.Reach(ctx, lookup.Pods{Addresses: []string{"10.244.0.1", "10.3.0.11"}, VIP: model.VIP{SubnetID: "d4"}, Nodes: nodes[:1]})
			return err
		},
		"pods, subnet unknown": func(ctx context.Context, r *lookup.Reader, _ []members.Backend) error {
			_, err := r.Reach(ctx, lookup.Pods{Addresses: []string{"10.3.0.11"}, VIP: model.VIP{NetworkID: "dual"}})
			return err
		},
		"floating IP": func(ctx context.Context, r *lookup.Reader, _ []members.Backend) error {
			_, _, err := r.Floating(ctx, inSettings(external), nil, model.VIP{SubnetID: "d4"})
			return err
		},
		"address of a floating IP": func(ctx context.Context, r *lookup.Reader, _ []members.Backend) error {
			return r.FloatingAddress(ctx, "one", "203.0.113.9", "x")
		},
		"address of a VIP": func(ctx context.Context, r *lookup.Reader, _ []members.Backend) error {
			return r.FreeVIP(ctx, model.VIP{SubnetID: "d4", Address: "10.2.0.99"}, "x")
		},
		"range": func(ctx context.Context, r *lookup.Reader, _ []members.Backend) error {
			_, err := r.Range(ctx, "d4", v1.IPv6Protocol, "x")
			return err
		},
		"subnets of nodes": func(ctx context.Context, r *lookup.Reader, _ []members.Backend) error {
			_, err := r.NodeSubnets(ctx, []string{serverID(0)})
			return err
		},
		"family of a VIP": func(ctx context.Context, r *lookup.Reader, _ []members.Backend) error {
			s := inSettings(inSubnet("d4"), func(s *settings.Settings) { s.Traffic.Ports = []v1.ServicePort{{Protocol: v1.ProtocolTCP}} })
			return r.Families(ctx, s, desire.Facts{Driver: driver.Of("ovn", newest), VIPSubnetID: "d4"}, nil)
		},
		"provider": func(ctx context.Context, r *lookup.Reader, _ []members.Backend) error {
			return r.Provider(ctx, inSettings(func(s *settings.Settings) { s.LoadBalancer.Provider, s.LoadBalancer.ProviderAsked = "amphora", true }))
		},
	}
	there := &model.LoadBalancer{VIP: model.VIP{SubnetID: "d4", Address: "10.2.0.9"}}
	for name, test := range map[string]struct {
		existing *model.LoadBalancer
		changes  []func(*settings.Settings)
	}{
		"nodes in several subnets": {nil, []func(*settings.Settings){external}},
		"address of floating IP":   {nil, []func(*settings.Settings){external, inSubnet("d4"), func(s *settings.Settings) { s.LoadBalancerIP = "203.0.113.9" }}},
		"subnets by name":          {nil, []func(*settings.Settings){inSubnet("d4"), floatingIn(settings.FloatingSettings{NetworkID: "one", Pattern: "*"})}},
		"subnet of floating IP":    {nil, []func(*settings.Settings){inSubnet("d4"), floatingIn(settings.FloatingSettings{SubnetID: "one-a"})}},
		"flavor and zone":          {nil, []func(*settings.Settings){flavor("large"), zone("east"), inSubnet("d4")}},
		"network":                  {nil, []func(*settings.Settings){inNetwork("dual"), prefer}},
		"named subnets":            {nil, []func(*settings.Settings){inNetwork("dual"), prefer, beside("d6")}},
		"port":                     {nil, []func(*settings.Settings){func(s *settings.Settings) { s.VIP.PortID = "free" }}},
		"members elsewhere":        {nil, []func(*settings.Settings){inSubnet("d4"), prefer, func(s *settings.Settings) { s.Members.SubnetID = "f4" }}},
		"members of cloud.conf":    {nil, []func(*settings.Settings){inSubnet("d4"), func(s *settings.Settings) { s.Members.DefaultSubnetID = "f4" }}},
		"replacement":              {there, []func(*settings.Settings){prefer, func(s *settings.Settings) { s.LoadBalancer.AllowReplace = true }}},
		"existing, no floating IP": {there, []func(*settings.Settings){external}},
	} {
		s, drv := inSettings(test.changes...), driver.Of("amphora", newest)
		calls["gather: "+name] = func(ctx context.Context, r *lookup.Reader, nodes []members.Backend) error {
			_, err := r.Gather(ctx, s, nodes, drv, test.existing)
			return err
		}
		if test.existing == nil && len(s.VIP.SubnetID+s.VIP.NetworkID) > 0 {
			calls["preview: "+name] = func(ctx context.Context, r *lookup.Reader, _ []members.Backend) error {
				_, err := r.Preview(ctx, s, drv)
				return err
			}
		}
	}
	for name, call := range calls {
		for broken := 1; ; broken++ {
			cloud, nodes := wideCloud()
			cloud.broken = broken
			reader, _ := cloud.reader()
			err := call(t.Context(), reader, nodes)
			if cloud.reads < broken {
				if err != nil || broken == 1 {
					t.Errorf("%s: %d reads, error %v", name, cloud.reads, err)
				}
				break
			}
			if apierror.StatusCode(err) != http.StatusBadRequest {
				t.Errorf("%s: read %d fails, %v: error %v", name, broken, cloud.calls, err)
			}
			if err := call(t.Context(), reader, nodes); err != nil {
				t.Errorf("%s: after read %d failed: %v", name, broken, err)
			}
		}
	}
}
