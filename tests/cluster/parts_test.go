package cluster

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
)

func TestClaimNetwork_NeverOverlapsAnotherCluster(t *testing.T) {
	t.Parallel()
	var claimed []Network
	for range 20 {
		n, err := ClaimNetwork()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.Release(); err != nil {
				t.Error(err)
			}
		})
		for _, other := range claimed {
			for _, pair := range [][2]string{{n.CIDR, other.CIDR}, {n.ExternalCIDR, other.ExternalCIDR}, {n.CIDR, other.ExternalCIDR}} {
				if netip.MustParsePrefix(pair[0]).Overlaps(netip.MustParsePrefix(pair[1])) {
					t.Errorf("%s overlaps %s", pair[0], pair[1])
				}
			}
		}
		claimed = append(claimed, n)
	}
}

func TestBuildProgram_SucceedsForSeveralAtOnce(t *testing.T) {
	t.Parallel()
	var builders sync.WaitGroup
	for range 3 {
		builders.Go(func() {
			path, err := BuildProgram(t.Context(), NodeProgram, t.TempDir(), t.Logf)
			if err != nil {
				t.Error(err)
				return
			}
			output, err := exec.CommandContext(t.Context(), path, "--address=nonsense", "--name=a").CombinedOutput()
			if err == nil || !strings.Contains(string(output), "--address") {
				t.Errorf("the program said %q, %v", output, err)
			}
		})
	}
	builders.Wait()
}

func TestBuildProgram_NamesProgramThatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	_, err := BuildProgram(t.Context(), "./cmd/no-such-program", t.TempDir(), t.Logf)
	if err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("err = %v, want it to name the program", err)
	}
}

func TestManifests_OfProjectAreReadable(t *testing.T) {
	t.Parallel()
	root, err := controlplane.ModuleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := readManifests(filepath.Join(root, "manifests", "static"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(m.args, "--cloud-provider=openstack") {
		t.Errorf("args = %q", m.args)
	}
}

func TestManifests_AreSortedByPurpose(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	text := `# a comment at the top
apiVersion: v1
kind: ServiceAccount
metadata: {name: ccm, namespace: kube-system}
---
apiVersion: v1
kind: Secret
metadata: {name: not-applied, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ccm}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: ccm, namespace: kube-system}
spec: {template: {spec: {containers: [{name: ccm, args: [--v=2]}]}}}
`
	if err := os.WriteFile(filepath.Join(directory, "all.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := readManifests(directory)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.rights) != 2 || strings.Contains(strings.Join(m.rights, ""), "Secret") {
		t.Errorf("rights = %q, want the ServiceAccount and the ClusterRole", m.rights)
	}
	got := [3]string{m.namespace, m.serviceAccount, strings.Join(m.args, " ")}
	if want := [3]string{"kube-system", "ccm", "--v=2"}; got != want {
		t.Errorf("namespace, service account, args = %q, want %q", got, want)
	}
}

func TestManifests_AreRequiredInDirectory(t *testing.T) {
	t.Parallel()
	if _, err := readManifests(t.TempDir()); err == nil {
		t.Error("no error")
	}
}

func TestCCM_PutsItsOwnFlagsAfterThoseOfManifests(t *testing.T) {
	t.Parallel()
	args := CCM{
		CloudConf: "/here/cloud.conf", Directory: "/here", Args: []string{"--v=4"},
		Installation: Installation{Kubeconfig: "/here/kubeconfig", Args: []string{"--cloud-config=/etc/config/cloud.conf", "--v=2"}},
	}.args(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1})
	last := map[string]string{}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		last[name] = value
	}
	for name, want := range map[string]string{"--cloud-config": "/here/cloud.conf", "--v": "4", "--kubeconfig": "/here/kubeconfig"} {
		if last[name] != want {
			t.Errorf("%s = %q, want %q", name, last[name], want)
		}
	}
}

func TestSetPods_WritesSliceLikeEndpointSliceController(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web", UID: "u"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}}},
	}
	for _, podsOn := range []map[string]int{{"a": 1}, {"a": 2, "b": 1}} { // first create, then update
		if err := SetPods(t.Context(), client, service, podsOn); err != nil {
			t.Fatal(err)
		}
	}
	all, err := client.DiscoveryV1().EndpointSlices("demo").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 1 {
		t.Fatalf("slices = %v, %v; want one", all, err)
	}
	slice := all.Items[0]
	if slice.Labels[discoveryv1.LabelServiceName] != "web" || len(slice.OwnerReferences) != 1 {
		t.Errorf("the slice does not belong to its Service: %+v", slice.ObjectMeta)
	}
	got := map[string]string{}
	for _, e := range slice.Endpoints {
		got[e.Addresses[0]] = *e.NodeName
	}
	want := map[string]string{"10.244.1.2": "a", "10.244.1.3": "a", "10.244.2.2": "b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods, -want +got:\n%s", diff)
	}
}

func TestSetPods_MarksLeavingPodsAndHintsAtNearOnes(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"},
		Spec:       corev1.ServiceSpec{TrafficDistribution: ptr.To(corev1.ServiceTrafficDistributionPreferSameNode)},
	}
	if err := SetPods(t.Context(), client, service, map[string]int{"a": 1, "b": 1}, "b"); err != nil {
		t.Fatal(err)
	}
	slice, err := client.DiscoveryV1().EndpointSlices("demo").Get(t.Context(), "web-ipv4", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := slice.Endpoints[0], slice.Endpoints[1]
	if !*a.Conditions.Ready || *a.Conditions.Terminating || a.Hints == nil || a.Hints.ForNodes[0].Name != "a" {
		t.Errorf("the pod that stays is %+v", a)
	}
	if *b.Conditions.Ready || !*b.Conditions.Serving || !*b.Conditions.Terminating || b.Hints != nil {
		t.Errorf("the pod that leaves is %+v", b)
	}
}

func TestSetHostPods_UsesNodeAddressesOfEachFamilyAndOwnPorts(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: "a"},
			{Type: corev1.NodeInternalIP, Address: "10.6.0.1"},
			{Type: corev1.NodeInternalIP, Address: "fd00:6::1"},
			{Type: corev1.NodeExternalIP, Address: "192.0.2.1"},
		}},
	})
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"},
		Spec: corev1.ServiceSpec{
			IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol},
			Ports:      []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}},
		},
	}
	if err := SetHostPods(t.Context(), client, service, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	for family, want := range map[corev1.IPFamily]string{corev1.IPv4Protocol: "10.6.0.1", corev1.IPv6Protocol: "fd00:6::1"} {
		slice, err := client.DiscoveryV1().EndpointSlices("demo").Get(t.Context(), "web-"+strings.ToLower(string(family)), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(slice.Endpoints) != 1 || slice.Endpoints[0].Addresses[0] != want || *slice.Ports[0].Port != 20080 {
			t.Errorf("%s: endpoints %v, ports %v", family, slice.Endpoints, slice.Ports)
		}
	}
}
