package settings_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// noticed returns the names of the settings without effect, and all texts.
func noticed(notices []annotation.Notice) (names, texts string) {
	for _, n := range notices {
		names, texts = strings.TrimSpace(names+" "+n.Annotation), texts+n.Message+"\n"
	}
	return names, texts
}

// Fields of the spec without effect are reported like annotations; those for other components are
// not.
func TestParse_NoticesSpecFieldsWithoutEffect(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change      func(*v1.Service)
		names, text string
	}{
		"a name that is for other types": {func(svc *v1.Service) { svc.Spec.ExternalName = "www.example.com" }, "spec.externalName", annotation.Hostname},
		"what is for kube-proxy and others": {func(svc *v1.Service) {
			svc.Spec.InternalTrafficPolicy, svc.Spec.TrafficDistribution = ptr(v1.ServiceInternalTrafficPolicyLocal), ptr("PreferClose")
			svc.Spec.ExternalIPs, svc.Spec.PublishNotReadyAddresses = []string{"192.0.2.1"}, true
			svc.Spec.Ports[0].AppProtocol = ptr("http")
		}, "", ""},
	} {
		_, notices, errs := fixture.Parse(t, fixture.Service(test.change), fixture.Config())
		names, texts := noticed(notices)
		if len(errs) > 0 || names != test.names || !strings.Contains(texts, test.text) {
			t.Errorf("%s: notices of %q: %s, errors %v", name, names, texts, errs)
		}
	}
}

func TestUnused_TellsOfAddressThatAnotherLoadBalancerDoesNotHave(t *testing.T) {
	t.Parallel()
	shared := &model.LoadBalancer{Shared: &model.Shared{}, VIP: model.VIP{Address: "10.0.0.9"}, FloatingIP: &model.FloatingIP{Address: "203.0.113.9"}}
	own := *shared
	own.Shared = nil
	for address, test := range map[string]struct {
		on   *model.LoadBalancer
		want string
	}{
		"":            {shared, ""},
		"203.0.113.9": {shared, ""},
		"10.0.0.9":    {shared, ""},
		"203.0.113.7": {shared, "spec.loadBalancerIP"},
		"203.0.113.8": {&own, ""},
	} {
		s := fixture.Settings(t, fixture.Service(func(svc *v1.Service) { svc.Spec.LoadBalancerIP = address }), fixture.Config())
		if names, texts := noticed(s.On(test.on).For(fixture.Amphora()).Unused()); names != test.want {
			t.Errorf("%s: notices of %q: %s", address, names, texts)
		}
	}
}

// The zones of nodes decide where not all of them become members.
func TestSelectsNodes_WhereLabelsDecide(t *testing.T) {
	t.Parallel()
	limited := func(c *config.LoadBalancer) { c.MaxMembers = 5 }
	most := func(text string) func(*v1.Service) { return fixture.Annotated(annotation.MaxMembers, text) }
	class := fixture.Annotated(annotation.Class, "few")
	for name, test := range map[string]struct {
		svc  *v1.Service
		conf func(*config.LoadBalancer)
		want bool
	}{
		"nothing":                        {fixture.Service(), func(*config.LoadBalancer) {}, false},
		"a selector":                     {fixture.Service(fixture.Annotated(annotation.NodeSelector, "pool=a")), func(*config.LoadBalancer) {}, true},
		"a limit":                        {fixture.Service(most("3")), func(*config.LoadBalancer) {}, true},
		"a limit of cloud.conf":          {fixture.Service(), limited, true},
		"that limit, lifted":             {fixture.Service(most(" 0 ")), limited, false},
		"that limit, empty":              {fixture.Service(most("")), limited, true},
		"that limit, with Local":         {fixture.Service(fixture.Local), limited, false},
		"a limit of a class":             {fixture.Service(class), func(*config.LoadBalancer) {}, true},
		"a class without one":            {fixture.Service(fixture.Annotated(annotation.Class, "many")), func(*config.LoadBalancer) {}, false},
		"a class that does not exist":    {fixture.Service(fixture.Annotated(annotation.Class, "gone")), func(*config.LoadBalancer) {}, false},
		"a selector that takes all away": {fixture.Service(fixture.Annotated(annotation.NodeSelector, "")), func(c *config.LoadBalancer) { c.NodeSelector = "a" }, false},
	} {
		conf := fixture.Config(test.conf)
		conf.LoadBalancerClass = map[string]*config.LoadBalancerClass{"few": {MaxMembers: 2}, "many": {}}
		parser, err := settings.NewParser(conf)
		if err != nil {
			t.Fatal(err)
		}
		if got := parser.SelectsNodes(test.svc); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
