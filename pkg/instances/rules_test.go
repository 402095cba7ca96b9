package instances

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
)

// everything is a server with one address of each kind.
func everything() *nova.Server {
	return &nova.Server{
		AccessIPv4: "203.0.113.9", AccessIPv6: "2001:db8::9",
		Metadata: map[string]string{"hostname": "node-1.example.org"},
		Addresses: nova.ServerAddresses{
			{Network: "public", Address: "192.0.2.4"},
			{Network: "private", Address: "10.0.0.5"},
			{Network: "private", Address: "198.51.100.7", Floating: true},
			{Network: "private", Address: "fd00::5"},
			{Network: "storage", Address: "172.16.0.5"},
		},
	}
}

//proves:107
func TestAddresses_FollowNetworkingSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		networking config.Networking
		want       []string
	}{
		"by default": {config.Networking{}, []string{
			"InternalIP 192.0.2.4", "InternalIP 10.0.0.5", "InternalIP fd00::5", "InternalIP 172.16.0.5",
			"ExternalIP 203.0.113.9", "ExternalIP 2001:db8::9", "Hostname node-1.example.org", "ExternalIP 198.51.100.7",
		}},
		"a public network": {config.Networking{PublicNetworkName: []string{"public"}}, []string{
			"InternalIP 10.0.0.5", "InternalIP fd00::5", "InternalIP 172.16.0.5",
			"ExternalIP 203.0.113.9", "ExternalIP 2001:db8::9", "Hostname node-1.example.org", "ExternalIP 198.51.100.7", "ExternalIP 192.0.2.4",
		}},
		"one internal network": {config.Networking{InternalNetworkName: []string{"private"}}, []string{
			"InternalIP 10.0.0.5", "InternalIP fd00::5",
			"ExternalIP 203.0.113.9", "ExternalIP 2001:db8::9", "Hostname node-1.example.org", "ExternalIP 198.51.100.7",
		}},
		"public before internal": {config.Networking{PublicNetworkName: []string{"private"}, InternalNetworkName: []string{"private", "storage"}}, []string{
			"InternalIP 172.16.0.5",
			"ExternalIP 203.0.113.9", "ExternalIP 2001:db8::9", "Hostname node-1.example.org",
			"ExternalIP 10.0.0.5", "ExternalIP 198.51.100.7", "ExternalIP fd00::5",
		}},
		"without IPv6": {config.Networking{IPv6SupportDisabled: true}, []string{
			"InternalIP 192.0.2.4", "InternalIP 10.0.0.5", "InternalIP 172.16.0.5",
			"ExternalIP 203.0.113.9", "Hostname node-1.example.org", "ExternalIP 198.51.100.7",
		}},
		"sorted": {config.Networking{AddressSortOrder: "fd00::/8, 198.51.100.0/24,10.1.2.3/8"}, []string{
			"InternalIP fd00::5", "ExternalIP 198.51.100.7", "InternalIP 10.0.0.5",
			"InternalIP 192.0.2.4", "InternalIP 172.16.0.5",
			"ExternalIP 203.0.113.9", "ExternalIP 2001:db8::9", "Hostname node-1.example.org",
		}},
		"sorted within a block": {config.Networking{AddressSortOrder: "172.16.0.0/12 0.0.0.0/0, fd00::/8"}, []string{
			"InternalIP 172.16.0.5", "InternalIP 10.0.0.5", "InternalIP 192.0.2.4", "ExternalIP 198.51.100.7", "ExternalIP 203.0.113.9",
			"InternalIP fd00::5", "ExternalIP 2001:db8::9", "Hostname node-1.example.org",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, err := newAddressRules(test.networking)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, address := range rules.of(everything(), nil) {
				got = append(got, string(address.Type)+" "+address.Address)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

// The API server and network plugins use the first address. It must not change because another
// controller wrote the addresses, or because Nova returns them in another order.
func TestAddresses_KeepOrderOfNode(t *testing.T) {
	t.Parallel()
	parse := func(texts ...string) (addresses []v1.NodeAddress) {
		for _, text := range texts {
			kind, address, _ := strings.Cut(text, " ")
			addresses = append(addresses, v1.NodeAddress{Type: v1.NodeAddressType(kind), Address: address})
		}
		return addresses
	}
	for name, test := range map[string]struct {
		order       string
		known, want []string
	}{
		"the other order": {"", []string{"InternalIP 172.16.0.5", "InternalIP 10.0.0.5", "InternalIP 192.0.2.4", "InternalIP fd00::5"}, []string{
			"InternalIP 172.16.0.5", "InternalIP 10.0.0.5", "InternalIP 192.0.2.4", "InternalIP fd00::5",
			"ExternalIP 203.0.113.9", "ExternalIP 2001:db8::9", "Hostname node-1.example.org", "ExternalIP 198.51.100.7",
		}},
		"new ones come last, others go": {"", []string{"Hostname node-1.example.org", "InternalIP 10.0.0.99", "InternalIP fd00::5"}, []string{
			"Hostname node-1.example.org", "InternalIP fd00::5", "InternalIP 192.0.2.4", "InternalIP 10.0.0.5", "InternalIP 172.16.0.5",
			"ExternalIP 203.0.113.9", "ExternalIP 2001:db8::9", "ExternalIP 198.51.100.7",
		}},
		"of another type it is new": {"", []string{"ExternalIP 172.16.0.5", "InternalIP 198.51.100.7"}, []string{
			"InternalIP 192.0.2.4", "InternalIP 10.0.0.5", "InternalIP fd00::5", "InternalIP 172.16.0.5",
			"ExternalIP 203.0.113.9", "ExternalIP 2001:db8::9", "Hostname node-1.example.org", "ExternalIP 198.51.100.7",
		}},
		"address-sort-order wins": {"10.0.0.0/8", []string{"InternalIP 172.16.0.5", "InternalIP 10.0.0.5", "InternalIP 192.0.2.4"}, []string{
			"InternalIP 10.0.0.5", "InternalIP 172.16.0.5", "InternalIP 192.0.2.4", "InternalIP fd00::5",
			"ExternalIP 203.0.113.9", "ExternalIP 2001:db8::9", "Hostname node-1.example.org", "ExternalIP 198.51.100.7",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, err := newAddressRules(config.Networking{AddressSortOrder: test.order})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(test.want...), rules.of(everything(), parse(test.known...))); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

// Only what a node was described with has an order to keep: a kubelet may have put a
// guess of its own on one that has just joined.
func TestAddresses_HaveOrderOfCloudForJoiningNode(t *testing.T) {
	t.Parallel()
	server := active(serverA, "node-1")
	server.Addresses = nova.ServerAddresses{{Network: "a", Address: "10.0.0.5"}, {Network: "b", Address: "10.1.0.5"}}
	for first, node := range map[string]*v1.Node{"10.0.0.5": joining("node-1"), "10.1.0.5": nodeNamed("node-1")} {
		node.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.1.0.5"}}
		instances, _ := newInstances(t, &servers{all: []nova.Server{server}})
		metadata, err := instances.InstanceMetadata(t.Context(), node)
		if err != nil || len(metadata.NodeAddresses) != 2 || metadata.NodeAddresses[0].Address != first {
			t.Errorf("taints %v: %+v, %v; want %s first", node.Spec.Taints, metadata, err, first)
		}
	}
}

func TestAddresses_HaveNoDuplicatesOrInvalidEntries(t *testing.T) {
	t.Parallel()
	server := &nova.Server{
		AccessIPv4: "198.51.100.7", AccessIPv6: "none",
		Addresses: nova.ServerAddresses{
			{Network: "a", Address: "10.0.0.5"}, {Network: "b", Address: "10.0.0.5"}, {Network: "b", Address: ""},
			{Network: "b", Address: "198.51.100.7", Floating: true},
		},
	}
	want := []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.5"}, {Type: v1.NodeExternalIP, Address: "198.51.100.7"}}
	if diff := cmp.Diff(want, addressRules{}.of(server, nil)); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

// Values without a remark are those of cloud-provider-openstack for the name of a zone: it replaces
// each run of other characters by one "-", trims "-", "_" and "." from both ends, and then cuts
// after 63 bytes.
func TestLabelValue_MakesLabelOfAnyName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Zürich / 1":                        "Z-rich-1",
		"eu: 1":                             "eu-1",
		"eu--1":                             "eu--1",
		"eu -1":                             "eu--1",
		"eu- 1":                             "eu--1",
		"a  b":                              "a-b",
		"日本":                                "",
		"日本-1":                              "1",
		"az\xff\xfe1":                       "az-1",
		" nova ":                            "nova",
		"__az..":                            "az",
		"AZ":                                "AZ",
		"\taz\n1":                           "az-1",
		"(" + strings.Repeat("a", 63) + ")": strings.Repeat("a", 63),
		"-" + strings.Repeat("é", 70) + "b": "b",
		"":                                  "",
		"nova":                              "nova",
		"az_1.b-2":                          "az_1.b-2",
		"m1 large":                          "m1-large",
		"-.x._":                             "x",
		"ü":                                 "",
		"a/b:c":                             "a-b-c",
		strings.Repeat("a", 80):             strings.Repeat("a", 63),
		strings.Repeat("a", 62) + "-bc":     strings.Repeat("a", 62), // there it ends in "-", which the API server refuses
	} {
		if got := labelValue(name); got != want {
			t.Errorf("labelValue(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzLabelValueIsAlwaysValid(f *testing.F) {
	f.Add("m1.large")
	f.Add("Zürich / 1")
	f.Fuzz(func(t *testing.T, name string) {
		if problems := validation.IsValidLabelValue(labelValue(name)); len(problems) > 0 {
			t.Errorf("labelValue(%q) = %q: %v", name, labelValue(name), problems)
		}
	})
}
