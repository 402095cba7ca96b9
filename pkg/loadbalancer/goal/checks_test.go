package goal

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// Limits of cloud.conf refuse only an increase: what exists goes on.
func TestLimits_RefuseAnIncrease(t *testing.T) {
	t.Parallel()
	ranges := func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "192.0.2.0/24"} }
	creation := plan.Plan{Steps: []plan.Step{plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{}}}}
	listener := model.Listener{Protocol: model.TCP, Port: 80}
	restricted := listener
	restricted.AllowedCIDRs = []string{"10.0.0.0/8", "192.0.2.0/24"}
	on := func(listeners ...model.Listener) *model.LoadBalancer {
		return &model.LoadBalancer{ID: "lb", Listeners: listeners}
	}
	rules, joins := []securitygroup.Step{securitygroup.AddRules{}}, []securitygroup.Step{securitygroup.JoinPorts{}}
	for name, test := range map[string]struct {
		limits  func(*config.LoadBalancer)
		have    *model.LoadBalancer
		want    *model.LoadBalancer
		todo    plan.Plan
		open    []securitygroup.Step
		refused string
	}{
		"no limits":              {func(*config.LoadBalancer) {}, nil, on(restricted), creation, rules, ""},
		"ports":                  {func(c *config.LoadBalancer) { c.MaxPorts = 1 }, nil, on(listener, listener), creation, nil, "at most 1 ports"},
		"ports that exist":       {func(c *config.LoadBalancer) { c.MaxPorts = 1 }, on(listener, listener), on(listener, listener), plan.Plan{}, nil, ""},
		"ranges of listeners":    {func(c *config.LoadBalancer) { c.MaxSourceRanges = 1 }, on(listener), on(restricted), plan.Plan{}, nil, "at most 1 ranges"},
		"ranges of groups":       {func(c *config.LoadBalancer) { c.MaxSourceRanges = 1 }, on(listener), on(listener), plan.Plan{}, rules, "at most 1 ranges"},
		"groups on new ports":    {func(c *config.LoadBalancer) { c.MaxSourceRanges = 1 }, on(listener), on(listener), plan.Plan{}, joins, ""},
		"Services":               {func(c *config.LoadBalancer) { c.MaxServicesPerNamespace = 1 }, nil, on(), creation, nil, "max-services-per-namespace"},
		"Services that exist":    {func(c *config.LoadBalancer) { c.MaxServicesPerNamespace = 1 }, on(), on(), creation, nil, ""},
		"Services, none created": {func(c *config.LoadBalancer) { c.MaxServicesPerNamespace = 1 }, nil, on(), plan.Plan{}, nil, ""},
	} {
		svc := fixture.Service(ranges)
		in := Inputs{Owner: model.Owner{Namespace: "shop", Name: "web", UID: svc.UID}, Settings: fixture.Settings(t, svc, fixture.Config())}
		c := &checks{config: fixture.Config(test.limits), store: memoryOf(svc, "", state.Entry{}).Store}
		c.store.Update("other", func(e *state.Entry) { e.Namespace = "shop" })
		r := Round{Have: Observation{Observed: &model.Observed{LoadBalancer: test.have}}, Want: &Desired{LoadBalancer: test.want}}
		r.Groups.Task = &securitygroup.Task{Plan: securitygroup.Plan{Open: test.open}}
		err := c.limits(in, r, test.todo)
		if (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s: %v, want %q", name, err, test.refused)
		}
		if counts := c.store.Get(svc.UID).Namespace == "shop"; counts != (test.refused == "") {
			t.Errorf("%s: the Service counts in its namespace: %v", name, counts)
		}
	}
}

// A plan is refused before its first step if the cloud would refuse a later one, and nothing is asked without a need.
func TestPrepare_RefusesWhatTheCloudWouldRefuseLater(t *testing.T) {
	t.Parallel()
	fip := func(address string) plan.Step {
		return plan.CreateFloatingIP{FloatingIP: model.FloatingIP{NetworkID: "network", Address: address}}
	}
	certificate := func(ref string) plan.Step {
		return plan.CreateListener{Listener: model.Listener{Protocol: model.TerminatedHTTPS, Port: 443, TLSContainerRef: ref}}
	}
	for name, test := range map[string]struct {
		steps    []plan.Step
		external bool
		secrets  []string
		fails    string
		sent     int
		want     any // an error of this type
		words    string
	}{
		"nothing":                          {steps: []plan.Step{plan.DeleteListener{}}},
		"a floating IP":                    {steps: []plan.Step{fip("")}},
		"one with an address":              {steps: []plan.Step{fip("10.0.0.7")}, sent: 1},
		"an address elsewhere":             {steps: []plan.Step{fip("203.0.113.7")}, sent: 1, words: "203.0.113.7"},
		"an address elsewhere, second":     {steps: []plan.Step{plan.DeleteListener{}, fip("203.0.113.7")}, sent: 1, words: "203.0.113.7"},
		"an address, Neutron fails":        {steps: []plan.Step{fip("10.0.0.7")}, fails: "subnets", sent: 1, words: "failed"},
		"a certificate":                    {steps: []plan.Step{certificate(secretRef)}, secrets: []string{secretRef}, sent: 1},
		"one that is missing":              {steps: []plan.Step{certificate(secretRef)}, sent: 1, words: "Barbican has no such container or secret"},
		"one that is missing, of another":  {steps: []plan.Step{certificate(secretRef)}, external: true},
		"a certificate, Barbican fails":    {steps: []plan.Step{certificate(secretRef)}, fails: "secret", sent: 1, want: new(*lookup.Error), words: "failed"},
		"a certificate of an old listener": {steps: []plan.Step{plan.UpdateListener{ID: "l", From: model.Listener{TLSContainerRef: secretRef}, To: model.Listener{TLSContainerRef: secretRef}}}, sent: 1, want: new(*lookup.LostCertificateError), words: "no longer has this container"},
	} {
		r := newRig(t)
		for _, ref := range test.secrets {
			r.secrets = append(r.secrets, ref[strings.LastIndex(ref, "/")+1:])
		}
		if test.fails != "" {
			r.fails[test.fails] = errFailed
		}
		in := inputsOf(r.svc)
		in.Settings = fixture.Settings(t, r.svc, fixture.Config())
		in.Settings.Listeners.ExternalStore = test.external
		todo, c := plan.Plan{Steps: test.steps}, r.checks
		err := errors.Join(c.floatingAddress(t.Context(), in, todo), c.certificates(t.Context(), in, todo))
		if (err != nil) != (test.words != "") || err != nil && (!strings.Contains(err.Error(), test.words) || test.want != nil && !errors.As(err, test.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if len(r.sent) != test.sent {
			t.Errorf("%s: requests %v", name, r.sent)
		}
	}
}
