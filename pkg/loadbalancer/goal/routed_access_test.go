package goal

import (
	"context"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func ranges(all ...string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = all }
}

// called gives a Service another name, which is its UID.
func called(name string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Name, svc.UID = name, types.UID(name) }
}

// Nodes get the packets for a VIP with the port of the Service, and forwarded ones with the NodePort.
func TestClientsSpec_OpensThePortsThatPacketsHave(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]string{driver.Router: "[udp/53 tcp/80]", driver.PortForwarding: "[udp/30053 tcp/30080]"} {
		svc := by(provider, fixture.Ports(fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolUDP, 53)), fixture.Local, fixture.Annotated(annotation.Monitor, "false"))
		for name, changes := range map[string][]func(*rig){"managed": {managed}, "not managed": nil} {
			if svc.Spec.LoadBalancerSourceRanges = nil; name == "managed" {
				svc.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
			}
			g := newRig(t, changes...).of(svc).route()
			round, _, err := planned(t, g)
			if err != nil {
				t.Fatalf("%s: %v", provider, err)
			}
			spec := clientsSpec(g.Inputs(), round.Want)
			if (spec != nil) != (name == "managed") {
				t.Fatalf("%s, %s: %+v", provider, name, spec)
			}
			if spec != nil && (fmt.Sprint(spec.NodePorts) != want || !spec.Direct || strings.Join(spec.Clients, " ") != "198.51.100.0/24" || len(spec.Members) != 2 || len(spec.HealthPorts)+len(spec.CommonPorts) > 0) {
				t.Errorf("%s: %+v", provider, spec)
			}
			if access := accessOf(g.Inputs().Settings); fmt.Sprint(access.Ports) != map[bool]string{true: "[TCP/80 UDP/53]", false: "[]"}[name == "managed"] || len(access.Ranges) > 0 != (name == "managed") {
				t.Errorf("%s, %s: access %+v", provider, name, access)
			}
		}
	}
}

// A rule of a security group is for all VIPs: two Services with different source ranges cannot have the same port.
func TestClaim_RefusesAPortThatAnotherServiceHasWithOtherRanges(t *testing.T) {
	t.Parallel()
	own, other := ranges("198.51.100.0/24"), ranges("192.0.2.0/24")
	vip := at("10.77.0.6")
	deleted := func(svc *v1.Service) { class := "another"; svc.Spec.LoadBalancerClass = &class }
	for name, test := range map[string]struct {
		svc     *v1.Service
		others  []*v1.Service
		rig     []func(*rig)
		refused bool
	}{
		"alone":                         {by(driver.Router, own), nil, []func(*rig){managed}, false},
		"the same ranges":               {by(driver.Router, own), []*v1.Service{by(driver.Router, called("b"), vip, own)}, []func(*rig){managed}, false},
		"other ranges":                  {by(driver.Router, own), []*v1.Service{by(driver.Router, called("b"), vip, other)}, []func(*rig){managed}, true},
		"itself before":                 {by(driver.Router, own), []*v1.Service{by(driver.Router, vip, other)}, []func(*rig){managed}, false},
		"another port":                  {by(driver.Router, own), []*v1.Service{by(driver.Router, called("b"), vip, other, fixture.Ports(fixture.Port(v1.ProtocolTCP, 443)))}, []func(*rig){managed}, false},
		"another without an address":    {by(driver.Router, own), []*v1.Service{by(driver.Router, called("b"), other)}, []func(*rig){managed}, false},
		"another of a provider":         {by(driver.Router, own), []*v1.Service{by("amphora", called("b"), vip, other)}, []func(*rig){managed}, false},
		"another forwarded":             {by(driver.Router, own), []*v1.Service{by(driver.PortForwarding, called("b"), vip, other)}, []func(*rig){managed}, false},
		"another controller's":          {by(driver.Router, own), []*v1.Service{by(driver.Router, called("b"), vip, other, deleted)}, []func(*rig){managed}, false},
		"the last of three":             {by(driver.Router, own), []*v1.Service{by("amphora", called("a"), vip, other), by(driver.Router, called("b"), vip, own), by(driver.Router, called("c"), vip, other)}, []func(*rig){managed}, true},
		"other ranges, no groups":       {by(driver.Router, own), []*v1.Service{by(driver.Router, called("b"), vip, other)}, nil, false},
		"one that this process knows":   {by(driver.Router, own), nil, []func(*rig){managed, func(r *rig) { r.store.Claim("b", state.Access{Ports: []string{"TCP/80"}}, nil) }}, true},
		"a refused one that keeps them": {by(driver.Router, own), []*v1.Service{by(driver.Router, called("b"), vip, other, fixture.Annotated(annotation.MaxMembers, "x"))}, []func(*rig){managed}, true},
	} {
		r := newRig(t, append(test.rig, func(r *rig) { r.others = test.others })...)
		err := r.claims.claim(t.Context(), r.of(test.svc).route().Inputs())
		if (err != nil) != test.refused || err != nil && !strings.Contains(err.Error(), "has port TCP/80 with other source ranges") {
			t.Errorf("%s: %v", name, err)
		}
		if managed := r.conf.LoadBalancer.ManageSecurityGroups; (r.store.Get(serviceUID).Access != nil) == test.refused || r.has("services") != managed {
			t.Errorf("%s: claimed %+v, sent %q", name, r.store.Get(serviceUID).Access, r.sent)
		}
	}
}

func TestClaim_NeedsTheServicesOfTheCluster(t *testing.T) {
	t.Parallel()
	unwatched := newRig(t, managed)
	unwatched.claims.services = nil
	if err := unwatched.claims.claim(t.Context(), unwatched.of(by(driver.Router)).route().Inputs()); err != nil {
		t.Errorf("without a watch: %v", err)
	}
	failed := newRig(t, managed, failingAt("services", errFailed))
	g := failed.of(by(driver.Router)).route()
	if err := failed.claims.claim(t.Context(), g.Inputs()); err == nil || !strings.Contains(err.Error(), "the same ports: failed") || failed.store.Get(serviceUID).Access != nil {
		t.Errorf("unread: %v, claimed %+v", err, failed.store.Get(serviceUID).Access)
	}
	round, todo, err := planned(t, g)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Prepare(t.Context(), round, todo); err == nil {
		t.Error("a plan is prepared without the claim")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	pending := newRig(t, managed)
	pending.claims.services = func(context.Context, string) ([]*v1.Service, error) { return nil, nil }
	if err := pending.claims.claim(ended, pending.of(by(driver.Router)).route().Inputs()); err == nil {
		t.Error("it does not wait for the Services")
	}
}
