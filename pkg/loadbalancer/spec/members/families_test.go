package members_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
)

// hosts returns nodes with addresses in a network: "a b" and "fd00::" give a at fd00::a and b at fd00::b.
func hosts(network, names string) *model.Hosts {
	var all []model.Host
	for _, name := range strings.Fields(names) {
		all = append(all, model.Host{Name: name, Address: network + name})
	}
	return model.HostsOf(all...)
}

func pods(network, names string) model.Members {
	var all []model.Member
	for _, name := range strings.Fields(names) {
		all = append(all, model.Member{Name: name, Address: network + name, Port: 8080})
	}
	return model.MembersOf(all...)
}

func addressesOf(p members.Port) string {
	var all []string
	for _, m := range p.Members(model.Member{Port: 30080}).All() {
		all = append(all, m.Address)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// A port with VIPs of both families that only members of their own family serve has members of both. At any
// other port, each node and pod gets its share once.
func TestWith_HasTheMembersThatThePortNeeds(t *testing.T) {
	t.Parallel()
	const v4, v6 = "10.0.0.", "fd00::"
	four := func(names string) members.Port { return members.Port{Hosts: hosts(v4, names)} }
	six := func(names string) members.Port { return members.Port{Hosts: hosts(v6, names)} }
	held := func(p members.Port) members.Port { p.Held = true; return p }
	for name, c := range map[string]struct {
		first, second members.Port
		both, once    string
	}{
		"nodes of both families":      {four("1 2"), six("1 2"), "10.0.0.1 10.0.0.2 fd00::1 fd00::2", "10.0.0.1 10.0.0.2"},
		"a node of each family alone": {four("1 2"), six("2 3"), "10.0.0.1 10.0.0.2 fd00::2 fd00::3", "10.0.0.1 10.0.0.2 fd00::3"},
		"nodes of the first alone":    {four("1"), members.Port{}, "10.0.0.1", "10.0.0.1"},
		"nodes of the second alone":   {members.Port{}, six("1"), "fd00::1", "fd00::1"},
		"the second has no endpoint":  {four("1"), held(six("1")), "10.0.0.1", "10.0.0.1"},
		"the first has no endpoint":   {held(four("1")), six("1"), "fd00::1", "fd00::1"},
		"pods": {
			members.Port{Pods: pods(v4, "7 8")}, members.Port{Pods: pods(v6, "7 8")},
			"10.0.0.7 10.0.0.8 fd00::7 fd00::8", "10.0.0.7 10.0.0.8",
		},
	} {
		for both, want := range map[bool]string{true: c.both, false: c.once} {
			joined := members.Followed{Ports: members.Ports{c.first}}.With(members.Followed{Ports: members.Ports{c.second}}, 1, func(int) bool { return both })
			if got := addressesOf(joined.Ports.At(0)); got != want {
				t.Errorf("%s, members of both families %v: %s, want %s", name, both, got, want)
			}
		}
	}
}

// A port keeps its last members only if neither family has an endpoint.
func TestWith_IsEmptyWithoutEndpointsOfBothFamilies(t *testing.T) {
	t.Parallel()
	first := members.Followed{Ports: members.Ports{{Held: true}, {Held: true}}, Empty: []string{"TCP/80", "TCP/81"}}
	second := members.Followed{Ports: members.Ports{{Hosts: hosts("fd00::", "1")}, {Held: true}}, Empty: []string{"TCP/81"}}
	joined := first.With(second, 2, func(int) bool { return true })
	if got := fmt.Sprint(joined.Empty, joined.Ports.At(0).Held, joined.Ports.At(1).Held); got != "[TCP/81] false true" {
		t.Errorf("without endpoints, and held: %s", got)
	}
}
