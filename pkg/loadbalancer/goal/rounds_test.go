package goal

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

const secretRef = "https://barbican.example.org/v1/secrets/0f9e8d7c-6b5a-4c3d-8e1f-a0b1c2d3e4f5"

// dual gives a Service both IP families, by a policy.
func dual(policy v1.IPFamilyPolicy) func(*v1.Service) {
	return func(svc *v1.Service) {
		svc.Spec.IPFamilies, svc.Spec.IPFamilyPolicy = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}, &policy
	}
}

func askedAddress(address string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Spec.LoadBalancerIP = address }
}

// withPods gives the Service two pods with ports in the subnet of the nodes.
func (s *scene) withPods() *scene {
	slice := members.Slice{Family: v1.IPv4Protocol, Ports: []string{"p80"}, Numbers: []int{8080}, Pod: "web-0"}
	for i, node := range s.nodes {
		address := fmt.Sprintf("10.0.0.%d", 21+i)
		slice.Endpoints = append(slice.Endpoints, members.Endpoint{Node: node.Name, Address: netip.MustParseAddr(address), Ready: true, Serving: true})
		s.ports = append(s.ports, neutron.Port{ID: "port of pod " + address, NetworkID: "network", FixedIPs: []neutron.FixedIP{{SubnetID: "subnet", IPAddress: address}}})
	}
	s.endpoints = members.Endpoints{slice}
	return s
}

