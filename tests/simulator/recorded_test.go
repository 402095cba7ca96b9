package simulator_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/recorded"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
)

// recording has the answers of a real Zed cloud, and the intended differences of the simulator.
type recording struct {
	service string // path of the service in the simulator
	file    string
	// without are keys with arbitrary values: counters of a whole cloud.
	without []string
	// statusOnly has the exchanges of which only the status is compared, and except those that are
	// not compared, both by name with the reason.
	statusOnly, except map[string]string
}

func recordings() []recording {
	return []recording{
		{
			service: "/network", file: "network",
			without: []string{"standard_attr_id", "revision_number", "external_fixed_ips", "subnets"},
			statusOnly: map[string]string{
				"quota":                    "limits are the deployment's",
				"quota default":            "limits are the deployment's",
				"quota details":            "limits are the deployment's",
				"ports with bad fixed ips": "the recorded servers had no hypervisor",
				"extension":                "names and dates of extensions are not kept",
				"extensions":               "names and dates of extensions are not kept",
				"routes add":               "the OVN router tells four attributes more in this answer alone",
				"routes add same":          "the OVN router tells four attributes more in this answer alone",
				"routes remove":            "the OVN router tells four attributes more in this answer alone",
				"routes remove missing":    "the OVN router tells four attributes more in this answer alone",
			},
		},
		{
			service: "/compute", file: "compute",
			statusOnly: map[string]string{
				"interfaces":      "the recorded servers had no hypervisor",
				"interfaces 2.70": "the recorded servers had no hypervisor",
				"servers by ip":   "addresses are each cloud's own",
			},
		},
		{
			service: "/identity", file: "identity", without: []string{"audit_ids"},
			statusOnly: map[string]string{
				"token":    "its catalog is of other services",
				"catalog":  "of other services",
				"appcreds": "the recorded user had one",
			},
		},
	}
}

func TestCloud_AnswersLikeRecordedRealCloud(t *testing.T) {
	t.Parallel()
	for _, r := range recordings() {
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			replay(t, r)
		})
	}
}

func replay(t *testing.T, r recording) {
	exchanges, err := recorded.Read("testdata/zed/" + r.file + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	cloud := likeTheRecorded(t)
	player := playerFor(t, cloud, r.service)
	for _, exchange := range exchanges {
		got, err := player.Send(t.Context(), exchange)
		if err != nil {
			t.Error(err)
			continue
		}
		want := player.Want(exchange)
		if _, is := r.except[exchange.Name]; is {
			continue
		}
		if _, is := r.statusOnly[exchange.Name]; is {
			got, want = recorded.Answer{Status: got.Status}, recorded.Answer{Status: want.Status}
		}
		got.Body, want.Body = recorded.Mask(got.Body, r.without...), recorded.Mask(want.Body, r.without...)
		if difference := cmp.Diff(want, got); difference != "" {
			t.Errorf("%s: %s %s: the real cloud (-) and the simulator (+) differ:\n%s", exchange.Name, exchange.Method, exchange.Path, difference)
		}
	}
}

// likeTheRecorded returns a cloud with the objects of the recorded one.
func likeTheRecorded(t *testing.T) *simulator.Cloud {
	t.Helper()
	cloud := start(t, simulator.Options{Flavors: []nova.Flavor{
		{ID: "82ee70d8-26fd-4a6d-b402-04a2f7d4f8d9", Name: "k8s.large", VCPUs: 4, RAM: 512, Disk: 1},
		{ID: "ca160b14-fa07-4674-b6f0-50b6253895b0", Name: "k8s.small", VCPUs: 1, RAM: 64, Disk: 1},
	}, Topology: simulator.Topology{
		ExternalNetwork: "ext-net", ExternalCIDR: "172.24.4.0/22", CIDR: "10.6.0.0/16", IPv6CIDR: "fd00:6::/64",
	}})
	group := nodeGroup(t, cloud)
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		_, err := cloud.Nova.AddServer(nova.ServerSpec{
			Name: name, ProjectID: cloud.Account.ProjectID, UserID: cloud.Account.UserID, NetworkID: cloud.Network.ID,
			Flavor: "k8s.small", Metadata: map[string]string{"role": "node"},
			SecurityGroups: []string{group},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return cloud
}

func playerFor(t *testing.T, cloud *simulator.Cloud, service string) *recorded.Player {
	t.Helper()
	token, err := cloud.Keystone.IssueToken(cloud.Account.UserID, cloud.Account.ProjectID)
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{
		"project": cloud.Account.ProjectID, "user": cloud.Account.UserID, "password": cloud.Account.Password,
		"token": token, "none": "deadbeef-dead-beef-dead-beefdeadbeef",
		"net": cloud.Network.ID, "subnet": cloud.Subnet.ID, "subnet6": cloud.SubnetV6.ID,
		"extnet": cloud.ExternalNetwork.ID, "router": cloud.Router.ID,
	}
	servers := cloud.Nova.Servers()
	for i, name := range []string{"server", "server2", "server3"} {
		variables[name] = servers[i].ID
	}
	flavors := cloud.Nova.Flavors()
	for name, flavor := range map[string]string{"flavor": "k8s.small", "flavor2": "k8s.large"} {
		at := slices.IndexFunc(flavors, func(f nova.Flavor) bool { return f.Name == flavor })
		variables[name] = flavors[at].ID
	}
	return &recorded.Player{URL: cloud.URL() + service, Token: token, Variables: variables}
}

// nodeGroup is the security group of the recorded servers.
func nodeGroup(t *testing.T, cloud *simulator.Cloud) string {
	t.Helper()
	group, err := cloud.Neutron.CreateSecurityGroup(neutron.SecurityGroupSpec{ProjectID: cloud.Account.ProjectID, Name: "k8s-nodes"})
	if err != nil {
		t.Fatal(err)
	}
	var rules []neutron.SecurityGroupRule
	for etherType, protocols := range map[string][]string{
		"IPv4": {"tcp", "udp", "sctp", "icmp"}, "IPv6": {"tcp", "udp", "sctp", "ipv6-icmp"},
	} {
		for _, protocol := range protocols {
			rules = append(rules, neutron.SecurityGroupRule{Direction: "ingress", EtherType: etherType, Protocol: protocol})
		}
	}
	if _, err := cloud.Neutron.AddSecurityGroupRules(group.ID, rules...); err != nil {
		t.Fatal(err)
	}
	return group.ID
}
