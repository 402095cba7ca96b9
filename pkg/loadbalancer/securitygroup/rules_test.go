package securitygroup

import (
	"slices"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

func TestPlan_CreatesTheFirstRulesOfAService(t *testing.T) {
	t.Parallel()
	wanted, common := rule("tcp", 30080, "10.6.0.0/16"), rule("tcp", 10256, "10.6.0.0/16")
	d := &Desired{Name: "sg", Own: []Rule{wanted}}
	for name, test := range map[string]struct {
		there   []Held
		creates bool
	}{
		"none of its own":      {[]Held{{ID: "c", Rule: common, Common: true}}, true},
		"another of its own":   {[]Held{there("o", rule("tcp", 31000, "10.6.0.0/16"))}, false},
		"all that it wants":    {[]Held{there("o", wanted)}, false},
		"none in an old group": {nil, true},
	} {
		if creates := Diff(d, State{GroupID: "g", Rules: test.there}).Creates(); creates != test.creates {
			t.Errorf("%s: it creates the first: %v", name, creates)
		}
	}
}

func TestLetsEverybodyIn_WhereARuleOpensThePortToAll(t *testing.T) {
	t.Parallel()
	at := func(port int) *int { return &port }
	own := rule("tcp", 30080, "192.0.2.0/24")
	for name, test := range map[string]struct {
		change func(*neutron.SecurityGroupRule)
		opens  bool
	}{
		"any port":           {func(*neutron.SecurityGroupRule) {}, true},
		"the port":           {func(r *neutron.SecurityGroupRule) { r.PortRangeMin, r.PortRangeMax = at(30080), at(30080) }, true},
		"lower ports":        {func(r *neutron.SecurityGroupRule) { r.PortRangeMin, r.PortRangeMax = at(1), at(30079) }, false},
		"higher ports":       {func(r *neutron.SecurityGroupRule) { r.PortRangeMin, r.PortRangeMax = at(30081), at(65535) }, false},
		"all NodePorts":      {func(r *neutron.SecurityGroupRule) { r.PortRangeMin, r.PortRangeMax = at(30000), at(32767) }, true},
		"another protocol":   {func(r *neutron.SecurityGroupRule) { r.Protocol = "udp" }, false},
		"any protocol":       {func(r *neutron.SecurityGroupRule) { r.Protocol = "" }, true},
		"some clients":       {func(r *neutron.SecurityGroupRule) { r.RemoteIPPrefix = "192.0.2.0/24" }, false},
		"everybody, in full": {func(r *neutron.SecurityGroupRule) { r.RemoteIPPrefix = "0.0.0.0/0" }, true},
		"IPv6":               {func(r *neutron.SecurityGroupRule) { r.EtherType = "IPv6" }, false},
		"egress":             {func(r *neutron.SecurityGroupRule) { r.Direction = "egress" }, false},
		"a group":            {func(r *neutron.SecurityGroupRule) { r.RemoteGroupID = "g" }, false},
		"an address group":   {func(r *neutron.SecurityGroupRule) { r.RemoteAddressGroupID = "g" }, false},
	} {
		r := neutron.SecurityGroupRule{}
		r.Direction, r.EtherType, r.Protocol = "ingress", "IPv4", "tcp"
		test.change(&r)
		if opens := letsEverybodyIn(r, own); opens != test.opens {
			t.Errorf("%s: it lets everybody in: %v", name, opens)
		}
	}
}

func TestClients_AreThoseThatRulesLetInToThePorts(t *testing.T) {
	t.Parallel()
	ports := []Opening{{"tcp", 30080}, {"tcp", 30443}}
	office, home, everybody := "192.0.2.0/24", "198.51.100.0/24", "0.0.0.0/0"
	rules := []Held{
		there("1", rule("tcp", 30443, home)), there("2", rule("tcp", 30080, office)), there("3", rule("tcp", 30080, home)),
		there("4", rule("tcp", 31000, "10.0.0.0/8")), {ID: "5", Rule: rule("tcp", 30080, "10.1.0.0/16"), Common: true}, {ID: "6", Text: "egress"},
	}
	if got := clients(rules, ports, []string{everybody}); !slices.Equal(got, []string{office, home}) {
		t.Errorf("%v", got)
	}
	if got := clients(append(rules, there("7", rule("tcp", 30443, everybody))), ports, []string{everybody}); !slices.Equal(got, []string{everybody}) {
		t.Errorf("with everybody: %v", got)
	}
	families := []string{everybody, "::/0"}
	if got := clients(append(rules, there("7", rule("tcp", 30443, everybody))), ports, families); !slices.Equal(got, []string{everybody, office, home}) {
		t.Errorf("with everybody of one family: %v", got)
	}
	if got := clients(append(rules, there("7", rule("tcp", 30443, everybody)), there("8", rule("tcp", 30080, "::/0"))), ports, families); !slices.Equal(got, families) {
		t.Errorf("with everybody of both families: %v", got)
	}
}
