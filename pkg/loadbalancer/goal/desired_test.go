package goal

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// Options of plans follow the settings, the existing load balancer, and what was applied before.
func TestOptions_AreThoseOfServiceAndLoadBalancer(t *testing.T) {
	t.Parallel()
	there := &model.LoadBalancer{ID: "lb", Provider: "there"}
	withPods := &model.LoadBalancer{ID: "lb", Provider: "there", Listeners: []model.Listener{{Protocol: model.TCP, Port: 80, Pool: model.Pool{Members: model.MembersOf(model.Member{Name: "10.244.0.7", Address: "10.244.0.7", Port: 8080})}}}}
	members := func(o plan.Options) [3]bool { return [3]bool{o.MoveMembers, o.NodesSubnets, o.Pods} }
	for name, test := range map[string]struct {
		change   func(*Inputs)
		existing *model.LoadBalancer
		entry    state.Entry
		serial   *Serial
		holds    func(plan.Options) bool
	}{
		"nothing": {holds: func(o plan.Options) bool {
			return o.Driver.Name == "wanted" && members(o) == [3]bool{false, true, false} && !o.Published && len(o.Addresses) == 0 && !o.KeepFloatingIP && !o.Drains && !o.Weighed && o.Cascade
		}},
		"a load balancer":          {existing: there, holds: func(o plan.Options) bool { return o.Driver.Name == "there" && !o.Pods }},
		"one that may be replaced": {existing: there, change: func(in *Inputs) { in.Settings.LoadBalancer.AllowReplace = true }, holds: func(o plan.Options) bool { return o.Driver.Name == "there" }},
		"batches were refused": {serial: &Serial{feature: driver.MemberBatches}, holds: func(o plan.Options) bool {
			return !o.Driver.Supports(driver.MemberBatches) && o.Driver.Supports(driver.FullCreate)
		}},
		"a status":            {change: func(in *Inputs) { in.Published = published("203.0.113.7") }, holds: func(o plan.Options) bool { return o.Published && slices.Equal(o.Addresses, []string{"203.0.113.7"}) }},
		"a host name":         {change: func(in *Inputs) { in.Published.Status.Ingress = []v1.LoadBalancerIngress{{Hostname: "web"}} }, holds: func(o plan.Options) bool { return o.Published && len(o.Addresses) == 0 }},
		"floating IPs stay":   {change: func(in *Inputs) { in.Settings.Floating.Keep = true }, holds: func(o plan.Options) bool { return o.KeepFloatingIP }},
		"a subnet of members": {change: func(in *Inputs) { in.Settings.Members.SubnetID = "subnet" }, holds: func(o plan.Options) bool { return members(o) == [3]bool{true, false, false} }},
		"a default subnet":    {change: func(in *Inputs) { in.Settings.Members.DefaultSubnetID = "subnet" }, holds: func(o plan.Options) bool { return members(o) == [3]bool{false, false, false} }},
		"pods, a subnet of members": {change: func(in *Inputs) {
			in.Settings.Members.Mode, in.Settings.Members.SubnetID = annotation.MembersPods, "subnet"
		}, holds: func(o plan.Options) bool { return members(o) == [3]bool{false, false, true} }},
		"nodes instead of pods": {existing: withPods, holds: func(o plan.Options) bool { return members(o) == [3]bool{false, false, true} }},
		"weights":               {change: func(in *Inputs) { in.Settings.Members.Weights = annotation.WeightsDrain }, holds: func(o plan.Options) bool { return o.Drains && !o.Weighed }},
		"weights until now":     {entry: state.Entry{Applied: appliedOn("other", true)}, holds: func(o plan.Options) bool { return !o.Drains && o.Weighed }},
		"in ERROR":              {existing: &model.LoadBalancer{Provider: "there", Status: model.Status{Provisioning: "ERROR"}}, holds: func(o plan.Options) bool { return o.Failover.Now }},
	} {
		svc := webService()
		in := inputsOf(svc)
		in.Version, in.Settings.LoadBalancer.Provider, in.Settings.Traffic.Ports = model.Version{Major: 2, Minor: 30}, "wanted", []v1.ServicePort{fixture.Port(v1.ProtocolTCP, 80)}
		if test.change != nil {
			test.change(&in)
		}
		p := &planner{
			config: fixture.Config(func(c *config.LoadBalancer) { c.CascadeDelete = true }), drivers: driver.NewRegistry(driver.Settings{}),
			failovers: NewFailovers(testingclock.NewFakePassiveClock(noon)), memory: memoryOf(svc, "", test.entry),
		}
		if o := p.options(in, test.existing, test.serial); !test.holds(o) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// What the provider of the existing load balancer cannot serve is refused, and what it ignores is reported. The
// provider of the settings counts only for a new one.
func TestValidate_AsksTheProviderThatServes(t *testing.T) {
	t.Parallel()
	const noTLS, ref = "the provider ovn has no TLS", "https://barbican.example.org/v1/secrets/0f9e8d7c-6b5a-4c3d-8e1f-a0b1c2d3e4f5"
	version, drivers := model.Version{Major: 2, Minor: 30}, driver.NewRegistry(driver.Settings{})
	there := func(provider string) *model.LoadBalancer { return &model.LoadBalancer{ID: "lb", Provider: provider} }
	asked := func(provider string, changes ...func(*v1.Service)) *settings.Settings {
		return fixture.Settings(t, fixture.Service(changes...), fixture.Config(func(c *config.LoadBalancer) { c.LBProvider = provider }))
	}
	tls, limit := fixture.Annotated(annotation.TLSContainer, ref), fixture.Annotated(annotation.ConnLimit, "100")
	for name, test := range map[string]struct {
		settings *settings.Settings
		existing *model.LoadBalancer
		refused  string
		unused   string
	}{
		"amphora terminates TLS":                  {asked("amphora", tls), nil, "", ""},
		"ovn does not":                            {asked("ovn", tls), nil, noTLS, ""},
		"ovn does not, amphora is configured":     {asked("amphora", tls), there("ovn"), noTLS, ""},
		"amphora does, ovn is configured":         {asked("ovn", tls), there("amphora"), "", ""},
		"amphora has limits":                      {asked("amphora", limit), nil, "", ""},
		"ovn ignores them":                        {asked("ovn", limit), nil, "", annotation.ConnLimit},
		"ovn ignores them, amphora is configured": {asked("amphora", limit), there("ovn"), "", annotation.ConnLimit},
		"what is refused is not ignored":          {asked("ovn", tls, limit), nil, noTLS, ""},
	} {
		err := Validate(drivers, test.settings, webIdentity(), version, test.existing)
		if (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s: refused: %v", name, err)
		}
		var unused []string
		for _, notice := range Unused(drivers, test.settings, webIdentity(), version, test.existing) {
			unused = append(unused, notice.Annotation)
		}
		if slices.Contains(unused, test.unused) != (test.unused != "") || test.unused == "" && test.existing == nil && len(unused) > 0 {
			t.Errorf("%s: ignored: %v", name, unused)
		}
	}
}
