package settings_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func TestNewParser_FailsOnDeniedAnnotationThatDoesNotExist(t *testing.T) {
	t.Parallel()
	_, err := settings.NewParser(fixture.Config(func(c *config.LoadBalancer) { c.DenyAnnotations = "port-id,vip-sgids" }))
	if err == nil || !strings.Contains(err.Error(), `[LoadBalancer] deny-annotations: "vip-sgids" is not an annotation`) {
		t.Errorf("error %v", err)
	}
}

func TestParse_RefusesDeniedAnnotationsAndDoesNotReadThem(t *testing.T) {
	t.Parallel()
	svc := fixture.Service(fixture.Annotated(annotation.PortID, "a"), fixture.Annotated(annotation.FloatingIPTag, "b"), fixture.Annotated(annotation.SubnetID, "c"))
	before := svc.DeepCopy()
	s, _, errs := fixture.Parse(t, svc, fixture.Config(func(c *config.LoadBalancer) { c.DenyAnnotations = "port-id,floating-ip-tag,hostname" }))
	if len(errs) != 2 || s.VIP.PortID != "" || s.Floating.Tag != "" || s.VIP.SubnetID != "c" {
		t.Errorf("errors %v, settings %+v", errs, s)
	}
	for i, name := range []string{annotation.PortID, annotation.FloatingIPTag} {
		fixture.AssertRefused(t, errs[i:i+1], name, "deny-annotations of cloud.conf")
	}
	if len(svc.Annotations) != len(before.Annotations) {
		t.Error("the Service is changed")
	}
}

// The order of the errors does not depend on the Service, so that the same errors give the same
// text.
func TestParse_ListsErrorsInOrder(t *testing.T) {
	t.Parallel()
	svc := fixture.Service(fixture.Annotated(annotation.Class, "none"), fixture.Annotated(annotation.MonitorPort, "x"), fixture.Annotated(annotation.NodeSelector, "!!"),
		fixture.Annotated(annotation.PortID, "a"), fixture.Annotated(annotation.Hostname, "-"), fixture.Annotated(annotation.VIPAddress, "z"),
		func(svc *v1.Service) { svc.Spec.LoadBalancerIP, svc.Spec.LoadBalancerSourceRanges = "x", []string{"y"} })
	cfg := fixture.Config(func(c *config.LoadBalancer) { c.DenyAnnotations = "port-id" })
	cfg.Refused.LoadBalancers = []error{&config.ValueError{Place: "cloud.conf [LoadBalancer] lb-method", Value: "wrong", Allowed: "another"}}
	_, _, errs := fixture.Parse(t, svc, cfg)
	var fields []string
	for _, err := range errs {
		fields = append(fields, err.Field)
	}
	at := func(name string) string { return annotation.Path(name).String() }
	want := []string{
		"cloud.conf [LoadBalancer] lb-method", at(annotation.PortID), at(annotation.MonitorPort), at(annotation.Class), at(annotation.NodeSelector),
		"spec.loadBalancerSourceRanges[0]", at(annotation.Hostname), "spec.loadBalancerIP", at(annotation.VIPAddress),
	}
	if !slices.Equal(fields, want) {
		t.Errorf("errors of %q, want %q", fields, want)
	}
}

func TestParseKept_KeepsWhatExistsAndSaysWhatIsUnread(t *testing.T) {
	t.Parallel()
	parser, err := settings.NewParser(fixture.Config(func(c *config.LoadBalancer) { c.FlavorID, c.AvailabilityZone = "large", "zone" }))
	if err != nil {
		t.Fatal(err)
	}
	s, unread := parser.ParseKept(fixture.Service(
		fixture.Annotated(annotation.AllowReplace, "true"), fixture.Annotated(annotation.PortID, "p"), fixture.Annotated(annotation.FloatingIPTag, "tag"),
		fixture.Annotated(annotation.FloatingNetID, "elsewhere"), func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "203.0.113.1" }))
	lb := s.LoadBalancer
	if lb.AllowReplace || lb.FlavorID+lb.AvailabilityZone+s.VIP.PortID+s.VIP.Address+s.LoadBalancerIP+s.Floating.ID+s.Floating.Tag != "" || !s.Floating.Keep {
		t.Errorf("it asks for what may not exist: %+v", s)
	}
	if s.Floating.NetworkID != "elsewhere" || unread != (settings.Unread{}) {
		t.Errorf("network %q, unread %+v", s.Floating.NetworkID, unread)
	}
	for name, test := range map[string]struct {
		svc  *v1.Service
		want settings.Unread
	}{
		"selector": {fixture.Service(fixture.Annotated(annotation.NodeSelector, "!!")), settings.Unread{Selector: true}},
		"ranges":   {fixture.Service(fixture.Annotated(annotation.SourceRanges, "x")), settings.Unread{Ranges: true}},
		"field":    {fixture.Service(func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"x"} }), settings.Unread{Ranges: true}},
		"weights":  {fixture.Service(fixture.Annotated(annotation.MemberWeights, "x")), settings.Unread{Weights: true}},
		"others":   {fixture.Service(fixture.Annotated(annotation.MonitorPort, "x")), settings.Unread{}},
	} {
		if _, unread := parser.ParseKept(test.svc); unread != test.want {
			t.Errorf("%s: unread %+v, want %+v", name, unread, test.want)
		}
	}
}

