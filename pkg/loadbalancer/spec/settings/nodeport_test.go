package settings_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func TestValidate_AcceptsPortsUpToTheirBounds(t *testing.T) {
	t.Parallel()
	for port, valid := range map[int32]bool{-1: false, 0: false, 1: true, 65535: true, 65536: false} {
		for name, set := range map[string]func(*v1.ServicePort){
			"port": func(p *v1.ServicePort) { p.Port = port }, "nodePort": func(p *v1.ServicePort) { p.NodePort = port },
		} {
			svc := fixture.Service(func(svc *v1.Service) { set(&svc.Spec.Ports[0]) })
			if errs := fixture.Settings(t, svc, fixture.Config()).For(fixture.Amphora()).Validate(); (len(errs) == 0) != valid {
				t.Errorf("%s %d: %v", name, port, errs)
			}
		}
	}
}

// Services with the same port would take each other's rule in the security group of the cluster.
func TestParse_RefusesServicePortsInSharedSecurityGroup(t *testing.T) {
	t.Parallel()
	for mode, refused := range map[string]bool{"per-service": false, "shared": true, "": false} {
		conf := fixture.Config(func(lb *config.LoadBalancer) {
			lb.MemberPort, lb.SecurityGroupMode, lb.ManageSecurityGroups = "service", cmp.Or(mode, "shared"), mode != ""
		})
		parser, err := settings.NewParser(conf)
		if err != nil {
			t.Fatal(err)
		}
		s, _, errs := parser.Parse(fixture.Service())
		if (len(errs) > 0) != refused || s.Traffic.Ports[0].NodePort != s.Traffic.Ports[0].Port {
			t.Errorf("mode %q: %v, members at %d", mode, errs, s.Traffic.Ports[0].NodePort)
		}
	}
}

// With ovn, source ranges are rules at ports of the nodes. Another Service with the same port can admit other
// clients there, which a NodePort excludes: the Service gets a notice.
func TestUnused_NamesSourceRangesAtPortsOfSeveralServices(t *testing.T) {
	t.Parallel()
	current := model.Version{Major: 2, Minor: 27}
	for _, test := range []struct {
		provider, members, memberPort, ranges string
		want                                  bool
	}{
		{"ovn", "pods", "", "10.0.0.0/8", true},
		{"ovn", "", "service", "10.0.0.0/8", true},
		{"ovn", "", "", "10.0.0.0/8", false},
		{"ovn", "pods", "", "0.0.0.0/0", false},
		{"amphora", "pods", "", "10.0.0.0/8", false},
		{"amphora", "", "service", "10.0.0.0/8", false},
	} {
		conf := fixture.Config(func(lb *config.LoadBalancer) {
			lb.Members, lb.MemberPort, lb.ManageSecurityGroups, lb.SecurityGroupMode = test.members, test.memberPort, true, "per-service"
		})
		svc := fixture.Service()
		svc.Spec.LoadBalancerSourceRanges = []string{test.ranges}
		got := slices.ContainsFunc(fixture.Settings(t, svc, conf).For(driver.Of(test.provider, current)).Unused(), func(n annotation.Notice) bool {
			return strings.Contains(n.Message, "clients that another Service admits to the same port")
		})
		if got != test.want {
			t.Errorf("%+v: notice %t", test, got)
		}
	}
}
