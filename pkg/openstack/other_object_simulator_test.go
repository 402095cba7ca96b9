package openstack

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// readsByID are all reads of one object, with an answer about an object x.
func readsByID(s *Session) map[string]struct {
	answer string
	read   func(ctx context.Context, id string) error
} {
	type read = struct {
		answer string
		read   func(ctx context.Context, id string) error
	}
	o, n := s.Octavia(), s.Neutron()
	return map[string]read{
		"load balancer":          {`{"loadbalancer": {"id": "x"}}`, func(ctx context.Context, id string) error { _, err := o.LoadBalancer(ctx, id); return err }},
		"state":                  {`{"loadbalancer": {"id": "x", "provisioning_status": "ACTIVE"}}`, func(ctx context.Context, id string) error { _, err := o.LoadBalancerState(ctx, id); return err }},
		"status tree":            {`{"statuses": {"loadbalancer": {"id": "x"}}}`, func(ctx context.Context, id string) error { _, err := o.StatusTree(ctx, id); return err }},
		"monitor":                {`{"healthmonitor": {"id": "x"}}`, func(ctx context.Context, id string) error { _, err := o.Monitor(ctx, id); return err }},
		"network":                {`{"network": {"id": "x"}}`, func(ctx context.Context, id string) error { _, err := n.Network(ctx, id); return err }},
		"subnet":                 {`{"subnet": {"id": "x"}}`, func(ctx context.Context, id string) error { _, err := n.Subnet(ctx, id); return err }},
		"port":                   {`{"port": {"id": "x"}}`, func(ctx context.Context, id string) error { _, err := n.Port(ctx, id); return err }},
		"routed port":            {`{"port": {"id": "x"}}`, func(ctx context.Context, id string) error { _, err := n.RoutedPort(ctx, id); return err }},
		"router":                 {`{"router": {"id": "x"}}`, func(ctx context.Context, id string) error { _, err := n.Router(ctx, id); return err }},
		"server":                 {`{"server": {"id": "x"}}`, func(ctx context.Context, id string) error { _, err := s.Nova().GetServer(ctx, id); return err }},
		"flavor of a server":     {`{"server": {"id": "x", "flavor": {"id": "f"}}}`, func(ctx context.Context, id string) error { _, err := s.Nova().FlavorID(ctx, id); return err }},
		"list of load balancers": {`{"loadbalancers": []}`, func(ctx context.Context, id string) error { _, err := o.LoadBalancer(ctx, id); return err }},
	}
}

// A server or a proxy that normalizes paths answers "." and ".." with something else.
func TestRead_OfOneObjectTakesNoOther(t *testing.T) {
	t.Parallel()
	cloud, s := simulated(t, simulator.Options{})
	for name, c := range readsByID(s) {
		cloud.Faults.Clear()
		cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Status: http.StatusOK, Body: c.answer, Header: http.Header{"Content-Type": {"application/json"}}})
		if err := c.read(t.Context(), "5b8e7a55-2b1c-4d0c-93b5-1d4a3c1f0a77"); err == nil || !strings.Contains(err.Error(), "the answer is about") {
			t.Errorf("%s: error %v", name, err)
		}
		if err := c.read(t.Context(), "X"); (err != nil) != strings.HasPrefix(name, "list") {
			t.Errorf("%s: error %v about the same ID in capital letters", name, err)
		}
		cloud.RequestLog.Reset()
		for _, id := range []string{"", ".", ".."} {
			if err := c.read(t.Context(), id); err == nil || !strings.Contains(err.Error(), "is not an ID") {
				t.Errorf("%s: error %v for the ID %q", name, err, id)
			}
		}
		if all := cloud.RequestLog.Requests(); len(all) > 0 {
			t.Errorf("%s: asked %v for what is no ID", name, all)
		}
	}
}

func TestCertificate_IsTheOneThatWasAskedFor(t *testing.T) {
	t.Parallel()
	const ref = "https://barbican.example.com/v1/secrets/5b8e7a55-2b1c-4d0c-93b5-1d4a3c1f0a77"
	for answer, found := range map[string]bool{
		`{"secret_ref": "` + ref + `"}`:    true,
		`{"container_ref": "` + ref + `"}`: true,
		`{"secret_ref": "https://barbican.example.com/v1/secrets/67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"}`: false,
		`{"secrets": []}`: false,
		`{}`:              false,
	} {
		cloud, s := simulated(t, simulator.Options{})
		cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Status: http.StatusOK, Body: answer, Header: http.Header{"Content-Type": {"application/json"}}})
		if err := s.Barbican().Exists(t.Context(), ref); (err == nil) != found {
			t.Errorf("%s: error %v", answer, err)
		}
	}
}

// A filter that is empty by mistake would list what belongs to others.
func TestList_RequiresFilterOrAll(t *testing.T) {
	t.Parallel()
	cloud, s := simulated(t, simulator.Options{})
	cloud.RequestLog.Reset()
	ctx := t.Context()
	for name, list := range map[string]func() error{
		"floating IPs of no port": func() error { _, err := s.Neutron().FloatingIPs(ctx, neutron.FloatingIPFilter{PortID: ""}); return err },
		"floating IPs of an empty ID": func() error {
			_, err := s.Neutron().FloatingIPs(ctx, neutron.FloatingIPFilter{IDs: []string{""}})
			return err
		},
		"load balancers of no address": func() error {
			_, err := s.Octavia().LoadBalancers(ctx, octavia.LoadBalancerFilter{VIPAddress: ""})
			return err
		},
		"load balancers of an empty tag": func() error {
			_, err := s.Octavia().LoadBalancers(ctx, octavia.LoadBalancerFilter{Tags: []string{""}})
			return err
		},
		"listeners of no load balancer":       func() error { _, err := s.Octavia().Listeners(ctx, ""); return err },
		"pools of no load balancer":           func() error { _, err := s.Octavia().Pools(ctx, ""); return err },
		"subnets of no network":               func() error { _, err := s.Neutron().Subnets(ctx, ""); return err },
		"ports of no server":                  func() error { _, err := s.Neutron().PortsOfDevices(ctx, []string{"a", ""}); return err },
		"security groups without a name":      func() error { _, err := s.Neutron().SecurityGroupsNamed(ctx, ""); return err },
		"rules of no group":                   func() error { _, err := s.Neutron().SecurityGroupRules(ctx, ""); return err },
		"interfaces in no subnet and network": func() error { _, err := s.Neutron().RouterInterfaces(ctx, "", ""); return err },
	} {
		if err := list(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if all := cloud.RequestLog.Requests(); len(all) > 0 {
		t.Errorf("asked %v", all)
	}
	for name, list := range map[string]func() error{
		"floating IPs": func() error { _, err := s.Neutron().FloatingIPs(ctx, neutron.FloatingIPFilter{All: true}); return err },
		"load balancers": func() error {
			_, err := s.Octavia().LoadBalancers(ctx, octavia.LoadBalancerFilter{All: true})
			return err
		},
		"states": func() error { _, err := s.Octavia().LoadBalancerStates(ctx, ""); return err },
	} {
		if err := list(); err != nil {
			t.Errorf("all %s: %v", name, err)
		}
	}
}
