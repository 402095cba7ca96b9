package loadbalancer_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// inherited is a simulated cluster with the state that cloud-provider-openstack left in a real
// OpenStack (testdata/peer-state).
type inherited struct {
	*environment
	ClusterUID string        `json:"kube-system-uid"`
	Nodes      []*v1.Node    `json:"nodes"`
	Services   []*v1.Service `json:"services"`
}

func readTestdata(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "peer-state", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// inherit loads that state, with its cloud.conf.
func inherit(t *testing.T) *inherited {
	t.Helper()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: "zed"}})
	if err := env.Cloud.Restore(readTestdata(t, "openstack.json")); err != nil {
		t.Fatal(err)
	}
	_, keys, _ := strings.Cut(string(readTestdata(t, "cloud.conf")), "[LoadBalancer]")
	credentials, _, _ := strings.Cut(env.Cloud.CloudConf(), "[LoadBalancer]")
	in := &inherited{environment: env}
	if err := json.Unmarshal(readTestdata(t, "kubernetes.json"), in); err != nil {
		t.Fatal(err)
	}
	for _, node := range in.Nodes {
		env.members = append(env.members, *node)
	}
	interval := env.Conf.LoadBalancer.DriftInterval
	env.Conf = readConf(t, credentials+"[LoadBalancer]"+keys)
	env.Conf.LoadBalancer.DriftInterval = interval
	env.clusterName, env.clusterUID = "rig", in.ClusterUID
	env.restart()
	env.Cloud.RequestLog.Reset()
	return in
}

func (in *inherited) service(name string) *v1.Service {
	in.T.Helper()
	for _, svc := range in.Services {
		if svc.Name == name {
			return svc
		}
	}
	in.T.Fatalf("no Service %s", name)
	return nil
}

// adopt ensures every Service for the first time.
func (in *inherited) adopt() {
	in.T.Helper()
	for _, svc := range in.Services {
		before := svc.Status.LoadBalancer.DeepCopy()
		in.ensure(svc, in.Nodes)
		if got := svc.Status.LoadBalancer.Ingress; len(got) != 1 || got[0].IP != before.Ingress[0].IP {
			in.T.Errorf("%s: the address is %v, was %v", svc.Name, got, before.Ingress)
		}
	}
}

//proves:120
func TestAdoption_WritesNothingAndKeepsAddressesOfRealCluster(t *testing.T) {
	t.Parallel()
	in := inherit(t)
	in.adopt()
	in.writes(0)
	if emitted := in.emitted(); strings.Contains(emitted, "Warning") {
		t.Errorf("warned:\n%s", emitted)
	}
	// The second round of the same process writes nothing either, nor does the first one of another
	// process.
	in.Cloud.RequestLog.Reset()
	in.adopt()
	if all := in.Cloud.RequestLog.Requests(); len(all) > 0 {
		t.Errorf("%d requests for what has not changed:\n%s", len(all), printed(all))
	}
	in.restart()
	in.adopt()
	in.writes(0)
}

//proves:120
func TestAdoption_AllowsChangesAndDeletionWithoutTrace(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]string{
		"the owner of the shared load balancer goes first": {"web-1", "web-shared", "local", "dns"},
		"the other Service goes first":                     {"dns", "local", "web-shared", "web-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := inherit(t)
			in.adopt()
			for _, svc := range in.Services {
				svc.Spec.Ports[0].NodePort = 32001
				in.ensure(svc, in.Nodes)
				svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 9000+len(svc.Name)))
				in.ensure(svc, in.Nodes[1:])
				in.unchanged(svc, in.Nodes[1:])
			}
			for _, name := range order {
				in.delete(in.service(name))
			}
			in.nothingLeft()
		})
	}
}

// A part that cloud-provider-openstack made for a Service on the load balancer of another one is
// identified by the address of both Services, which the owner can change.
func TestAdoption_GoesOnServingGuestWhoseOwnerChangesTheAddress(t *testing.T) {
	t.Parallel()
	in := inherit(t)
	in.adopt()
	owner, guest := in.service("web-1"), in.service("web-shared")
	owner.Annotations[annotation.Internal] = "true"
	in.ensure(owner, in.Nodes)
	in.repair(guest, in.Nodes)
	if want, got := owner.Status.LoadBalancer.Ingress[0].IP, guest.Status.LoadBalancer.Ingress[0].IP; got != want {
		t.Errorf("it publishes %s, not %s", got, want)
	}
	in.delete(guest)
	in.delete(owner)
}

// A process that takes over a load balancer of cloud-provider-openstack from a record reads
// nothing. It identifies the load balancer by its floating IP, even if that is gone.
func TestAdoption_LeavesLoadBalancerWhoseFloatingIPVanishedAfterRestart(t *testing.T) {
	t.Parallel()
	in := inherit(t)
	in.adopt()
	svc := in.service("local")
	in.writeDown(svc)
	in.restart()
	in.ensure(svc, in.Nodes)
	left := svc.Annotations[annotation.LoadBalancerID]
	for _, fip := range in.Cloud.Neutron.FloatingIPs() {
		if fip.Address == svc.Status.LoadBalancer.Ingress[0].IP {
			if err := in.Cloud.Neutron.ReleaseFloatingIP(fip.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	svc.Annotations[annotation.LoadBalancerID] = in.service("dns").Annotations[annotation.LoadBalancerID]
	in.ensure(svc, in.Nodes)
	if slices.ContainsFunc(in.Cloud.Octavia.Snapshot(), func(lb simoctavia.LoadBalancer) bool { return lb.ID == left }) {
		t.Error("the load balancer that it has left is still there")
	}
}

// nothingLeft checks that exactly the objects of the Services are gone.
func (in *inherited) nothingLeft() {
	in.T.Helper()
	in.loadBalancers(0)
	in.floatingIPs(0)
	theirs := in.group() // of the owner of the nodes
	if theirs.Name != "k8s-nodes" {
		in.T.Errorf("security group %s is left", theirs.Name)
	}
	for _, p := range in.Cloud.Neutron.Ports() {
		if p.DeviceOwner == "compute:nova" && (len(p.SecurityGroups) != 1 || p.SecurityGroups[0] != theirs.ID) {
			in.T.Errorf("port %s of a node has the security groups %v", p.ID, p.SecurityGroups)
		}
		if p.DeviceOwner == "Octavia" && !strings.Contains(p.Name, "vrrp") {
			in.T.Errorf("port %s is left", p.Name)
		}
	}
}

//proves:85,87
func TestAdoption_TakesSecurityGroupsOffNodesThatLeave(t *testing.T) {
	t.Parallel()
	in := inherit(t)
	in.adopt()
	in.Cloud.RequestLog.Reset()
	for _, svc := range in.Services {
		in.ensure(svc, in.Nodes[1:])
	}
	if n := in.Cloud.RequestLog.Count(http.MethodPut, portRoute); n != len(in.Services) {
		t.Errorf("%d ports of nodes were changed, want one for each Service:\n%s", n, printed(in.Cloud.RequestLog.Requests(requestlog.Under("/network"))))
	}
	for _, g := range in.groups() {
		using := 0
		for _, p := range in.Cloud.Neutron.Ports() {
			if p.DeviceOwner == "compute:nova" && slices.Contains(p.SecurityGroups, g.ID) {
				using++
			}
		}
		if want := map[bool]int{true: 3, false: 2}[g.Name == "k8s-nodes"]; using != want {
			t.Errorf("%d ports use %s, want %d", using, g.Name, want)
		}
	}
}
