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

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
)

// inherited is the cluster that cloud-provider-openstack left behind in a real
// OpenStack (testdata/peer-state), in a simulated one.
type inherited struct {
	*world
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

// inherit loads that state, with the cloud.conf that was in use.
func inherit(t *testing.T) *inherited {
	t.Helper()
	w := newWorld(t, worldOptions{simulator: simulator.Options{Release: "zed"}})
	if err := w.cloud.Restore(readTestdata(t, "openstack.json")); err != nil {
		t.Fatal(err)
	}
	_, keys, _ := strings.Cut(string(readTestdata(t, "cloud.conf")), "[LoadBalancer]")
	credentials, _, _ := strings.Cut(w.cloud.CloudConf(), "[LoadBalancer]")
	in := &inherited{world: w}
	if err := json.Unmarshal(readTestdata(t, "kubernetes.json"), in); err != nil {
		t.Fatal(err)
	}
	for _, node := range in.Nodes {
		w.members = append(w.members, *node)
	}
	interval := w.conf.LoadBalancer.DriftInterval
	w.conf = readConf(t, credentials+"[LoadBalancer]"+keys)
	w.conf.LoadBalancer.DriftInterval = interval
	w.clusterName, w.clusterUID = "rig", in.ClusterUID
	w.restart()
	w.cloud.Books.Reset()
	return in
}

func (in *inherited) service(name string) *v1.Service {
	in.t.Helper()
	for _, svc := range in.Services {
		if svc.Name == name {
			return svc
		}
	}
	in.t.Fatalf("no Service %s", name)
	return nil
}

// adopt ensures every Service for the first time.
func (in *inherited) adopt() {
	in.t.Helper()
	for _, svc := range in.Services {
		before := svc.Status.LoadBalancer.DeepCopy()
		in.ensure(svc, in.Nodes)
		if got := svc.Status.LoadBalancer.Ingress; len(got) != 1 || got[0].IP != before.Ingress[0].IP {
			in.t.Errorf("%s: the address is %v, was %v", svc.Name, got, before.Ingress)
		}
	}
}

//proves:120
func TestTheTakeoverOfARealClusterWritesNothingAndKeepsEveryAddress(t *testing.T) {
	t.Parallel()
	in := inherit(t)
	in.adopt()
	in.writes(0)
	if told := in.told(); strings.Contains(told, "Warning") {
		t.Errorf("warned:\n%s", told)
	}
	// Nor does the second look of the same process, or the first of another.
	in.cloud.Books.Reset()
	in.adopt()
	if all := in.cloud.Books.Requests(); len(all) > 0 {
		t.Errorf("%d requests for what has not changed:\n%s", len(all), printed(all))
	}
	in.restart()
	in.adopt()
	in.writes(0)
}

//proves:120
func TestWhatWasTakenOverCanBeChangedAndGoesWithoutATrace(t *testing.T) {
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

// nothingLeft checks that all that was made for Services is gone, and no more.
func (in *inherited) nothingLeft() {
	in.t.Helper()
	in.loadBalancers(0)
	in.floatingIPs(0)
	theirs := in.group() // of whoever made the nodes
	if theirs.Name != "k8s-nodes" {
		in.t.Errorf("security group %s is left", theirs.Name)
	}
	for _, p := range in.cloud.Neutron.Ports() {
		if p.DeviceOwner == "compute:nova" && (len(p.SecurityGroups) != 1 || p.SecurityGroups[0] != theirs.ID) {
			in.t.Errorf("port %s of a node has the security groups %v", p.ID, p.SecurityGroups)
		}
		if p.DeviceOwner == "Octavia" && !strings.Contains(p.Name, "vrrp") {
			in.t.Errorf("port %s is left", p.Name)
		}
	}
}

//proves:85,87
func TestWhatWasTakenOverLosesItsSecurityGroupOnNodesThatLeave(t *testing.T) {
	t.Parallel()
	in := inherit(t)
	in.adopt()
	in.cloud.Books.Reset()
	for _, svc := range in.Services {
		in.ensure(svc, in.Nodes[1:])
	}
	if n := in.cloud.Books.Count(http.MethodPut, portRoute); n != len(in.Services) {
		t.Errorf("%d ports of nodes were changed, want one for each Service:\n%s", n, printed(in.cloud.Books.Requests(books.Under("/network"))))
	}
	for _, g := range in.groups() {
		using := 0
		for _, p := range in.cloud.Neutron.Ports() {
			if p.DeviceOwner == "compute:nova" && slices.Contains(p.SecurityGroups, g.ID) {
				using++
			}
		}
		if want := map[bool]int{true: 3, false: 2}[g.Name == "k8s-nodes"]; using != want {
			t.Errorf("%d ports use %s, want %d", using, g.Name, want)
		}
	}
}
