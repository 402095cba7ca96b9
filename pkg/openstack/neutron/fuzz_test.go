package neutron_test

import (
	"context"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/hostile"
)

// calls are all that decode an answer.
func calls(c *neutron.Client) []func(context.Context) error {
	return []func(context.Context) error{
		func(ctx context.Context) error { _, err := c.ExternalNetworks(ctx); return err },
		func(ctx context.Context) error { _, err := c.Network(ctx, "network"); return err },
		func(ctx context.Context) error { _, err := c.Subnets(ctx, "network"); return err },
		func(ctx context.Context) error { _, err := c.Subnet(ctx, "subnet"); return err },
		func(ctx context.Context) error { _, err := c.Port(ctx, "port"); return err },
		func(ctx context.Context) error { _, err := c.PortsOfDevices(ctx, []string{"a", "b"}); return err },
		func(ctx context.Context) error {
			_, err := c.FloatingIPs(ctx, neutron.FloatingIPFilter{All: true})
			return err
		},
		func(ctx context.Context) error {
			_, err := c.CreateFloatingIP(ctx, floatingips.CreateOpts{FloatingNetworkID: "network"})
			return err
		},
		func(ctx context.Context) error {
			_, err := c.UpdateFloatingIP(ctx, "fip", floatingips.UpdateOpts{})
			return err
		},
		func(ctx context.Context) error { _, err := c.Router(ctx, "router"); return err },
		func(ctx context.Context) error { return c.AddRoutes(ctx, "router", nil) },
		func(ctx context.Context) error {
			_, err := c.SetRoutes(ctx, &neutron.Router{ID: "router"}, nil)
			return err
		},
		func(ctx context.Context) error { _, err := c.RouterPorts(ctx, "router"); return err },
		func(ctx context.Context) error {
			_, err := c.PortsWithAddresses(ctx, []string{"192.0.2.1"})
			return err
		},
		func(ctx context.Context) error { _, err := c.RoutedPort(ctx, "port"); return err },
		func(ctx context.Context) error { _, err := c.SubportAddresses(ctx); return err },
		func(ctx context.Context) error { _, err := c.AllSecurityGroups(ctx); return err },
		func(ctx context.Context) error { _, err := c.SecurityGroups(ctx, []string{"a"}); return err },
		func(ctx context.Context) error { _, err := c.CreateSecurityGroup(ctx, "a", "b"); return err },
		func(ctx context.Context) error { return c.TagSecurityGroup(ctx, "a", []string{"b"}) },
		func(ctx context.Context) error { _, err := c.SecurityGroupRules(ctx, "a"); return err },
		func(ctx context.Context) error { _, err := c.SecurityGroupRuleIDs(ctx); return err },
		func(ctx context.Context) error {
			_, err := c.CreateSecurityGroupRules(ctx, "a", []rules.CreateOpts{{Direction: rules.DirIngress, EtherType: rules.EtherType4}})
			return err
		},
		func(ctx context.Context) error { _, err := c.PortsInGroup(ctx, "a"); return err },
		func(ctx context.Context) error {
			_, err := c.SetPortGroups(ctx, neutron.Port{ID: "port"}, []string{"a"})
			return err
		},
	}
}

// FuzzAnswer has Neutron answer anything to every kind of request.
func FuzzAnswer(f *testing.F) {
	for n, body := range []string{
		`{"networks": [{"id": "1", "router:external": true, "subnets": null}], "networks_links": [{"rel": "next", "href": "x"}]}` + "\n---\n" + `{"networks": [{"id": "2"}], "networks_links": [{"rel": "next"}]}`,
		`{"network": {"id": "n", "router:external": "yes"}}`, `{"subnets": [{"cidr": 7, "ip_version": 1e99}]}`, `{"subnet": {"tags": [null]}}`,
		`{"port": {"fixed_ips": [{"ip_address": "\u0000"}], "revision_number": -1}}`, `{"ports": [{"device_id": "a", "security_groups": ["x"]}]}`,
		`{"floatingips": [{"id": "f", "created_at": "2026-11-20T18:34:24Z", "port_details": {}}]}`, `{"floatingip": {"created_at": "never"}}`, `{"floatingip": []}`,
		`{"router": {"routes": [{"destination": "10.0.0.0/8", "nexthop": "x"}]}}`, `{"router": {}}`, `{"router": {"routes": null}}`,
		`{"ports": [{"mac_address": "a", "allowed_address_pairs": [{}]}]}`, `{"ports": null}`, `{"port": {"allowed_address_pairs": {}}}`,
		`{"trunks": [{"port_id": "a", "sub_ports": [{"port_id": "b"}]}], "ports": [{"id": "a", "device_id": "s"}, {"id": "b", "network_id": "n", "fixed_ips": [{"ip_address": "x"}]}], "networks": [{"id": "n", "name": "\n"}]}`,
		`{"security_groups": [{"security_group_rules": [{"port_range_min": null, "protocol": "6"}]}]}`, `{"security_groups": [{"tags": "a"}]}`,
		`{"security_group": {"id": "g"}}`, `{"tags": ["b"]}`, `{"security_group_rules": [{"id": "r", "security_group_id": "a"}]}`, `{"security_group_rules": [1]}`,
		`{"NeutronError": {"type": "OverQuota", "message": "a\u001b[2Jb"}}`, "\xff", `{"port": {"security_groups": ["a"], "port_security_enabled": "x"}}`,
	} {
		f.Add(n, 200, []byte(body))
		f.Add(n, []int{400, 404, 409, 412, 201}[n%5], []byte(body))
	}
	f.Fuzz(func(t *testing.T, which, status int, answer []byte) {
		cloud := hostile.NewCloud(t, 200+max(0, status)%400, answer)
		all := calls(neutron.New(cloud))
		cloud.Try(all[max(0, which)%len(all)])
	})
}
