package instances

import (
	"context"
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
)

func labeled(node *v1.Node, region string) *v1.Node {
	node.Labels = map[string]string{v1.LabelTopologyRegion: region}
	return node
}

//proves:108
func TestInstances_LookEachNodeUpInItsRegion(t *testing.T) {
	t.Parallel()
	const (
		here, both, neither = 1, 3, 0
		there               = 2
	)
	for name, test := range map[string]struct {
		node           *v1.Node
		one, two       *servers
		exists, doubt  bool
		asked          int // of which regions
		region, server string
	}{
		"its ID is there":                   {nodeOn("openstack://Region Two/" + serverA), &servers{}, &servers{all: []nova.Server{active(serverA, "a")}}, true, false, there, "Region Two", serverA},
		"there, and gone":                   {nodeOn("openstack://Region Two/" + serverA), &servers{all: []nova.Server{active(serverA, "a")}}, &servers{}, false, false, there, "", ""},
		"its ID is here":                    {nodeOn("openstack://RegionOne/" + serverA), &servers{all: []nova.Server{active(serverA, "a")}}, &servers{}, true, false, here, region, serverA},
		"here, and gone":                    {nodeOn("openstack://RegionOne/" + serverA), &servers{}, &servers{all: []nova.Server{active(serverA, "a")}}, false, false, here, "", ""},
		"its label is there":                {labeled(nodeOn("openstack:///"+serverA), "Region-Two"), &servers{}, &servers{all: []nova.Server{active(serverA, "a")}}, true, false, there, "Region Two", serverA},
		"there by its label, and gone":      {labeled(nodeOn("openstack:///"+serverA), "Region-Two"), &servers{all: []nova.Server{active(serverA, "a")}}, &servers{}, false, false, there, "", ""},
		"label and ID differ":               {labeled(nodeOn("openstack://RegionOne/"+serverA), "Region-Two"), &servers{}, &servers{}, false, true, neither, "", ""},
		"a region that is not served":       {nodeOn("openstack://RegionThree/" + serverA), &servers{}, &servers{}, false, true, neither, "", ""},
		"a label that is not served":        {labeled(nodeOn("openstack:///"+serverA), "RegionThree"), &servers{}, &servers{}, false, true, neither, "", ""},
		"no region, found there":            {nodeOn("openstack:///" + serverA), &servers{}, &servers{all: []nova.Server{active(serverA, "a")}}, true, false, both, "Region Two", serverA},
		"no region, found here":             {nodeOn("openstack:///" + serverA), &servers{all: []nova.Server{active(serverA, "a")}}, &servers{}, true, false, here, region, serverA},
		"no region, in neither":             {nodeOn("openstack:///" + serverA), &servers{}, &servers{}, false, true, both, "", ""},
		"no region, ours fails":             {nodeOn("openstack:///" + serverA), &servers{getErr: errors.New("503")}, &servers{}, false, true, both, "", ""},
		"ours fails, and it is there":       {nodeOn("openstack:///" + serverA), &servers{getErr: errors.New("503")}, &servers{all: []nova.Server{active(serverA, "a")}}, true, false, both, "Region Two", serverA},
		"joins there":                       {joining("node-1"), &servers{}, &servers{all: []nova.Server{active(serverB, "node-1")}}, true, false, both, "Region Two", serverB},
		"joins with its label":              {labeled(joining("node-1"), "Region-Two"), &servers{all: []nova.Server{active(serverA, "node-1")}}, &servers{all: []nova.Server{active(serverB, "node-1")}}, true, false, there, "Region Two", serverB},
		"joins, name in both":               {joining("node-1"), &servers{all: []nova.Server{active(serverA, "node-1")}}, &servers{all: []nova.Server{active(serverB, "node-1")}}, false, true, both, "", ""},
		"joins, name in both, UUID there":   {withSystemUUID(joining("node-1"), serverB), &servers{all: []nova.Server{active(serverA, "node-1")}}, &servers{all: []nova.Server{active(serverB, "node-1")}}, true, false, both, "Region Two", serverB},
		"joins here while the other fails":  {withSystemUUID(joining("node-1"), serverA), &servers{all: []nova.Server{active(serverA, "node-1")}}, &servers{nameErr: errors.New("503")}, true, false, here, region, serverA},
		"joins, and it may be in the other": {joining("node-1"), &servers{all: []nova.Server{active(serverA, "node-1")}}, &servers{nameErr: errors.New("503")}, false, true, both, "", ""},
		"joins there, only the UUID fits":   {withSystemUUID(joining("node-1"), serverB), &servers{}, &servers{all: []nova.Server{active(serverB, "other")}}, true, false, both, "Region Two", serverB},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			instances, err := New(Options{Servers: test.one, Region: region, Regions: []Region{{Name: "Region Two", Servers: test.two}}})
			if err != nil {
				t.Fatal(err)
			}
			exists, err := instances.InstanceExists(t.Context(), test.node)
			if exists != test.exists || (err != nil) != test.doubt {
				t.Fatalf("InstanceExists: %v, %v; want %v, error %v", exists, err, test.exists, test.doubt)
			}
			if one, two := test.one.asked() > 0, test.two.asked() > 0; one != (test.asked&here > 0) || two != (test.asked&there > 0) {
				t.Errorf("our region was asked: %v, the other: %v", one, two)
			}
			if !test.exists {
				return
			}
			metadata, err := instances.InstanceMetadata(t.Context(), test.node)
			if err != nil || metadata.Region != labelValue(test.region) || metadata.ProviderID != "openstack://"+test.region+"/"+test.server {
				t.Errorf("metadata %+v, %v; want region %q", metadata, err, test.region)
			}
		})
	}
}

