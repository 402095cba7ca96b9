package goal

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
)

// Ports are written as their nodes, in the order of the ports; "-" begins one that is held.
func TestNodesOf_FollowsTheEndpointsOfAllPorts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ports, want string
		ready       bool
	}{
		"no ports":                             {"", "", false},
		"one port":                             {"ab", "ab", true},
		"endpoints of all ports on a node":     {"ab bc", "b", true},
		"the same of all":                      {"ab ab ab", "ab", true},
		"of each port on other nodes":          {"a b", "ab", true},
		"of each two ports on a node":          {"ab bc ca", "abc", true},
		"of the first port only":               {"ab -c", "ab", true},
		"of the last port only":                {"-c ab", "ab", true},
		"of two of three ports":                {"ab -c bd", "b", true},
		"of the last two of three ports":       {"-c ab bd", "b", true},
		"of two of three ports, on other ones": {"a -c b", "ab", true},
		"none":                                 {"-ab -bc", "abc", false},
	} {
		var ports members.Ports
		for _, text := range strings.Fields(test.ports) {
			nodes, held := strings.CutPrefix(text, "-")
			var hosts []model.Host
			for _, name := range strings.Split(nodes, "") {
				hosts = append(hosts, model.Host{Name: "node-" + name, Address: name})
			}
			ports = append(ports, members.Port{Hosts: model.HostsOf(hosts...), Held: held})
		}
		nodes, ready := nodesOf(ports)
		got := ""
		for _, n := range nodes {
			if got += n.Address; n.Name != "node-"+n.Address {
				t.Errorf("%s: node %+v", name, n)
			}
		}
		if got != test.want || ready != test.ready {
			t.Errorf("%s: nodes %q, ready %v, want %q, %v", name, got, ready, test.want, test.ready)
		}
	}
}
