package settings_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

const (
	oneID   = "5b8e7a55-2b1c-4d0c-93b5-1d4a3c1f0a77"
	otherID = "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"
)

func TestOrigin_IsServiceClassOrCloudConf(t *testing.T) {
	t.Parallel()
	conf := fixture.Config()
	conf.LoadBalancer.SubnetID = oneID
	conf.LoadBalancerClass = map[string]*config.LoadBalancerClass{"gold": {FloatingNetworkID: otherID}}
	s := fixture.Settings(t, fixture.Service(fixture.Annotated(annotation.Class, "gold"), fixture.Annotated(annotation.FlavorID, "big")), conf)
	for name, want := range map[string]string{
		annotation.SubnetID:      "subnet-id in cloud.conf",
		annotation.FloatingNetID: "floating-network-id of class gold in cloud.conf",
		annotation.FlavorID:      "metadata.annotations[loadbalancer.openstack.org/flavor-id]",
		annotation.PortID:        "metadata.annotations[loadbalancer.openstack.org/port-id]", // no setting has one
	} {
		if got := s.Origins().Of(name); got.Name != want || got.Service != (name == annotation.FlavorID) {
			t.Errorf("%s comes from %+v, want %s", name, got, want)
		}
	}
}

func TestNaming_FindsSettingThatTextIsAbout(t *testing.T) {
	t.Parallel()
	svc := fixture.Service(fixture.Annotated(annotation.SubnetID, oneID), fixture.Annotated(annotation.AvailabilityZone, "not"))
	svc.Spec.LoadBalancerIP = "192.0.2.1"
	s := fixture.Settings(t, svc, fixture.Config())
	const subnet = "metadata.annotations[loadbalancer.openstack.org/subnet-id]"
	for text, want := range map[string]string{
		"Subnet " + oneID + " not found.":               subnet,
		"Subnet '5B8E7A55-2B1C-4D0C-93B5-1D4A3C1F0A77'": subnet,
		subnet + ": there is no subnet " + oneID:        "", // it is named already
		"Subnet " + otherID + " not found.":             "",
		"IP address 192.0.2.1 already allocated":        "spec.loadBalancerIP",
		"IP address 192.0.2.11 already allocated":       "",
		"(192.0.2.1).": "spec.loadBalancerIP",
		"":             "",
	} {
		if got := s.Origins().Naming(text); got != want {
			t.Errorf("%q is about %q, want %q", text, got, want)
		}
	}
}
