package desire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

const (
	policyA = "aaaaaaaa-0000-4000-8000-000000000001"
	groupA  = "aaaaaaaa-0000-4000-8000-000000000002"
	groupB  = "bbbbbbbb-0000-4000-8000-000000000002"
)

func TestVIPSettingsGoByAnnotationClassAndSection(t *testing.T) {
	t.Parallel()
	class := annotated(annotation.Class, "gold")
	cfg := conf(func(lb *config.LoadBalancer) { lb.VIPQoSPolicyID, lb.VIPSecurityGroupIDs = policyA, groupB })
	cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"gold": {VIPSecurityGroupIDs: groupA}}
	for _, test := range []struct {
		what string
		svc  *v1.Service
		cfg  *config.Config
		want model.VIPSettings
	}{
		{"nothing", service(), conf(), model.VIPSettings{}},
		{"section", service(), cfg, model.VIPSettings{QoSPolicyID: policyA, SecurityGroupIDs: []string{groupB}}},
		{"class", service(class), cfg, model.VIPSettings{QoSPolicyID: policyA, SecurityGroupIDs: []string{groupA}}},
		{
			"annotation", service(class, annotated(annotation.VIPQoSPolicyID, "none"), annotated(annotation.VIPSecurityGroups, groupB+", "+groupA+","+groupB)), cfg,
			model.VIPSettings{QoSPolicyID: model.None, SecurityGroupIDs: []string{groupA, groupB}},
		},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, settings(t, test.svc, test.cfg).VIP); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatTheVIPCannotHaveIsRefused(t *testing.T) {
	t.Parallel()
	qos, groups := annotated(annotation.VIPQoSPolicyID, policyA), annotated(annotation.VIPSecurityGroups, groupA)
	ranges := func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }
	of := func(provider string, minor int) driver.Driver {
		return driver.Of(provider, octavia.Version{Major: 2, Minor: minor})
	}
	byOperator := conf(func(lb *config.LoadBalancer) { lb.VIPSecurityGroupIDs = groupA })
	for _, test := range []struct {
		what  string
		svc   *v1.Service
		cfg   *config.Config
		drv   driver.Driver
		words []string // none: it can be
	}{
		{"both", service(qos, groups), conf(), today(), nil},
		{"a QoS policy on an old Octavia", service(qos), conf(), of("amphora", 5), nil},
		{"a QoS policy on ovn", service(qos), conf(), of("ovn", 30), []string{annotation.VIPQoSPolicyID, policyA, "ovn"}},
		{"groups on ovn", service(groups), conf(), of("ovn", 30), []string{annotation.VIPSecurityGroups, groupA, "ovn"}},
		{"groups of cloud.conf on ovn", service(), byOperator, of("ovn", 30), []string{annotation.VIPSecurityGroups, groupA, "ovn"}},
		{"groups of a vendor's provider", service(groups), conf(), of("a10", 30), []string{annotation.VIPSecurityGroups, "a10"}},
		{"groups on an old Octavia", service(groups), conf(), of("amphora", 28), []string{annotation.VIPSecurityGroups, groupA, "v2.28", "v2.29"}},
		{"groups and source ranges", service(groups, ranges), conf(), today(), []string{annotation.VIPSecurityGroups, groupA, "source ranges"}},
		{"groups and everybody", service(groups, func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/0"} }), conf(), today(), nil},
		{"none of cloud.conf's groups, but source ranges", service(annotated(annotation.VIPSecurityGroups, "none"), ranges), byOperator, today(), nil},
		{"none of either on ovn", service(annotated(annotation.VIPSecurityGroups, "none"), annotated(annotation.VIPQoSPolicyID, "none")), conf(), of("ovn", 10), nil},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			errs := desire.Validate(test.svc, settings(t, test.svc, test.cfg), test.drv)
			if test.words != nil || len(errs) > 0 {
				refused(t, errs, test.words...)
			}
		})
	}
	for _, name := range []string{annotation.VIPQoSPolicyID, annotation.VIPSecurityGroups} {
		for _, value := range []string{"gold", groupA + ",none", policyA + ",,"} {
			_, _, errs := desire.Read(service(annotated(name, value)), conf())
			refused(t, errs, name, value)
		}
	}
	_, _, errs := desire.Read(service(annotated(annotation.VIPQoSPolicyID, policyA+","+groupA)), conf())
	refused(t, errs, annotation.VIPQoSPolicyID)
}
