package settings_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

//proves:55
func TestFollowsEndpoints_ByModePolicyDriverAndOrigin(t *testing.T) {
	t.Parallel()
	current, old := model.Version{Major: 2, Minor: 27}, model.Version{Major: 2, Minor: 5}
	for _, test := range []struct {
		mode, policy, provider string
		protocol               v1.Protocol
		version                model.Version
		adopted                bool
		want                   bool
	}{
		{"", "Local", "ovn", v1.ProtocolTCP, current, false, true},
		{"", "Local", "ovn", v1.ProtocolTCP, current, true, false},
		{"auto", "Local", "ovn", v1.ProtocolTCP, current, true, true},
		{"", "Cluster", "ovn", v1.ProtocolTCP, current, false, false},
		{"", "Local", "amphora", v1.ProtocolTCP, current, false, false},
		{"", "Local", "amphora", v1.ProtocolUDP, current, false, false},
		{"", "Local", "amphora", v1.ProtocolUDP, old, false, true},
		{"nodes", "Local", "ovn", v1.ProtocolTCP, current, false, false},
		{"endpoint-nodes", "Cluster", "amphora", v1.ProtocolTCP, current, true, true},
	} {
		svc := fixture.Service(fixture.Ports(fixture.Port(test.protocol, 80)))
		if svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicy(test.policy); test.mode != "" {
			svc.Annotations[annotation.Members] = test.mode
		}
		s := fixture.Settings(t, svc, fixture.Config()).On(&model.LoadBalancer{Adopted: test.adopted})
		drv := driver.Of(test.provider, test.version)
		for watch, want := range map[settings.Watch]bool{settings.Watched: test.want, settings.Forbidden: false, settings.Unwatched: false} {
			of := *s
			of.Members.Watch = watch
			if got := of.For(drv).FollowsEndpoints(); got != want {
				t.Errorf("%+v, watch %d: %t", test, watch, got)
			}
			if got := of.For(drv).LacksEndpoints(); got != (test.want && watch == settings.Forbidden) {
				t.Errorf("%+v, watch %d: lacks %t", test, watch, got)
			}
		}
	}
}

// A class and cloud.conf set the mode as well.
//
//proves:55
func TestMembers_ModeOfServiceClassAndCloudConf(t *testing.T) {
	t.Parallel()
	cfg := fixture.Config()
	cfg.LoadBalancer.Members = annotation.MembersEndpointNodes
	svc := fixture.Service()
	if s := fixture.Settings(t, svc, cfg); s.Members.Mode != annotation.MembersEndpointNodes {
		t.Errorf("mode %q of cloud.conf", s.Members.Mode)
	}
	svc.Annotations[annotation.Members] = "Nodes"
	if s := fixture.Settings(t, svc, cfg); s.Members.Mode != annotation.MembersNodes {
		t.Errorf("mode %q of the annotation", s.Members.Mode)
	}
	svc.Annotations[annotation.Members] = annotation.MembersPods
	if s := fixture.Settings(t, svc, cfg); !s.ByPods() {
		t.Errorf("mode %q of the annotation", s.Members.Mode)
	}
}

// Which Services have weights by their endpoints is known without the rest of their settings.
//
//proves:54
func TestWeighsNodes_ByServiceClassAndCloudConf(t *testing.T) {
	t.Parallel()
	cfg, svc := fixture.Config(), fixture.Service()
	cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"weighed": {MemberWeights: annotation.WeightsEndpoints}}
	parser, err := settings.NewParser(cfg)
	if err != nil {
		t.Fatal(err)
	}
	weighs := func(want bool) {
		t.Helper()
		if got, parsed := parser.WeighsNodes(svc), fixture.Settings(t, svc, cfg).Members.Counts(); got != want || parsed != want {
			t.Errorf("%t, parsed %t, want %t", got, parsed, want)
		}
	}
	weighs(false)
	svc.Annotations[annotation.Class] = "weighed"
	weighs(true)
	svc.Annotations[annotation.MemberWeights] = "Equal"
	weighs(false)
	svc.Annotations[annotation.MemberWeights] = " Endpoints"
	weighs(true)
	delete(svc.Annotations, annotation.Class)
	delete(svc.Annotations, annotation.MemberWeights)
	cfg.LoadBalancer.MemberWeights = annotation.WeightsEndpoints
	weighs(true)
}

// ovn cuts connections of removed members, except UDP flows that never pause; and a client behind a member's port does not reach it.
func TestForDriver_HasTheEffectsOfMembersOnFlows(t *testing.T) {
	t.Parallel()
	ovn := driver.Of("ovn", model.Version{Major: 2, Minor: 30})
	udp, pods := fixture.Ports(fixture.Port(v1.ProtocolUDP, 53)), fixture.Annotated(annotation.Members, "pods")
	follows, host := fixture.Annotated(annotation.Members, "endpoint-nodes"), fixture.Annotated(annotation.Hostname, "www.example.com")
	for name, c := range map[string]struct {
		changes      []func(*v1.Service)
		drv          driver.Driver
		watch        settings.Watch
		keeps, oneIP bool
		notices      string
	}{
		"ovn, UDP":                    {[]func(*v1.Service){udp, follows}, ovn, settings.Watched, true, true, ""},
		"ovn, UDP, all nodes":         {[]func(*v1.Service){udp}, ovn, settings.Watched, false, true, ""},
		"ovn, TCP":                    {[]func(*v1.Service){follows}, ovn, settings.Watched, false, true, ""},
		"amphora, UDP":                {[]func(*v1.Service){udp, follows}, fixture.Amphora(), settings.Watched, false, true, ""},
		"amphora, TCP":                {[]func(*v1.Service){follows}, fixture.Amphora(), settings.Watched, false, false, ""},
		"amphora, not watched":        {[]func(*v1.Service){follows}, fixture.Amphora(), settings.Forbidden, false, false, annotation.Members},
		"amphora, weights, unwatched": {[]func(*v1.Service){follows, fixture.Annotated(annotation.MemberWeights, "drain")}, fixture.Amphora(), settings.Forbidden, false, false, annotation.Members + " " + annotation.MemberWeights},
		"ovn, pods":                   {[]func(*v1.Service){pods}, ovn, settings.Watched, false, true, ""},
		"ovn, pods, a name":           {[]func(*v1.Service){pods, host}, ovn, settings.Watched, false, true, annotation.Members},
		"ovn, pods, ipMode Proxy":     {[]func(*v1.Service){pods, fixture.Annotated(annotation.IPMode, "Proxy")}, ovn, settings.Watched, false, true, annotation.Members},
		"ovn, nodes, a name":          {[]func(*v1.Service){host}, ovn, settings.Watched, false, true, ""},
		"amphora, pods, a name":       {[]func(*v1.Service){pods, host}, fixture.Amphora(), settings.Watched, false, false, ""},
	} {
		s := *fixture.Settings(t, fixture.Service(c.changes...), fixture.Config())
		s.Members.Watch = c.watch
		if s.For(c.drv).KeepsFlows() != c.keeps || s.Traffic.NeedsOneFamily(c.drv) != c.oneIP {
			t.Errorf("%s: keeps flows %v, needs members of one family %v", name, s.For(c.drv).KeepsFlows(), s.Traffic.NeedsOneFamily(c.drv))
		}
		if names, texts := noticed(s.For(c.drv).Unused()); names != c.notices {
			t.Errorf("%s: notices of %q: %s", name, names, texts)
		}
	}
}