// An ID is that of a server in one region only, wherever it is looked for.
func TestInstances_KeepAnswersOfRegionsApart(t *testing.T) {
	t.Parallel()
	off := withStatus(active(serverA, "a"), nova.ServerShutoff)
	off.FlavorName, off.Zone = "m1 small", "az-2"
	on := active(serverA, "a")
	on.FlavorName = "m1 small"
	one, two := &servers{all: []nova.Server{on}, flavors: map[string]string{serverA: "7"}}, &servers{all: []nova.Server{off}, flavors: map[string]string{serverA: "8"}}
	instances, err := New(Options{Servers: one, Region: region, Regions: []Region{{"RegionTwo", two, trunks{"192.0.2.2"}}}, Subports: trunks{"192.0.2.1"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		flavor, zone, subport string
		off                   bool
	}{region: {"7", "nova", "192.0.2.1", false}, "RegionTwo": {"8", "az-2", "192.0.2.2", true}} {
		node := nodeOn("openstack://" + name + "/" + serverA)
		shutdown, err := instances.InstanceShutdown(t.Context(), node)
		if err != nil || shutdown != want.off {
			t.Errorf("%s: shut down is %v, %v", name, shutdown, err)
		}
		got, err := instances.InstanceMetadata(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		if addresses := got.NodeAddresses; got.InstanceType != want.flavor || got.Zone != want.zone || addresses[len(addresses)-1].Address != want.subport {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// trunks have one subport, with this address, on the server.
type trunks struct{ address string }

func (s trunks) SubportAddresses(ctx context.Context) (map[string][]neutron.SubportAddress, error) {
	return map[string][]neutron.SubportAddress{serverA: {{Network: "vlan", Address: s.address}}}, ctx.Err()
}

func TestMissing_NeedsNodeThatIsInOneRegionForCertain(t *testing.T) {
	t.Parallel()
	instances, err := New(Options{Servers: &servers{}, Region: region, Regions: []Region{{Name: "RegionTwo", Servers: &servers{}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := instances.missing(t.Context(), nodeOn("openstack:///"+serverA)); err == nil || !strings.Contains(err.Error(), "RegionTwo") {
		t.Errorf("got %v", err)
	}
}
