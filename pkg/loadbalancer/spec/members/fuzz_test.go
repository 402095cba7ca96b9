package members_test

import (
	"net/netip"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/hostile"
)

// FuzzNodes selects members among Nodes that have any names, labels and addresses.
func FuzzNodes(f *testing.F) {
	f.Add("a,b", "10.0.0.1,fd00::1", "pool", "web", false)
	f.Add("\x1b[2J,\n", "10.0.0.1%eth0,::ffff:10.0.0.1,256.1.1.1", "", "", true)
	f.Add(strings.Repeat("n,", 300), strings.Repeat("10.0.0.1,", 300), "x", "\xff", false)
	f.Fuzz(func(t *testing.T, names, addresses, key, value string, v6 bool) {
		family := v1.IPv4Protocol
		if v6 {
			family = v1.IPv6Protocol
		}
		s, _, errs := fixture.Parse(t, fixture.Service(fixture.Families(family)), fixture.Config())
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		var nodes []*v1.Node
		at := strings.Split(addresses, ",")
		for n, name := range strings.Split(names, ",") {
			node := fixture.Node(name, at[n%len(at)])
			node.Labels = map[string]string{key: value}
			node.Spec.ProviderID = value
			nodes = append(nodes, node)
		}
		var backends []members.Backend
		var err error
		hostile.Bounded(t, len(names)+len(addresses), func() { backends, _, err = selected(s, nodes) })
		if (err == nil) != (len(backends) > 0) {
			t.Errorf("%d backends, %v", len(backends), err)
		}
		seen := map[string]bool{}
		for _, b := range backends {
			address, err := netip.ParseAddr(b.Address)
			if err != nil || address.Zone() != "" || address.Is6() != v6 || seen[b.Address] {
				t.Errorf("a member at %q", b.Address)
			}
			seen[b.Address] = true
		}
	})
}
