package desire_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

var update = flag.Bool("update", false, "write the golden files")

// desired builds what a Service asks for with two nodes.
func desired(t *testing.T, svc *v1.Service, cfg *config.Config, drv driver.Driver) *model.LoadBalancer {
	t.Helper()
	s := settings(t, svc, cfg)
	if errs := desire.Validate(svc, s, drv); len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	nodes := []*v1.Node{node("node-1", "10.0.0.1", "fd00::1"), node("node-2", "10.0.0.2", "fd00::2")}
	backends, _, err := desire.Backends(s, nodes)
	if err != nil {
		t.Fatal(err)
	}
	id := ownership.Identity{
		ClusterName: "rig", ClusterID: "cluster-uid", ServiceUID: string(svc.UID), Namespace: svc.Namespace, Service: svc.Name,
	}
	return desire.LoadBalancer(svc, id, s, backends, desire.Facts{
		Driver: drv, VIPSubnetID: "vip-subnet", FloatingNetworkID: "public", FloatingSubnetIDs: []string{"floating-subnet"},
		FlavorID: s.FlavorID, AvailabilityZone: s.AvailabilityZone, MembersIn: membersIn(s),
		MemberSubnets: map[string]string{"10.0.0.1": "subnet-of-1", "10.0.0.2": "subnet-of-2", "fd00::1": "subnet6", "fd00::2": "subnet6"},
	})
}

// membersIn gives the subnet of members where all are of one family.
func membersIn(s desire.Settings) string {
	if s.MemberSubnetID != "" {
		return s.MemberSubnetID
	}
	return s.MembersIn
}

// TestDesiredModels compares whole models with files: what a change of build
// changes in the cloud is seen there.
func TestDesiredModels(t *testing.T) {
	t.Parallel()
	tcp, udp := v1.ProtocolTCP, v1.ProtocolUDP
	ovn := driver.Of("ovn", octavia.Version{Major: 2, Minor: 30})
	nodesSubnet := conf(func(c *config.LoadBalancer) { c.SubnetID = "" })
	for _, test := range []struct {
		name string
		svc  *v1.Service
		cfg  *config.Config
		drv  driver.Driver
	}{
		{"plain", service(), conf(), today()},
		{"web-with-monitors", service(
			ports(port(tcp, 443), port(tcp, 80)), annotated(annotation.Monitor, "true"),
			func(svc *v1.Service) {
				svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
				svc.Spec.LoadBalancerSourceRanges = []string{"192.168.0.0/16", "10.0.0.0/8"}
				svc.Spec.LoadBalancerIP = "203.0.113.1"
			}), conf(), today()},
		{"local", service(local, ports(port(tcp, 80), port(udp, 80))), conf(), today()},
		{"internal-dns", service(
			ports(port(udp, 53), port(tcp, 53)), annotated(annotation.Internal, "true"),
			func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "10.0.0.53" }), conf(), today()},
		{"ipv6", service(families(v1.IPv6Protocol, v1.IPv4Protocol)), nodesSubnet, today()},
		{"ovn-local", service(local, ports(port(tcp, 80), port(udp, 80))), conf(func(c *config.LoadBalancer) { c.LBProvider = "ovn" }), ovn},
		{"nodes-in-two-subnets", service(), nodesSubnet, today()},
		{"listeners", service(
			ports(port(tcp, 443), port(tcp, 80), port(udp, 443)), annotated(annotation.Protocols, "443=TERMINATED_HTTPS,p80=HTTP"),
			annotated(annotation.TLSContainer, certificate), annotated(annotation.ForwardedProto, "true"), annotated(annotation.ConnLimit, "1000"),
			annotated(annotation.TCPInspect, "0"), func(svc *v1.Service) {
				svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
				svc.Spec.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: ptr(int32(600))}}
			}), conf(func(c *config.LoadBalancer) { c.TimeoutClientData = ptr(60000) }), today()},
		{"all-settings", service(
			annotated(annotation.MemberSubnetID, "member-subnet"), annotated(annotation.FloatingSubnet, "floating-subnet"),
			annotated(annotation.Method, "LEAST_CONNECTIONS"), annotated(annotation.Monitor, "true"), annotated(annotation.MonitorDelay, "30"),
			annotated(annotation.MonitorTimeout, "20"), annotated(annotation.MonitorRetries, "4"), annotated(annotation.MonitorDown, "5"),
		), conf(func(c *config.LoadBalancer) { c.FlavorID, c.AvailabilityZone = "flavor", "zone" }), today()},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			golden(t, test.name, desired(t, test.svc, test.cfg, test.drv))
		})
	}
}

func golden(t *testing.T, name string, lb *model.LoadBalancer) {
	t.Helper()
	got := printed(t, lb)
	path := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (write it with -update):\n%s", path, diff)
	}
}

// printed prints a model without what is empty, and what a desired one never has.
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
	prune(tree)
	text, err = json.MarshalIndent(tree, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
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

func TestNamesFollowTheOrderOfThePorts(t *testing.T) {
	t.Parallel()
	lb := desired(t, service(ports(port(v1.ProtocolTCP, 443), port(v1.ProtocolTCP, 80))), conf(), today())
	for i, want := range []string{"listener_1_kube_service_rig_default_web", "listener_0_kube_service_rig_default_web"} {
		if got := lb.Listeners[i].Name; got != want {
			t.Errorf("the listener of port %d is %s, want %s", lb.Listeners[i].Port, got, want)
		}
	}
}

func TestBuildIsDeterministicAndLeavesTheServiceAlone(t *testing.T) {
	t.Parallel()
	svc := service(local, ports(port(v1.ProtocolUDP, 53), port(v1.ProtocolTCP, 53)), func(svc *v1.Service) {
		svc.Spec.LoadBalancerSourceRanges = []string{"192.168.0.0/16", "10.0.0.0/8"}
	})
	before := svc.DeepCopy()
	first := desired(t, svc, conf(), today())
	for range 10 {
		if diff := cmp.Diff(first, desired(t, svc, conf(), today())); diff != "" {
			t.Fatal(diff)
		}
	}
	if diff := cmp.Diff(before, svc); diff != "" {
		t.Errorf("the Service is changed: %s", diff)
	}
}
