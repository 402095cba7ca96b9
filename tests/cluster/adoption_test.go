package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// peerState is what cloud-provider-openstack left behind in a real OpenStack and a
// real API server.
const peerState = "../../pkg/loadbalancer/testdata/peer-state"

func readPeerState(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(peerState, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The program itself takes over what cloud-provider-openstack left, with the
// cloud.conf that was in use: nothing is written to OpenStack, and every Service
// keeps its address.
//
//proves:120
func TestAdoption_WritesNothingToOpenStackAndKeepsAddresses(t *testing.T) {
	t.Parallel()
	cloud, err := simulator.Start(simulator.Options{Release: "zed"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	credentials, _, _ := strings.Cut(cloud.CloudConf(), "[LoadBalancer]")
	_, keys, _ := strings.Cut(readPeerState(t, "cloud.conf"), "[LoadBalancer]")
	c, err := Start(t.Context(), Options{
		CloudConf: credentials + "[LoadBalancer]" + keys, CCMArgs: []string{"--cluster-name=rig"}, Logf: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && c.CCM != nil {
			t.Logf("the end of the cloud controller manager's log:\n%s", c.CCM.Log(200))
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	var left struct {
		Nodes    []*corev1.Node    `json:"nodes"`
		Services []*corev1.Service `json:"services"`
	}
	if err := json.Unmarshal([]byte(readPeerState(t, "kubernetes.json")), &left); err != nil {
		t.Fatal(err)
	}
	resources := readPeerState(t, "openstack.json")
	for _, node := range left.Nodes {
		recreateNode(t, c, node)
	}
	for _, service := range left.Services {
		made := recreateService(t, c, service)
		resources = strings.ReplaceAll(resources, string(service.UID), string(made.UID))
	}
	if err := cloud.Restore([]byte(resources)); err != nil {
		t.Fatal(err)
	}
	cloud.RequestLog.Reset()
	if err := c.StartCCM(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, service := range left.Services {
		await.Eventually(t, "the first sync of "+service.Name, func(ctx context.Context) error { return ensured(ctx, c, service) })
		address, err := ExternalIP(t.Context(), c.Client(), service.Namespace, service.Name)
		if want := service.Status.LoadBalancer.Ingress[0].IP; err != nil || address != want {
			t.Errorf("%s: the address is %q (%v), was %s", service.Name, address, err, want)
		}
	}
	for _, request := range cloud.RequestLog.Requests(requestlog.Writes()) {
		t.Errorf("written to OpenStack: %s %s", request.Method, request.Path)
	}
}

// recreateNode makes a Node as it was.
func recreateNode(t *testing.T, c *Cluster, node *corev1.Node) {
	t.Helper()
	made := node.DeepCopy()
	made.ObjectMeta = metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, Annotations: node.Annotations}
	made.Spec.PodCIDR, made.Spec.PodCIDRs = "", nil
	nodes := c.Client().CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await.Eventually(t, "status of "+node.Name, func(ctx context.Context) error { // others change it too
		now, err := nodes.Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		now.Status = node.Status
		_, err = nodes.UpdateStatus(ctx, now, metav1.UpdateOptions{})
		return err
	})
}

// recreateService creates a Service again, without the values that the API server assigns: cluster
// IPs and the UID.
func recreateService(t *testing.T, c *Cluster, service *corev1.Service) *corev1.Service {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: service.Namespace}}
	_, err := c.Client().CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	made := service.DeepCopy()
	made.ObjectMeta = metav1.ObjectMeta{
		Namespace: service.Namespace, Name: service.Name, Annotations: service.Annotations, Finalizers: service.Finalizers,
	}
	made.Spec.ClusterIP, made.Spec.ClusterIPs = "", nil
	services := c.Client().CoreV1().Services(service.Namespace)
	if made, err = services.Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	made.Status = service.Status
	if made, err = services.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return made
}

// ensured is an error until the Service has been synced.
func ensured(ctx context.Context, c *Cluster, service *corev1.Service) error {
	events, err := c.Client().CoreV1().Events(service.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + service.Name})
	if err != nil {
		return err
	}
	var said []string
	for _, event := range events.Items {
		if event.Reason == "EnsuredLoadBalancer" {
			return nil
		}
		said = append(said, event.Reason+": "+event.Message)
	}
	return fmt.Errorf("the events are %q", said)
}
