package settings_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

const (
	policyA = "aaaaaaaa-0000-4000-8000-000000000001"
	groupA  = "aaaaaaaa-0000-4000-8000-000000000002"
	groupB  = "bbbbbbbb-0000-4000-8000-000000000002"
)

func TestParse_PrefersVIPSettingsOfAnnotationToClassToSection(t *testing.T) {
	t.Parallel()
	class := fixture.Annotated(annotation.Class, "gold")
	cfg := fixture.Config(func(lb *config.LoadBalancer) { lb.VIPQoSPolicyID, lb.VIPSecurityGroupIDs = policyA, groupB })
	cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"gold": {VIPSecurityGroupIDs: groupA}}
	for _, test := range []struct {
		what string
		svc  *v1.Service
		cfg  *config.Config
		want model.VIPSettings
	}{
		{"nothing", fixture.Service(), fixture.Config(), model.VIPSettings{}},
		{"section", fixture.Service(), cfg, model.VIPSettings{QoSPolicyID: policyA, SecurityGroupIDs: []string{groupB}}},
		{"class", fixture.Service(class), cfg, model.VIPSettings{QoSPolicyID: policyA, SecurityGroupIDs: []string{groupA}}},
		{
			"annotation", fixture.Service(class, fixture.Annotated(annotation.VIPQoSPolicyID, "none"), fixture.Annotated(annotation.VIPSecurityGroups, groupB+", "+groupA+","+groupB)), cfg,
			model.VIPSettings{QoSPolicyID: model.None, SecurityGroupIDs: []string{groupA, groupB}},
		},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, fixture.Settings(t, test.svc, test.cfg).VIP.VIPSettings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidate_RefusesImpossibleVIPSettings(t *testing.T) {
	t.Parallel()
	qos, groups := fixture.Annotated(annotation.VIPQoSPolicyID, policyA), fixture.Annotated(annotation.VIPSecurityGroups, groupA)
	ranges := func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }
	of := func(provider string, minor int) driver.Driver {
		return driver.Of(provider, model.Version{Major: 2, Minor: minor})
	}
	byOperator := fixture.Config(func(lb *config.LoadBalancer) { lb.VIPSecurityGroupIDs = groupA })
	for _, test := range []struct {
		what  string
		svc   *v1.Service
		cfg   *config.Config
		drv   driver.Driver
		words []string // none: it can be
	}{
		{"both", fixture.Service(qos, groups), fixture.Config(), fixture.Amphora(), nil},
		{"a QoS policy on an old Octavia", fixture.Service(qos), fixture.Config(), of("amphora", 5), nil},
		{"a QoS policy on ovn", fixture.Service(qos), fixture.Config(), of("ovn", 30), []string{annotation.VIPQoSPolicyID, policyA, "ovn"}},
		{"groups on ovn", fixture.Service(groups), fixture.Config(), of("ovn", 30), []string{annotation.VIPSecurityGroups, groupA, "ovn"}},
		{"groups of cloud.conf on ovn", fixture.Service(), byOperator, of("ovn", 30), []string{annotation.VIPSecurityGroups, groupA, "ovn"}},
		{"groups of a vendor's provider", fixture.Service(groups), fixture.Config(), of("a10", 30), []string{annotation.VIPSecurityGroups, "a10"}},
		{"groups on an old Octavia", fixture.Service(groups), fixture.Config(), of("amphora", 28), []string{annotation.VIPSecurityGroups, groupA, "v2.28", "v2.29"}},
		{"groups and source ranges", fixture.Service(groups, ranges), fixture.Config(), fixture.Amphora(), []string{annotation.VIPSecurityGroups, groupA, "source ranges"}},
		{"groups and everybody", fixture.Service(groups, func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/0"} }), fixture.Config(), fixture.Amphora(), nil},
		{"none of cloud.conf's groups, but source ranges", fixture.Service(fixture.Annotated(annotation.VIPSecurityGroups, "none"), ranges), byOperator, fixture.Amphora(), nil},
		{"none of either on ovn", fixture.Service(fixture.Annotated(annotation.VIPSecurityGroups, "none"), fixture.Annotated(annotation.VIPQoSPolicyID, "none")), fixture.Config(), of("ovn", 10), nil},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			errs := fixture.Settings(t, test.svc, test.cfg).For(test.drv).Validate()
			if test.words != nil || len(errs) > 0 {
				fixture.AssertRefused(t, errs, test.words...)
			}
		})
	}
	for _, name := range []string{annotation.VIPQoSPolicyID, annotation.VIPSecurityGroups} {
		for _, value := range []string{"gold", groupA + ",none", ",,"} {
			_, _, errs := fixture.Parse(t, fixture.Service(fixture.Annotated(name, value)), fixture.Config())
			fixture.AssertRefused(t, errs, name, value)
		}
	}
	_, _, errs := fixture.Parse(t, fixture.Service(fixture.Annotated(annotation.VIPQoSPolicyID, policyA+","+groupA)), fixture.Config())
	fixture.AssertRefused(t, errs, annotation.VIPQoSPolicyID)
}
