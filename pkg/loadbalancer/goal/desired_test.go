package goal

import (
	"net/netip"
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
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// Options of plans follow the settings, the existing load balancer, and the last applied state.
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
		"a refused setting is not ignored":        {asked("ovn", tls, limit), nil, noTLS, ""},
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

// alone is a subnet in a network without another IP family.
var alone = neutron.Subnet{ID: "alone", NetworkID: "lonely", IPVersion: 4, CIDR: "10.9.0.0/24"}

// A Service is refused before the first write for everything that the cloud would refuse later.
func TestDesire_RefusesBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	existing := &model.LoadBalancer{ID: "lb", Provider: "amphora", VIP: model.VIP{SubnetID: "subnet", Address: "10.0.0.5"}}
	ovn := func(c *config.LoadBalancer) { c.LBProvider, c.LBMethod = "ovn", "SOURCE_IP_PORT" }
	internal := fixture.Annotated(annotation.Internal, "true")
	for name, test := range map[string]struct {
		conf     func(*config.LoadBalancer)
		changes  []func(*v1.Service)
		existing *model.LoadBalancer
		has      []string
		pods     string // the address of a pod, "" for none
		words    string // "" if it is not refused
	}{
		"nothing":                                 {},
		"a named one is missing":                  {changes: []func(*v1.Service){fixture.Annotated(annotation.LoadBalancerID, "missing")}, words: "there is no such load balancer"},
		"another one than is named":               {changes: []func(*v1.Service){fixture.Annotated(annotation.LoadBalancerID, "missing")}, existing: existing},
		"a feature that the provider lacks":       {conf: ovn, changes: []func(*v1.Service){fixture.Annotated(annotation.TLSContainer, secretRef)}, words: "the provider ovn has no TLS"},
		"a provider that Octavia lacks":           {changes: []func(*v1.Service){fixture.Annotated(annotation.Provider, "acme")}, words: "acme"},
		"an address in use":                       {changes: []func(*v1.Service){internal, loadBalancerIP("10.0.0.1")}, words: "10.0.0.1 is in use"},
		"an address in use, by itself":            {changes: []func(*v1.Service){internal, loadBalancerIP("10.0.0.1")}, has: []string{"10.0.0.1"}},
		"an address in use, it exists":            {changes: []func(*v1.Service){internal, loadBalancerIP("10.0.0.1")}, existing: existing},
		"a second address in use":                 {changes: []func(*v1.Service){internal, dual(v1.IPFamilyPolicyRequireDualStack), loadBalancerIP("fd00::1")}, words: "fd00::1 is in use"},
		"a pod that cannot be reached":            {conf: func(c *config.LoadBalancer) { c.Members = annotation.MembersPods }, pods: "10.244.0.7", words: "pod 10.244.0.7 has no route"},
		"an address of another subnet":            {changes: []func(*v1.Service){internal, loadBalancerIP("192.0.2.1")}, words: "192.0.2.1 is not in subnet subnet"},
		"members of another family than VIP":      {conf: ovn, changes: []func(*v1.Service){fixture.Families(v1.IPv6Protocol)}, existing: &model.LoadBalancer{ID: "lb", Provider: "ovn", VIP: model.VIP{Address: "10.0.0.5"}}, words: "IPv6"},
		"both families, of which it lacks one":    {changes: []func(*v1.Service){dual(v1.IPFamilyPolicyRequireDualStack), func(svc *v1.Service) { svc.Annotations[annotation.SubnetID] = "alone" }}, words: "has no subnet of IPv6"},
		"both families, of which it may lack one": {changes: []func(*v1.Service){dual(v1.IPFamilyPolicyPreferDualStack), func(svc *v1.Service) { svc.Annotations[annotation.SubnetID] = "alone" }}},
	} {
		r := newRig(t, configured(test.conf), service(test.changes...))
		r.subnets = append(r.subnets, alone)
		if test.pods != "" {
			withPods(r)
			r.endpoints[0].Endpoints[0].Address = netip.MustParseAddr(test.pods)
		}
		in := r.ask().in
		want, err := r.planner.desire(r.ctx, in, in.Settings.On(test.existing), test.existing, test.has)
		if test.existing == nil && test.has == nil {
			want, err = r.planner.asked(r.ctx, in, nil)
		}
		if (err != nil) != (test.words != "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v, want %q", name, err, test.words)
		}
		if err == nil && (want.LoadBalancer == nil || want.Facts.MemberSubnetID != "subnet" || want.Basis != BasisOf(in, test.existing)) {
			t.Errorf("%s: %+v", name, want)
		}
	}
}

