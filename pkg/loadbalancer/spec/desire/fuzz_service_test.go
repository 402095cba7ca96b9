package desire_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// FuzzService creates a whole Service from its input: annotations line by line, ranges and ports
// one by one. The result is short: a load balancer for all ports, or an error.
func FuzzService(f *testing.F) {
	for _, a := range annotation.Table() {
		for _, value := range []string{"true", "5", "10.0.0.0/8", "web=HTTP", "\xff"} {
			f.Add(a.Name+"="+value, "", "", "P", false, false)
		}
	}
	f.Add(annotation.Monitor+"=true\n"+annotation.MonitorPort+"=10250", "10.0.0.0/8,::/0", "192.0.2.1", "PQR", true, true)
	f.Add("loadbalancer.openstack.org/subnet-idd=x", strings.Repeat("2001:db8::/48,", 2000), strings.Repeat("x", 5000), strings.Repeat("Pp", 300), false, false)
	f.Fuzz(func(t *testing.T, annotations, ranges, address, portBytes string, policyLocal, ovn bool) {
		svc := fixture.Service(fixture.Ports())
		for line := range strings.SplitSeq(annotations, "\n") {
			name, value, _ := strings.Cut(line, "=")
			svc.Annotations[name] = value
		}
		if ranges != "" {
			svc.Spec.LoadBalancerSourceRanges = strings.Split(ranges, ",")
		}
		for _, b := range []byte(portBytes) {
			protocol := []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP}[b%3]
			svc.Spec.Ports = append(svc.Spec.Ports, fixture.Port(protocol, int32(b)))
		}
		svc.Spec.LoadBalancerIP = address
		if policyLocal {
			fixture.Local(svc)
		}
		drv, cfg := fixture.Amphora(), fixture.Config(func(lb *config.LoadBalancer) { lb.DenyAnnotations = "vip-sg-ids,port-id" })
		if ovn {
			drv = driver.Of("ovn", model.Version{Major: 2, Minor: 30})
		}
		s, notices, errs := fixture.Parse(t, svc, cfg)
		var told []string
		for _, notice := range append(notices, s.For(drv).Unused()...) {
			told = append(told, notice.Annotation+": "+notice.Message)
		}
		if text := message.Join(told, "; ", message.MaxEvent); len(text) > message.MaxEvent || !utf8.ValidString(text) {
			t.Errorf("an event of %d bytes: %q", len(text), text)
		}
		if err := message.Invalid(append(errs, s.For(drv).Validate()...)); err != nil {
			if text := err.Error(); len(text) > message.MaxError || !utf8.ValidString(text) || text == "" {
				t.Errorf("an error of %d bytes: %q", len(text), text)
			}
			return
		}
		selected, err := new(members.Selector).Select(s, []*v1.Node{fixture.Node("a", "10.0.0.1", "fd00::1")})
		if err != nil {
			return // no node is selected
		}
		lb := desire.LoadBalancer(ownership.Identity{ClusterName: "c", ServiceUID: "uid", Namespace: "default", Service: "web"}, s, selected.InAll(s), desire.Facts{Driver: drv})
		if len(lb.Listeners) != len(svc.Spec.Ports) {
			t.Errorf("%d listeners for %d ports", len(lb.Listeners), len(svc.Spec.Ports))
		}
		own := map[int]bool{0: true, 10256: true, int(svc.Spec.HealthCheckNodePort): true}
		for _, p := range svc.Spec.Ports {
			own[int(p.NodePort)] = true
		}
		for _, l := range lb.Listeners {
			for _, m := range l.Pool.Members.All() {
				if !own[m.MonitorPort] {
					t.Errorf("a monitor asks port %d of the nodes", m.MonitorPort)
				}
			}
		}
	})
}
