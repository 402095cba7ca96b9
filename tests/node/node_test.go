package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// start starts a node that ends with the test.
func start(t *testing.T, plane *controlplane.ControlPlane, name string, heartbeat time.Duration) (*Node, netip.Addr) {
	t.Helper()
	address, err := FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	n, err := Start(t.Context(), plane.Config(), Options{
		Name: name, Address: address, Heartbeat: heartbeat, Logf: t.Logf,
		Labels: map[string]string{"example.com/rack": "r1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	})
	return n, address
}

func TestNode_ActsLikeKubeletAndKubeProxy(t *testing.T) {
	t.Parallel()
	plane := controlplane.ForTest(t, controlplane.Options{})
	client := plane.Client()

	t.Run("registers as a kubelet of an external cloud does", func(t *testing.T) {
		_, address := start(t, plane, "registers", 0)
		got, err := client.CoreV1().Nodes().Get(t.Context(), "registers", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		checkRegistered(t, got, address.String())
		lease, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "registers", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if lease.Spec.RenewTime == nil || *lease.Spec.HolderIdentity != "registers" {
			t.Errorf("lease = %+v", lease.Spec)
		}
	})

	t.Run("takes over the Node that an earlier run left", func(t *testing.T) {
		first, _ := start(t, plane, "again", 0)
		if err := first.Stop(); err != nil {
			t.Fatal(err)
		}
		start(t, plane, "again", 0)
	})

	t.Run("has its address to itself", func(t *testing.T) {
		_, address := start(t, plane, "first-come", 0)
		_, err := Start(t.Context(), plane.Config(), Options{Name: "late", Address: address})
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("err = %v, want address in use", err)
		}
	})

	t.Run("stays Ready and renews its lease", func(t *testing.T) { testHeartbeat(t, plane) })
	t.Run("does not come back when it was deleted", func(t *testing.T) { testDeleted(t, plane) })
	t.Run("answers for Services as kube-proxy does", func(t *testing.T) { testServices(t, plane) })
}

func checkRegistered(t *testing.T, node *corev1.Node, address string) {
	t.Helper()
	if node.Spec.ProviderID != "" {
		t.Errorf("providerID = %q, want none", node.Spec.ProviderID)
	}
	if got := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]; got != address {
		t.Errorf("provided node IP = %q, want %s", got, address)
	}
	if node.Labels["example.com/rack"] != "r1" || node.Labels[corev1.LabelHostname] != node.Name {
		t.Errorf("labels = %v", node.Labels)
	}
	tainted := false
	for _, taint := range node.Spec.Taints {
		tainted = tainted || taint.Key == cloudproviderapi.TaintExternalCloudProvider
	}
	if !tainted {
		t.Errorf("taints = %v, want %s among them", node.Spec.Taints, cloudproviderapi.TaintExternalCloudProvider)
	}
	if err := ready(node, corev1.ConditionTrue); err != nil {
		t.Error(err)
	}
}

func ready(node *corev1.Node, want corev1.ConditionStatus) error {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == want {
			return nil
		}
	}
	return fmt.Errorf("conditions of %s = %v, want Ready=%s", node.Name, node.Status.Conditions, want)
}

// testHeartbeat sets the conditions that the controller manager sets for a silent node, and waits
// until the node has reset them.
func testHeartbeat(t *testing.T, plane *controlplane.ControlPlane) {
	const name = "beating"
	start(t, plane, name, 50*time.Millisecond)
	nodes := plane.Client().CoreV1().Nodes()
	leases := plane.Client().CoordinationV1().Leases(corev1.NamespaceNodeLease)
	before, err := leases.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	unknown := []byte(`{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}}`)
	if _, err := nodes.PatchStatus(t.Context(), name, unknown); err != nil {
		t.Fatal(err)
	}
	await.Eventually(t, "Ready again", func(ctx context.Context) error {
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return ready(node, corev1.ConditionTrue)
	})
	await.Eventually(t, "a renewed lease", func(ctx context.Context) error {
		lease, err := leases.Get(ctx, name, metav1.GetOptions{})
		if err == nil && !lease.Spec.RenewTime.After(before.Spec.RenewTime.Time) {
			err = errors.New("not renewed")
		}
		return err
	})
}

func testDeleted(t *testing.T, plane *controlplane.ControlPlane) {
	const name = "deleted"
	noticed := make(chan struct{})
	address, err := FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	n, err := Start(t.Context(), plane.Config(), Options{
		Name: name, Address: address, Heartbeat: 20 * time.Millisecond,
		Logf: func(format string, _ ...any) {
			if strings.Contains(format, "was deleted") {
				close(noticed)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	nodes := plane.Client().CoreV1().Nodes()
	if err := nodes.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-noticed:
	case <-time.After(await.Patience):
		t.Fatal("the node did not notice")
	}
	if err := n.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := nodes.Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("Get = %v, want not found", err)
	}
}

// testServices follows one Service on two nodes through its life.
func testServices(t *testing.T, plane *controlplane.ControlPlane) {
	client := plane.Client()
	_, a := start(t, plane, "a", 0)
	_, b := start(t, plane, "b", 0)
	services := client.CoreV1().Services("default")
	service, err := services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{
				{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80},
				{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	http, dns := service.Spec.Ports[0].NodePort, service.Spec.Ports[1].NodePort
	setEndpoints(t, client, pod("10.244.1.5", "a"))
	expectNode(t, a, http, "a")
	expectNode(t, b, http, "b")
	expectUDP(t, a, dns, "node a service default/web")

	service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	if service, err = services.Update(t.Context(), service, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	check := service.Spec.HealthCheckNodePort
	expectNode(t, a, http, "a")
	expectRefused(t, b, http)
	expectHealth(t, a, check, 200, 1)
	expectHealth(t, b, check, 503, 0)

	setEndpoints(t, client, pod("10.244.2.5", "b"), pod("10.244.2.6", "b"))
	expectRefused(t, a, http)
	expectNode(t, b, http, "b")
	expectHealth(t, a, check, 503, 0)
	expectHealth(t, b, check, 200, 2)
	expectProxyHealthy(t, a)

	if err := services.Delete(t.Context(), service.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expectRefused(t, b, http)
	expectRefused(t, b, check)
}

func setEndpoints(t *testing.T, client kubernetes.Interface, endpoints ...discoveryv1.Endpoint) {
	t.Helper()
	slices := client.DiscoveryV1().EndpointSlices("default")
	want := ipv4(endpoints...)
	want.Namespace = "default"
	_, err := slices.Update(t.Context(), want, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = slices.Create(t.Context(), want, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func url(address netip.Addr, port int32, path string) string {
	return "http://" + endpointOf(address, port) + path
}

func expectNode(t *testing.T, address netip.Addr, port int32, node string) {
	t.Helper()
	await.Eventually(t, "an answer of node "+node, func(context.Context) error {
		response, _, err := get(t, url(address, port, "/"))
		if err == nil && response.Header.Get(HeaderNode) != node {
			err = fmt.Errorf("answered by %q", response.Header.Get(HeaderNode))
		}
		return err
	})
}

func expectRefused(t *testing.T, address netip.Addr, port int32) {
	t.Helper()
	await.Eventually(t, fmt.Sprintf("refusal at port %d", port), func(context.Context) error {
		connection, err := net.Dial("tcp", endpointOf(address, port))
		if err == nil {
			connection.Close()
			return errors.New("connected")
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		return nil
	})
}

func expectUDP(t *testing.T, address netip.Addr, port int32, want string) {
	t.Helper()
	await.Eventually(t, "a UDP answer", func(context.Context) error {
		connection := dial(t, "udp", endpointOf(address, port))
		fmt.Fprint(connection, "ping")
		buffer := make([]byte, 1500)
		n, err := connection.Read(buffer)
		if err == nil && !strings.HasPrefix(string(buffer[:n]), want) {
			err = fmt.Errorf("answer %q", buffer[:n])
		}
		return err
	})
}

func expectHealth(t *testing.T, address netip.Addr, port int32, status, pods int) {
	t.Helper()
	want := map[string]any{
		"service":             map[string]any{"namespace": "default", "name": "web"},
		"localEndpoints":      float64(pods),
		"serviceProxyHealthy": true,
	}
	await.Eventually(t, fmt.Sprintf("health %d", status), func(context.Context) error {
		response, body, err := get(t, url(address, port, "/healthz"))
		if err != nil {
			return err
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); response.StatusCode != status || diff != "" {
			return fmt.Errorf("status %d, -want +got:\n%s", response.StatusCode, diff)
		}
		return nil
	})
}

func expectProxyHealthy(t *testing.T, address netip.Addr) {
	t.Helper()
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/other": http.StatusNotFound} {
		response, _, err := get(t, url(address, proxyHealthPort, path))
		if err != nil || response.StatusCode != want {
			t.Errorf("GET %s = %v, %v; want %d", path, response, err, want)
		}
	}
}
