package desire_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

const certificate = "https://barbican.example.com/v1/containers/5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11"

// TestLoadBalancer_MatchesGoldenModels compares whole models with files, which show the effect of a
// change of this package on the cloud.
func TestLoadBalancer_MatchesGoldenModels(t *testing.T) {
	t.Parallel()
	tcp, udp := v1.ProtocolTCP, v1.ProtocolUDP
	ovn := driver.Of("ovn", model.Version{Major: 2, Minor: 30})
	nodesSubnet := fixture.Config(func(c *config.LoadBalancer) { c.SubnetID = "" })
	for _, test := range []struct {
		name string
		svc  *v1.Service
		cfg  *config.Config
		drv  driver.Driver
	}{
		{"plain", fixture.Service(), fixture.Config(), fixture.Amphora()},
		{"web-with-monitors", fixture.Service(
			fixture.Ports(fixture.Port(tcp, 443), fixture.Port(tcp, 80)), fixture.Annotated(annotation.Monitor, "true"),
			func(svc *v1.Service) {
				svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
				svc.Spec.LoadBalancerSourceRanges = []string{"192.168.0.0/16", "10.0.0.0/8"}
				svc.Spec.LoadBalancerIP = "203.0.113.1"
			}), fixture.Config(), fixture.Amphora()},
		{"local", fixture.Service(fixture.Local, fixture.Ports(fixture.Port(tcp, 80), fixture.Port(udp, 80))), fixture.Config(), fixture.Amphora()},
		{"internal-dns", fixture.Service(
			fixture.Ports(fixture.Port(udp, 53), fixture.Port(tcp, 53)), fixture.Annotated(annotation.Internal, "true"),
			func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "10.0.0.53" }), fixture.Config(), fixture.Amphora()},
		{"ipv6", fixture.Service(fixture.Families(v1.IPv6Protocol, v1.IPv4Protocol)), nodesSubnet, fixture.Amphora()},
		{"ovn-local", fixture.Service(fixture.Local, fixture.Ports(fixture.Port(tcp, 80), fixture.Port(udp, 80))), fixture.Config(func(c *config.LoadBalancer) { c.LBProvider = "ovn" }), ovn},
		{"nodes-in-two-subnets", fixture.Service(), nodesSubnet, fixture.Amphora()},
		{"listeners", fixture.Service(
			fixture.Ports(fixture.Port(tcp, 443), fixture.Port(tcp, 80), fixture.Port(udp, 443)), fixture.Annotated(annotation.Protocols, "443=TERMINATED_HTTPS,p80=HTTP"),
			fixture.Annotated(annotation.TLSContainer, certificate), fixture.Annotated(annotation.ForwardedProto, "true"), fixture.Annotated(annotation.ConnLimit, "1000"),
			fixture.Annotated(annotation.TCPInspect, "0"), func(svc *v1.Service) {
				svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
				svc.Spec.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: ptr.To(int32(600))}}
			}), fixture.Config(func(c *config.LoadBalancer) { c.TimeoutClientData = ptr.To(60000) }), fixture.Amphora()},
		{"all-settings", fixture.Service(
			fixture.Annotated(annotation.MemberSubnetID, "member-subnet"), fixture.Annotated(annotation.FloatingSubnet, "floating-subnet"),
			fixture.Annotated(annotation.Method, "LEAST_CONNECTIONS"), fixture.Annotated(annotation.Monitor, "true"), fixture.Annotated(annotation.MonitorDelay, "30"),
			fixture.Annotated(annotation.MonitorTimeout, "20"), fixture.Annotated(annotation.MonitorRetries, "4"), fixture.Annotated(annotation.MonitorDown, "5"),
		), fixture.Config(func(c *config.LoadBalancer) { c.FlavorID, c.AvailabilityZone = "flavor", "zone" }), fixture.Amphora()},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			golden.File(t, "testdata/"+test.name+".json", printed(t, fixture.Desired(t, test.svc, test.cfg, test.drv)))
		})
	}
}

// printed formats a model without empty fields and without those that a desired one never has.
func printed(t *testing.T, lb *model.LoadBalancer) string {
	t.Helper()
	text, err := json.Marshal(lb)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	delete(tree, "UpdatedAt")
	for i, listener := range tree["Listeners"].([]any) { //nolint:forcetypeassert // of a load balancer
		pool := listener.(map[string]any)["Pool"].(map[string]any) //nolint:forcetypeassert // of a listener
		pool["Members"] = asTree(t, fixture.MembersOf(lb.Listeners[i].Pool))
	}
	prune(tree)
	text, err = json.MarshalIndent(tree, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// asTree returns the JSON of a value as a tree.
func asTree(t *testing.T, value any) (tree any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func prune(tree map[string]any) {
	for key, value := range tree {
		if list, ok := value.([]any); ok {
			for _, item := range list {
				if below, ok := item.(map[string]any); ok {
					prune(below)
				}
			}
		}
		if below, ok := value.(map[string]any); ok {
			prune(below)
			if len(below) == 0 {
				value = nil
			}
		}
		if value == nil || value == "" || value == 0.0 || value == false {
			delete(tree, key)
		}
	}
}

func TestLoadBalancer_NumbersListenersInOrderOfPorts(t *testing.T) {
	t.Parallel()
	lb := fixture.Desired(t, fixture.Service(fixture.Ports(fixture.Port(v1.ProtocolTCP, 443), fixture.Port(v1.ProtocolTCP, 80))), fixture.Config(), fixture.Amphora())
	for i, want := range []string{"listener_1_kube_service_rig_default_web", "listener_0_kube_service_rig_default_web"} {
		if got := lb.Listeners[i].Name; got != want {
			t.Errorf("the listener of port %d is %s, want %s", lb.Listeners[i].Port, got, want)
		}
	}
}

func TestLoadBalancer_IsDeterministicAndLeavesServiceUnchanged(t *testing.T) {
	t.Parallel()
	svc := fixture.Service(fixture.Local, fixture.Ports(fixture.Port(v1.ProtocolUDP, 53), fixture.Port(v1.ProtocolTCP, 53)), func(svc *v1.Service) {
		svc.Spec.LoadBalancerSourceRanges = []string{"192.168.0.0/16", "10.0.0.0/8"}
	})
	before := svc.DeepCopy()
	first := fixture.Desired(t, svc, fixture.Config(), fixture.Amphora())
	for range 10 {
		if diff := cmp.Diff(first, fixture.Desired(t, svc, fixture.Config(), fixture.Amphora())); diff != "" {
			t.Fatal(diff)
		}
	}
	if diff := cmp.Diff(before, svc); diff != "" {
		t.Errorf("the Service is changed: %s", diff)
	}
}
