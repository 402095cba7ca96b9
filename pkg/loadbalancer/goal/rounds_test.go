package goal

import (
	"errors"
	"path"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
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

// Whichever request of a round fails, the round ends with its error: nothing is published, and nothing counts as applied.
func TestRounds_EndWithEachFailedRequest(t *testing.T) {
	t.Parallel()
	asked := func(r *rig) (Goal, error) { return r.NewAsked(r.ctx, r.subject(), false) }
	kept := func(r *rig) (Goal, error) { return r.NewKept(r.ctx, r.subject(), Limits{}) }
	served := func(changes ...func(*rig)) []func(*rig) {
		return append(changes, balancer("own"), listenerOn("own", true), service(at("10.0.0.100")))
	}
	names := service(fixture.Annotated(annotation.LoadBalancerID, "theirs"))
	pods := service(fixture.Annotated(annotation.Members, annotation.MembersPods))
	known := func(lb state.LoadBalancer, depth model.Depth) func(*rig) {
		return knowing(state.Entry{Applied: &state.Applied{LoadBalancer: lb, Knowledge: model.Knowledge{Depth: depth}}})
	}
	for name, test := range map[string]struct {
		rig     []func(*rig)
		prepare func(*rig) // before the round
		goal    func(*rig) (Goal, error)
		// steps are parts of the steps that are applied, asks is one of the requests, "" for any.
		steps []string
		asks  string
		// spared are requests without which a round succeeds, polled those that are sent again.
		spared, polled string
	}{
		"a new Service": {goal: asked, steps: []string{"create (amphora) with TCP/80 and 2 members", "floating IP: create on network public"}},
		"a share": {rig: []func(*rig){
			service(fixture.Annotated(annotation.Share, "front"), fixture.Ports(fixture.Port(v1.ProtocolTCP, 443))), balancer("shared", ofAnother), listenerOn("shared", false),
			func(r *rig) {
				r.others = append(r.others, sharingOne("another", "front"))
				r.store.Update("another", func(e *state.Entry) {
					e.Applied = &state.Applied{LoadBalancer: state.LoadBalancer{ID: "shared", Share: "front"}}
				})
			},
		}, goal: asked, steps: []string{"listener TCP/443: create"}},
		"a move to another's load balancer": {rig: served(names, knowing(state.Entry{Applied: appliedOn("own", false), Made: state.Made{LoadBalancerID: "own"}})), prepare: balancer("theirs", ofAnother), goal: asked, steps: []string{"listener TCP/80: create", "(own): delete"}},
		"both IP families":                  {rig: []func(*rig){service(dual(v1.IPFamilyPolicyRequireDualStack))}, goal: asked, steps: []string{"additional VIPs: subnet6"}},
		"TLS":                               {rig: []func(*rig){service(fixture.Annotated(annotation.TLSContainer, secretRef)), func(r *rig) { r.secrets = []string{path.Base(secretRef)} }}, goal: asked, asks: "secret"},
		"an address, internal":              {rig: []func(*rig){service(internalOne, loadBalancerIP("10.0.0.50"))}, goal: asked, asks: "ports-at"},
		"an address":                        {rig: []func(*rig){service(loadBalancerIP("203.0.113.7"))}, goal: asked, asks: "subnets", steps: []string{"203.0.113.7"}},
		"a provider":                        {rig: []func(*rig){service(fixture.Annotated(annotation.Provider, "amphora"))}, goal: asked, asks: "providers"},
		"pods":                              {rig: []func(*rig){pods, withPods}, goal: asked, steps: []string{"2 members"}},
		"addresses in a subnet":             {rig: []func(*rig){configured(func(c *config.LoadBalancer) { c.MemberSubnetID, c.MemberAddressBySubnet = "subnet", true })}, goal: asked},
		"a replacement":                     {rig: served(service(replaceable, fixture.Annotated(annotation.Provider, "ovn"))), goal: asked, steps: []string{"create (ovn)"}},
		"a change of a known one": {prepare: func(r *rig) {
			if _, err := r.round(r.ask()); err != nil {
				t.Fatal(err)
			}
			applied := r.store.Get(r.svc.UID).Applied
			r.add(balancer(applied.LoadBalancer.ID, func(lb *octavia.LoadBalancer) { lb.UpdatedAt.Time = applied.Contents.UpdatedAt }))
			r.svc.Spec.Ports = append(r.svc.Spec.Ports, fixture.Port(v1.ProtocolTCP, 443))
			r.applied = nil
			r.events()
			r.lock.Release()
		}, goal: asked, steps: []string{"listener TCP/443: create"}, polled: "load-balancer-state"},
		"kept":                       {rig: served(), prepare: func(r *rig) { r.nodes = r.nodes[:1] }, goal: kept, steps: []string{"node-2"}},
		"kept, with another's named": {rig: served(names), prepare: balancer("theirs", ofAnother), goal: kept},
		"kept, with a lost floating IP": {rig: served(), prepare: func(r *rig) {
			at("203.0.113.7")(r.svc)
			r.records.text = state.Record{LoadBalancerID: "own", Service: r.svc.UID}.String()
		}, goal: kept, steps: []string{"floating IP: create on network public"}, spared: "network"},
		"kept, with pods": {rig: served(pods, withPods, known(state.LoadBalancer{ID: "own", Pods: true}, 1)), goal: kept},
		"kept, with members in the subnets of nodes": {rig: served(configured(func(c *config.LoadBalancer) { c.SubnetID = "" })), goal: kept},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(r *rig) (status *v1.LoadBalancerStatus, before *state.Applied, err error) {
				if test.prepare != nil {
					r.prepare(func() { test.prepare(r) })
				}
				before = r.store.Get(r.svc.UID).Applied
				goal, err := test.goal(r)
				if err != nil {
					return nil, before, err
				}
				status, err = r.round(goal)
				return status, before, err
			}
			all := newRig(t, test.rig...)
			if status, _, err := run(all); err != nil || status == nil || all.store.Get(all.svc.UID).Applied == nil {
				t.Errorf("status %v, error %v, %v", status, err, all.sent)
			}
			for _, step := range test.steps {
				if !strings.Contains(all.steps(), step) {
					t.Errorf("%q is not among the steps:\n%s", step, all.steps())
				}
			}
			if test.asks != "" && !all.has(test.asks) {
				t.Errorf("%q is not among the requests %v", test.asks, all.sent)
			}
			emitted := all.events()
			if announced := strings.Contains(emitted, string(reason.Changing)); announced != (all.steps() != "") {
				t.Errorf("the steps are announced: %v", announced)
			}
			if ready := strings.Contains(emitted, string(reason.Ready)); ready != (len(all.svc.Status.LoadBalancer.Ingress) == 0) {
				t.Errorf("the first address is announced: %v", ready)
			}
			for request, r := range failures(t, all.sent, test.rig...) {
				word, _, _ := strings.Cut(request, " ")
				if word == test.polled {
					continue
				}
				status, before, err := run(r)
				if word == test.spared && err == nil {
					continue
				}
				if status != nil || !errors.Is(err, errFailed) {
					t.Errorf("%s fails: status %v, error %v", request, status, err)
				}
				if r.store.Get(r.svc.UID).Applied != before {
					t.Errorf("%s fails: the state counts as applied", request)
				}
			}
		})
	}
}