// A Service that prefers both IP families gets the first one where the cloud has no place for the other. An event names the reason.
func TestDesire_ServesOneFamilyWithoutAPlaceForTheOther(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		subnet   string
		minor    int // of Octavia's API
		families int
		notice   string
	}{"both": {"subnet", 30, 2, ""}, "a release with one VIP": {"subnet", 20, 1, ""}, "one": {"alone", 30, 1, "the load balancer serves only IPv4, because network lonely of the first VIP has no subnet of IPv6"}} {
		r := newRig(t, service(dual(v1.IPFamilyPolicyPreferDualStack), fixture.Annotated(annotation.SubnetID, test.subnet)))
		r.subnets, r.version.Minor = append(r.subnets, alone), test.minor
		want, err := r.planner.asked(r.ctx, r.ask().in, nil)
		if err != nil {
			t.Fatal(err)
		}
		notice := ""
		for _, ignored := range want.Facts.Ignored {
			notice += ignored.Message
		}
		if len(want.Settings.Families()) != test.families || len(want.LoadBalancer.VIP.Additional) != test.families-1 || !strings.Contains(notice, test.notice) || test.notice == "" && notice != "" {
			t.Errorf("%s: families %v, VIP %+v, notice %q", name, want.Settings.Families(), want.LoadBalancer.VIP, notice)
		}
	}
}

// On another's load balancer only the listeners are desired.
func TestDesire_OnAnothersLoadBalancerIsItsListeners(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := r.ask().in
	for name, shared := range map[string]*model.Shared{"another's": {}, "its own": nil} {
		lb := &model.LoadBalancer{ID: "lb", Provider: "amphora", VIP: model.VIP{SubnetID: "subnet", Address: "10.0.0.5"}, Shared: shared}
		want, err := r.planner.asked(r.ctx, in, lb)
		if err != nil || want.Basis.Shared != (shared != nil) || (want.LoadBalancer.Shared != nil) != (shared != nil) || (want.LoadBalancer.FloatingIP == nil) != (shared != nil) || len(want.LoadBalancer.Listeners) != 1 {
			t.Errorf("%s: %+v, error %v", name, want.LoadBalancer, err)
		}
	}
}

// What a new load balancer would refuse may be in effect on an existing one, which stays as it is.
func TestValidate_TakesExistingLoadBalancersAsTheyAre(t *testing.T) {
	t.Parallel()
	const noVIPs, noMethod = "this Octavia has API version v2.20", "LEAST_CONNECTIONS"
	drivers, version := driver.NewRegistry(driver.Settings{}), model.Version{Major: 2, Minor: 20} // load balancers have one VIP each
	one := &model.LoadBalancer{ID: "lb", Provider: "amphora", VIP: model.VIP{Address: "10.0.0.5"}}
	method := fixture.Annotated(annotation.Method, noMethod)
	for name, test := range map[string]struct {
		provider string
		change   func(*v1.Service)
		existing *model.LoadBalancer
		refused  string
	}{
		"both families, required":             {"amphora", dual(v1.IPFamilyPolicyRequireDualStack), nil, noVIPs},
		"both families, preferred":            {"amphora", dual(v1.IPFamilyPolicyPreferDualStack), nil, ""},
		"both families, preferred, one VIP":   {"amphora", dual(v1.IPFamilyPolicyPreferDualStack), one, ""},
		"an algorithm that ovn lacks":         {"ovn", method, nil, noMethod},
		"an algorithm that ovn lacks, on one": {"ovn", method, &model.LoadBalancer{ID: "lb", Provider: "ovn"}, ""},
	} {
		asked := fixture.Settings(t, fixture.Service(test.change), fixture.Config(func(c *config.LoadBalancer) { c.LBProvider, c.LBMethod = test.provider, "" }))
		err := Validate(drivers, asked, webIdentity(), version, test.existing)
		if (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s: %v, want %q", name, err, test.refused)
		}
	}
}
