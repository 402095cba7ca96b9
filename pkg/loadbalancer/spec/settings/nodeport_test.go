package settings_test

import (
	"cmp"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
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
			if errs := fixture.Settings(t, svc, fixture.Config()).Validate(fixture.Amphora()); (len(errs) == 0) != valid {
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
