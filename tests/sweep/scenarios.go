package sweep

import (
	"maps"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/cost"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Scenarios returns all scenarios: each act on each kind of cloud that supports it.
func Scenarios() []Scenario {
	var all []Scenario
	for _, cloud := range clouds() {
		for _, act := range acts() {
			if act.of == "" || act.of == cloud.provider {
				all = append(all, act.on(cloud))
			}
		}
	}
	all = append(all, families()...)
	all = append(append(all, routed()...), forwarded()...)
	all = append(all, adoptions()...)
	return append(all, nodes()...)
}

// cloud is a kind of cloud, with the keys of [LoadBalancer] for it.
type cloud struct {
	name, provider string
	simulator      func() simulator.Options
	keys           map[string]string
}

// clouds returns clouds with and without managed security groups.
func clouds() []cloud {
	today := func() simulator.Options { return simulator.Options{} }
	zed := func() simulator.Options { return simulator.Options{Release: "zed"} }
	var all []cloud
	for _, c := range []cloud{
		{"amphora", octavia.ProviderAmphora, today, map[string]string{"lb-provider": "amphora"}},
		{"ovn", octavia.ProviderOVN, today, map[string]string{"lb-provider": "ovn", "lb-method": "SOURCE_IP_PORT"}},
		{"ovn of Zed", octavia.ProviderOVN, zed, map[string]string{"lb-provider": "ovn", "lb-method": "SOURCE_IP_PORT"}},
		{"ovn of 2025.1", octavia.ProviderOVN, queued, map[string]string{"lb-provider": "ovn", "lb-method": "SOURCE_IP_PORT"}},
		{"serial", vendor, vendorCloud, map[string]string{"lb-provider": vendor, "provider-requires-serial-api-calls": "true"}},
	} {
		c.keys["create-monitor"] = "true"
		grouped := c
		grouped.keys = maps.Clone(c.keys)
		grouped.keys["manage-security-groups"] = "true"
		grouped.name += " with groups"
		all = append(all, c, grouped)
	}
	return all
}

// queued returns a cloud with a provider ovn that works on one member after the other, in each of
// two processes of Octavia's API, ten times as long as on an idle machine.
func queued() simulator.Options {
	work := cost.QueuedOVN()
	work.Members *= 10
	return simulator.Options{
		Release: "2025.1",
		Delays: map[string]octavia.Delays{
			octavia.ProviderAmphora: octavia.Delays(cost.Amphora()), octavia.ProviderOVN: octavia.Delays(work),
		},
		Octavia: func(o *octavia.Options) { o.APIProcesses = 2 },
	}
}

const vendor = "f5"

// vendorCloud returns a cloud with a provider that creates one object at a time.
func vendorCloud() simulator.Options {
	return simulator.Options{
		Providers: []string{octavia.ProviderAmphora, vendor},
		Delays: map[string]octavia.Delays{
			octavia.ProviderAmphora: octavia.Delays(cost.Amphora()), vendor: octavia.Delays(cost.Amphora()),
		},
		Octavia: func(o *octavia.Options) {
			o.Vendors = map[string]octavia.Vendor{vendor: {NoFullCreate: true, NoBatch: true}}
		},
	}
}
