package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/simulator"
	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/await"
)

// delays are short, but long enough for a load balancer to be seen PENDING.
func delays() simulator.Options {
	return simulator.Options{Delays: map[string]octavia.Delays{
		"": {Create: time.Second, Update: 100 * time.Millisecond, Delete: 100 * time.Millisecond},
	}}
}

// expectAnswers waits until the requests to the Service are answered by exactly
// these nodes.
func expectAnswers(t *testing.T, url string, nodes ...string) {
	t.Helper()
	await.Eventually(t, fmt.Sprintf("answers of %v alone", nodes), func(ctx context.Context) error {
		answers, err := Answers(ctx, url, 4*len(nodes)+2)
		if err == nil && !slices.Equal(slices.Sorted(maps.Keys(answers)), nodes) {
			err = fmt.Errorf("answers = %v", answers)
		}
		return err
	})
}

// createService creates a Service of type LoadBalancer with pods on the nodes.
func createService(t *testing.T, c *Cluster, nodes ...string) *corev1.Service {
	t.Helper()
	service, err := c.Client().CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 8080}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	setPods(t, c, service, nodes...)
	return service
}

func setPods(t *testing.T, c *Cluster, service *corev1.Service, nodes ...string) {
	t.Helper()
	podsOn := map[string]int{}
	for _, node := range nodes {
		podsOn[node] = 1
	}
	if err := SetPods(t.Context(), c.Client(), service, podsOn); err != nil {
		t.Fatal(err)
	}
}

// awaitAddress waits for the Service's external IP.
func awaitAddress(t *testing.T, c *Cluster) (address string) {
	t.Helper()
	await.Eventually(t, "an external IP", func(ctx context.Context) (err error) {
		address, err = ExternalIP(ctx, c.Client(), "default", "web")
		return err
	})
	return address
}

// deleteService deletes the Service, and shows that nothing of it stays.
func deleteService(t *testing.T, c *Cluster) {
	t.Helper()
	if err := c.Client().CoreV1().Services("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await.Eventually(t, "the Service's end", func(ctx context.Context) error {
		return Gone(ctx, c.Client(), "default", "web")
	})
	if left := c.Leftovers(); len(left) > 0 {
		t.Errorf("left in the cloud: %v", left)
	}
}

//proves:97,103
func TestTheLifeOfAService(t *testing.T) {
	t.Parallel()
	c := ForTest(t, Options{Nodes: 2, Simulator: delays()})
	service := createService(t, c, "node-1", "node-2")
	address := awaitAddress(t, c)
	if !netip.MustParsePrefix(c.network.ExternalCIDR).Contains(netip.MustParseAddr(address)) {
		t.Errorf("external IP = %s, want one of %s", address, c.network.ExternalCIDR)
	}
	url := "http://" + address + ":8080/"
	expectAnswers(t, url, "node-1", "node-2")

	if err := c.AddNode(t.Context(), "node-3"); err != nil {
		t.Fatal(err)
	}
	expectAnswers(t, url, "node-1", "node-2", "node-3")

	setPods(t, c, service, "node-2")
	patch := []byte(`{"spec":{"externalTrafficPolicy":"Local"}}`)
	_, err := c.Client().CoreV1().Services("default").Patch(t.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expectAnswers(t, url, "node-2")
	deleteService(t, c)
	if log := c.CCM.Log(math.MaxInt); strings.Contains(log, "forbidden") {
		t.Errorf("the rights in manifests/static do not suffice:\n%s", log)
	}
}

//proves:116
func TestAKillDuringCreationLeavesOneOfEverything(t *testing.T) {
	t.Parallel()
	options := simulator.Options{Delays: map[string]octavia.Delays{"": {Create: 3 * time.Second}}}
	// Else the next process waits fifteen seconds until it leads.
	short := []string{"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms"}
	c := ForTest(t, Options{Nodes: 1, Simulator: options, CCMArgs: short})
	createService(t, c, "node-1")
	await.Eventually(t, "the creation", func(context.Context) error {
		if len(c.Cloud.Octavia.Snapshot()) == 0 {
			return errors.New("there is no load balancer")
		}
		return nil
	})
	c.CCM.Kill()
	if err := c.StartCCM(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectAnswers(t, "http://"+awaitAddress(t, c)+":8080/", "node-1")
	if lbs, ips := len(c.Cloud.Octavia.Snapshot()), len(c.Cloud.Neutron.FloatingIPs()); lbs != 1 || ips != 1 {
		t.Errorf("there are %d load balancers and %d floating IPs, want one of each", lbs, ips)
	}
	deleteService(t, c)
}
