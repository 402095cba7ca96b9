package settings_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

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
