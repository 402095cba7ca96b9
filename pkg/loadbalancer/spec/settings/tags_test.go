package settings_test

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// TestParse_PrefersTagsOfAnnotationToClassToSection reads them from each place.
//
//proves:65
func TestParse_PrefersTagsOfAnnotationToClassToSection(t *testing.T) {
	t.Parallel()
	cfg := fixture.Config(func(lb *config.LoadBalancer) { lb.Tags = "section, cost=7" })
	cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"gold": {Tags: "class"}, "plain": {}}
	gold := fixture.Annotated(annotation.Class, "gold")
	for name, test := range map[string]struct {
		svc  *v1.Service
		want []string
	}{
		"section":                    {fixture.Service(), []string{"section", "cost=7"}},
		"class":                      {fixture.Service(gold), []string{"class"}},
		"class that says nothing":    {fixture.Service(fixture.Annotated(annotation.Class, "plain")), []string{"section", "cost=7"}},
		"annotation":                 {fixture.Service(gold, fixture.Annotated(annotation.Tags, "b, a")), []string{"b", "a"}},
		"annotation that wants none": {fixture.Service(gold, fixture.Annotated(annotation.Tags, "")), nil},
	} {
		if got := fixture.Settings(t, test.svc, cfg).LoadBalancer.Tags; !slices.Equal(got, test.want) {
			t.Errorf("%s: tags %q, want %q", name, got, test.want)
		}
	}
	if got := fixture.Settings(t, fixture.Service(), fixture.Config()).LoadBalancer.Tags; len(got) > 0 {
		t.Errorf("nobody asks for tags: %q", got)
	}
}

func TestParse_RefusesOurOwnTags(t *testing.T) {
	t.Parallel()
	id := ownership.Identity{ClusterName: "kubernetes", ClusterID: "cluster", ServiceUID: "uid", Namespace: "default", Service: "web"}
	for _, tag := range append(id.Tags(), ownership.ReplacesTag("lb", "wish")) {
		_, _, errs := fixture.Parse(t, fixture.Service(fixture.Annotated(annotation.Tags, "a,"+tag)), fixture.Config())
		fixture.AssertRefused(t, errs, annotation.Tags, tag, "none that begins with kube_")
	}
}

// Octavia accepts source ranges for any provider, and some vendors' drivers ignore them: the load
// balancer may be more open than requested, without an error.
func TestUnused_ReportsSourceRangesThatProviderMayIgnore(t *testing.T) {
	t.Parallel()
	limited := fixture.Service(func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} })
	for provider, want := range map[string]bool{"amphora": false, "octavia": false, "f5": false, "a10": true} {
		drv := driver.Of(provider, model.Version{Major: 2, Minor: 30})
		told := fixture.Settings(t, limited, fixture.Config()).For(drv).Unused()
		if got := len(told) == 1 && told[0].Annotation == "spec.loadBalancerSourceRanges" && strings.Contains(told[0].Message, provider); got != want || !want && len(told) > 0 {
			t.Errorf("%s: told %v", provider, told)
		}
		if told := fixture.Settings(t, fixture.Service(), fixture.Config()).For(drv).Unused(); len(told) > 0 {
			t.Errorf("%s, open to all: told %v", provider, told)
		}
	}
}

func TestUnused_ReportsTagsWithoutEffect(t *testing.T) {
	t.Parallel()
	svc := fixture.Service(fixture.Annotated(annotation.Tags, "a"))
	old := driver.Of("amphora", model.Version{Major: 2, Minor: 4})
	told := fixture.Settings(t, svc, fixture.Config()).For(old).Unused()
	if len(told) != 1 || told[0].Annotation != annotation.Tags || !strings.Contains(told[0].Message, "2.5") {
		t.Errorf("told %v", told)
	}
	if told := fixture.Settings(t, svc, fixture.Config()).For(fixture.Amphora()).Unused(); len(told) > 0 {
		t.Errorf("told %v", told)
	}
}