func TestParseDeletion_ReadsServicesThatAreRefused(t *testing.T) {
	t.Parallel()
	wrong := fixture.Annotated(annotation.MonitorPort, "x")
	for name, test := range map[string]struct {
		svc  *v1.Service
		want settings.Deletion
	}{
		"nothing":       {fixture.Service(wrong), settings.Deletion{}},
		"keeps":         {fixture.Service(wrong, fixture.Annotated(annotation.KeepFloatingIP, "true")), settings.Deletion{KeepFloatingIP: true}},
		"perhaps keeps": {fixture.Service(fixture.Annotated(annotation.KeepFloatingIP, "yes")), settings.Deletion{KeepFloatingIP: true}},
		"an address":    {fixture.Service(func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "203.0.113.1" }), settings.Deletion{AsksFloatingIP: true}},
		"keeps nothing": {fixture.Service(fixture.Annotated(annotation.KeepFloatingIP, "false")), settings.Deletion{}},
		"releases an address": {fixture.Service(wrong, fixture.Annotated(annotation.KeepFloatingIP, "false"), func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "203.0.113.1" }),
			settings.Deletion{AsksFloatingIP: true, ReleaseFloatingIP: true}},
		"perhaps releases": {fixture.Service(fixture.Annotated(annotation.KeepFloatingIP, "False"), fixture.Annotated(annotation.FloatingIPTag, "t")),
			settings.Deletion{AsksFloatingIP: true, KeepFloatingIP: true}},
		"a tag":             {fixture.Service(wrong, fixture.Annotated(annotation.FloatingIPTag, "t")), settings.Deletion{AsksFloatingIP: true}},
		"a load balancer":   {fixture.Service(fixture.Annotated(annotation.LoadBalancerID, "lb")), settings.Deletion{LoadBalancerID: "lb"}},
		"a copied Service":  {fixture.Service(fixture.Annotated(annotation.LoadBalancerID, "lb"), appliedTo("lb", "other-uid")), settings.Deletion{}},
		"one written by us": {fixture.Service(fixture.Annotated(annotation.LoadBalancerID, "lb"), appliedTo("lb", "service-uid")), settings.Deletion{LoadBalancerID: "lb"}},
	} {
		if got := settings.ParseDeletion(test.svc); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// appliedTo sets the annotations that were written for another Service.
func appliedTo(loadBalancer, uid string) func(*v1.Service) {
	return fixture.Annotated(annotation.WrittenFor, fmt.Sprintf("%s %s", loadBalancer, uid))
}

func TestOn_AsksForNoAddressOnAnothersLoadBalancer(t *testing.T) {
	t.Parallel()
	s := fixture.Settings(t, fixture.Service(func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "203.0.113.1" }), fixture.Config())
	for name, test := range map[string]struct {
		lb         *model.LoadBalancer
		floatingIP bool
	}{
		"none":      {nil, true},
		"its own":   {&model.LoadBalancer{}, true},
		"another's": {&model.LoadBalancer{Shared: &model.Shared{}}, false},
	} {
		if on := s.On(test.lb); on.FloatingIP() != test.floatingIP || (on.LoadBalancerIP != "") != test.floatingIP {
			t.Errorf("%s: floating IP %v, address %q", name, on.FloatingIP(), on.LoadBalancerIP)
		}
	}
	if !s.FloatingIP() {
		t.Error("the settings themselves are changed")
	}
}

func TestOn_AddsNoMonitorsForThePolicyToWhatAnotherControllerMade(t *testing.T) {
	t.Parallel()
	drv := fixture.Amphora()
	adopted := &model.LoadBalancer{Adopted: true, Listeners: []model.Listener{{Protocol: model.TCP, Port: 80}}}
	s := fixture.Settings(t, fixture.Service(fixture.Local), fixture.Config()).On(adopted)
	if m, _ := s.For(drv).HealthMonitor(model.TCP); m != nil || !strings.Contains(s.For(drv).MissingMonitors(), "port 31000") {
		t.Errorf("monitor %+v, missing %q", m, s.For(drv).MissingMonitors())
	}
	asked := fixture.Settings(t, fixture.Service(fixture.Local, fixture.Annotated(annotation.Monitor, "true")), fixture.Config()).On(adopted)
	if m, _ := asked.For(drv).HealthMonitor(model.TCP); m == nil || asked.For(drv).MissingMonitors() != "" {
		t.Errorf("monitor %+v, missing %q", m, asked.For(drv).MissingMonitors())
	}
}