// Whichever request of a round fails, the round ends with its error: nothing is published, and nothing counts as applied.
func TestRounds_EndWithEachFailedRequest(t *testing.T) {
	t.Parallel()
	asked := func(s *scene) (Goal, error) { return s.engine.NewAsked(s.ctx, s.subject(), false) }
	kept := func(s *scene) (Goal, error) { return s.engine.NewKept(s.ctx, s.subject(), Limits{}) }
	fresh := func(changes ...func(*v1.Service)) func(*testing.T) *scene {
		return func(t *testing.T) *scene { return newScene(t, fixture.Config(), changes...) }
	}
	served := func(changes ...func(*v1.Service)) func(*testing.T) *scene {
		return func(t *testing.T) *scene {
			s := newScene(t, fixture.Config(), changes...)
			s.add("own", s.id())
			s.listen("own", s.id())
			s.serve("10.0.0.100")
			return s
		}
	}
	for name, test := range map[string]struct {
		scene func(t *testing.T) *scene
		goal  func(*scene) (Goal, error)
		// steps are parts of the steps that are applied, asks is one of the requests, "" for any.
		steps []string
		asks  string
		// spared are requests without which a round succeeds, polled those that are sent again.
		spared, polled []string
	}{
		"a new Service": {scene: fresh(), goal: asked, steps: []string{"create (amphora) with TCP/80 and 2 members", "floating IP: create on network public"}},
		"a share": {scene: func(t *testing.T) *scene {
			s := newScene(t, fixture.Config(), fixture.Annotated(annotation.Share, "front"), fixture.Ports(fixture.Port(v1.ProtocolTCP, 443)))
			s.services = append(s.services, sharingOne("other", "front"))
			s.add("shared", s.other("other"))
			s.listen("shared", s.other("other"))
			s.store.Update("other", func(e *state.Entry) {
				e.Applied = &state.Applied{LoadBalancer: state.LoadBalancer{ID: "shared", Share: "front"}}
			})
			return s
		}, goal: asked, steps: []string{"listener TCP/443: create"}},
		"a move to another's load balancer": {scene: func(t *testing.T) *scene {
			s := newScene(t, fixture.Config(), fixture.Annotated(annotation.LoadBalancerID, "theirs"))
			s.add("own", s.id())
			s.listen("own", s.id())
			s.add("theirs", s.other("other"))
			s.serve("10.0.0.100")
			s.store.Update(s.svc.UID, func(e *state.Entry) { e.Applied, e.Made.LoadBalancerID = appliedOn("own", false), "own" })
			return s
		}, goal: asked, steps: []string{"listener TCP/80: create", "(own): delete"}},
		"both IP families": {scene: fresh(dual(v1.IPFamilyPolicyRequireDualStack)), goal: asked, steps: []string{"additional VIPs: subnet6"}},
		"TLS": {scene: func(t *testing.T) *scene {
			s := fresh(fixture.Annotated(annotation.TLSContainer, secretRef))(t)
			s.secrets = []string{secretRef[len(secretRef)-36:]}
			return s
		}, goal: asked, asks: "secret"},
		"an address, internal": {scene: fresh(fixture.Annotated(annotation.Internal, "true"), askedAddress("10.0.0.50")), goal: asked, asks: "ports at addresses"},
		"an address":           {scene: fresh(askedAddress("203.0.113.7")), goal: asked, asks: "subnets", steps: []string{"203.0.113.7"}},
		"a provider":           {scene: fresh(fixture.Annotated(annotation.Provider, "amphora")), goal: asked, asks: "providers"},
		"pods": {scene: func(t *testing.T) *scene {
			return fresh(fixture.Annotated(annotation.Members, annotation.MembersPods))(t).withPods()
		}, goal: asked, steps: []string{"2 members"}},
		"addresses in a subnet": {scene: func(t *testing.T) *scene {
			return newScene(t, fixture.Config(func(c *config.LoadBalancer) { c.MemberSubnetID, c.MemberAddressBySubnet = "subnet", true }))
		}, goal: asked},
		"a replacement": {scene: served(fixture.Annotated(annotation.AllowReplace, "true"), fixture.Annotated(annotation.Provider, "ovn")), goal: asked, steps: []string{"create (ovn)"}},
		"a change of a known one": {scene: func(t *testing.T) *scene {
			s := fresh()(t)
			if _, err := s.round(s.ask()); err != nil {
				t.Fatal(err)
			}
			s.add(s.store.Get(s.svc.UID).Applied.LoadBalancer.ID, s.id(), func(lb *octavia.LoadBalancer) { lb.UpdatedAt.Time = s.store.Get(s.svc.UID).Applied.Contents.UpdatedAt })
			s.svc.Spec.Ports = append(s.svc.Spec.Ports, fixture.Port(v1.ProtocolTCP, 443))
			s.lock.Release()
			s.sent, s.applied = nil, nil
			return s
		}, goal: asked, steps: []string{"listener TCP/443: create"}, polled: []string{"load balancer"}},
		"kept": {scene: func(t *testing.T) *scene {
			s := served()(t)
			s.nodes = s.nodes[:1]
			return s
		}, goal: kept, steps: []string{"node-2"}},
		"kept, with another's named": {scene: func(t *testing.T) *scene {
			s := served(fixture.Annotated(annotation.LoadBalancerID, "theirs"))(t)
			s.add("theirs", s.other("other"))
			return s
		}, goal: kept},
		"kept, with a lost floating IP": {scene: func(t *testing.T) *scene {
			s := served()(t)
			s.serve("203.0.113.7")
			s.records.text = state.Record{LoadBalancerID: "own", Service: s.svc.UID}.String()
			return s
		}, goal: kept, steps: []string{"floating IP: create on network public"}, spared: []string{"network"}},
		"kept, with pods": {scene: func(t *testing.T) *scene {
			s := served(fixture.Annotated(annotation.Members, annotation.MembersPods))(t).withPods()
			s.store.Update(s.svc.UID, func(e *state.Entry) {
				e.Applied = &state.Applied{LoadBalancer: state.LoadBalancer{ID: "own", Pods: true}}
				e.Applied.Depth = 1
			})
			return s
		}, goal: kept},
		"kept, with members in the subnets of nodes": {scene: func(t *testing.T) *scene {
			s := newScene(t, fixture.Config(func(c *config.LoadBalancer) { c.SubnetID = "" }))
			s.add("own", s.id())
			s.listen("own", s.id())
			s.serve("10.0.0.100")
			return s
		}, goal: kept},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := test.scene(t)
			run := func(s *scene) (*v1.LoadBalancerStatus, error) {
				goal, err := test.goal(s)
				if err != nil {
					return nil, err
				}
				return s.round(goal)
			}
			if status, err := run(all); err != nil || status == nil || all.store.Get(all.svc.UID).Applied == nil {
				t.Errorf("status %v, error %v, %v", status, err, all.sent)
			}
			for _, step := range test.steps {
				if !strings.Contains(all.steps(), step) {
					t.Errorf("%q is not among the steps:\n%s", step, all.steps())
				}
			}
			if test.asks != "" && !slices.Contains(all.sent, test.asks) {
				t.Errorf("%q is not among the requests %v", test.asks, all.sent)
			}
			emitted := all.events()
			if announced := strings.Contains(emitted, string(reason.Changing)); announced != (all.steps() != "") {
				t.Errorf("the steps are announced: %v", announced)
			}
			if ready := strings.Contains(emitted, string(reason.Ready)); ready != (len(all.svc.Status.LoadBalancer.Ingress) == 0) {
				t.Errorf("the first address is announced: %v", ready)
			}
			for at, request := range all.sent {
				if slices.Contains(test.polled, request) {
					continue
				}
				s := test.scene(t)
				s.failAt = at
				before := s.store.Get(s.svc.UID).Applied
				status, err := run(s)
				if slices.Contains(test.spared, request) && err == nil {
					continue
				}
				what := fmt.Sprintf("request %d (%s) fails", at, request)
				if status != nil || !errors.Is(err, errFailed) {
					t.Errorf("%s: status %v, error %v", what, status, err)
				}
				if s.store.Get(s.svc.UID).Applied != before {
					t.Errorf("%s: the state counts as applied", what)
				}
			}
		})
	}
}
