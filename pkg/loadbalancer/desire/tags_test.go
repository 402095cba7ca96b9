package desire_test

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// TestTagsComeFromAnnotationBeforeClassBeforeSection reads them from each place.
//
//proves:65
func TestTagsComeFromAnnotationBeforeClassBeforeSection(t *testing.T) {
	t.Parallel()
	cfg := conf(func(lb *config.LoadBalancer) { lb.Tags = "section, cost=7" })
	cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"gold": {Tags: "class"}, "plain": {}}
	gold := annotated(annotation.Class, "gold")
	for name, test := range map[string]struct {
		svc  *v1.Service
		want []string
	}{
		"section":                    {service(), []string{"section", "cost=7"}},
		"class":                      {service(gold), []string{"class"}},
		"class that says nothing":    {service(annotated(annotation.Class, "plain")), []string{"section", "cost=7"}},
		"annotation":                 {service(gold, annotated(annotation.Tags, "b, a")), []string{"b", "a"}},
		"annotation that wants none": {service(gold, annotated(annotation.Tags, "")), nil},
	} {
		if got := settings(t, test.svc, cfg).Tags; !slices.Equal(got, test.want) {
			t.Errorf("%s: tags %q, want %q", name, got, test.want)
		}
	}
	if got := settings(t, service(), conf()).Tags; len(got) > 0 {
		t.Errorf("nobody asks for tags: %q", got)
	}
}

func TestTagsStandBesideOursOnEveryPart(t *testing.T) {
	t.Parallel()
	svc := service(annotated(annotation.Tags, "b,a"), annotated(annotation.Monitor, "true"))
	id := ownership.Identity{ClusterName: "kubernetes", ClusterID: "cluster", ServiceUID: "uid", Namespace: "default", Service: "web"}
	backends := []desire.Backend{{Node: node("n", "10.0.0.1"), Address: "10.0.0.1"}}
	for _, untagged := range []bool{false, true} {
		id.Untagged = untagged
		want := append(id.Tags(), "b", "a")
		if untagged {
			want = nil
		}
		plain := desire.LoadBalancer(service(), id, settings(t, service(), conf()), backends, desire.Facts{Driver: today()})
		if !slices.Equal(plain.Tags, id.Tags()) {
			t.Errorf("nobody asks for tags: %q", plain.Tags)
		}
		lb := desire.LoadBalancer(svc, id, settings(t, svc, conf()), backends, desire.Facts{Driver: today()})
		pool := lb.Listeners[0].Pool
		for part, got := range map[string][]string{
			"load balancer": lb.Tags, "listener": lb.Listeners[0].Tags, "pool": pool.Tags, "monitor": pool.Monitor.Tags,
		} {
			if !slices.Equal(got, want) {
				t.Errorf("untagged %v: %s has tags %q, want %q", untagged, part, got, want)
			}
		}
	}
}

func TestTagsOfOursCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	id := ownership.Identity{ClusterName: "kubernetes", ClusterID: "cluster", ServiceUID: "uid", Namespace: "default", Service: "web"}
	for _, tag := range append(id.Tags(), ownership.ReplacesTag("lb", "wish")) {
		_, _, errs := desire.Read(service(annotated(annotation.Tags, "a,"+tag)), conf())
		refused(t, errs, annotation.Tags, tag, "none that begins with kube_")
	}
}

// Octavia accepts source ranges for any provider, and not every vendor's driver looks at
// them: the load balancer may be more open than asked, and nobody would tell.
func TestSourceRangesThatAProviderMayIgnoreAreTold(t *testing.T) {
	t.Parallel()
	limited := service(func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} })
	for provider, want := range map[string]bool{"amphora": false, "octavia": false, "f5": false, "a10": true} {
		drv := driver.Of(provider, octavia.Version{Major: 2, Minor: 30})
		told := desire.Ineffective(limited, settings(t, limited, conf()), drv)
		if got := len(told) == 1 && told[0].Annotation == "spec.loadBalancerSourceRanges" && strings.Contains(told[0].Message, provider); got != want || !want && len(told) > 0 {
			t.Errorf("%s: told %v", provider, told)
		}
		if told := desire.Ineffective(service(), settings(t, service(), conf()), drv); len(told) > 0 {
			t.Errorf("%s, open to all: told %v", provider, told)
		}
	}
}

func TestTagsWithoutEffectAreTold(t *testing.T) {
	t.Parallel()
	svc := service(annotated(annotation.Tags, "a"))
	old := driver.Of("amphora", octavia.Version{Major: 2, Minor: 4})
	told := desire.Ineffective(svc, settings(t, svc, conf()), old)
	if len(told) != 1 || told[0].Annotation != annotation.Tags || !strings.Contains(told[0].Message, "2.5") {
		t.Errorf("told %v", told)
	}
	if told := desire.Ineffective(svc, settings(t, svc, conf()), today()); len(told) > 0 {
		t.Errorf("told %v", told)
	}
}
