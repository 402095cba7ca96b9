package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

func TestTheLifeOfAService(t *testing.T) {
	t.Parallel()
	c := ForTest(t, Options{Nodes: 2, Simulator: delays()})
	services := c.Client().CoreV1().Services("default")
	service, err := services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 8080}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	setPods := func(podsOn map[string]int) {
		t.Helper()
		if err := SetPods(t.Context(), c.Client(), service, podsOn); err != nil {
			t.Fatal(err)
		}
	}
	setPods(map[string]int{"node-1": 1, "node-2": 1})

	var address string
	await.Eventually(t, "an external IP", func(ctx context.Context) (err error) {
		address, err = ExternalIP(ctx, c.Client(), "default", "web")
		return err
	})
	prefix, _, _ := strings.Cut(c.network.ExternalCIDR, "0/24")
	if !strings.HasPrefix(address, prefix) {
		t.Errorf("external IP = %s, want one of %s", address, c.network.ExternalCIDR)
	}
	url := "http://" + address + ":8080/"
	expectAnswers(t, url, "node-1", "node-2")

	if err := c.AddNode(t.Context(), "node-3"); err != nil {
		t.Fatal(err)
	}
	expectAnswers(t, url, "node-1", "node-2", "node-3")

	setPods(map[string]int{"node-2": 1})
	patch := []byte(`{"spec":{"externalTrafficPolicy":"Local"}}`)
	if _, err := services.Patch(t.Context(), "web", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	expectAnswers(t, url, "node-2")

	if err := services.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await.Eventually(t, "the Service's end", func(ctx context.Context) error {
		return Gone(ctx, c.Client(), "default", "web")
	})
	if left := c.Leftovers(); len(left) > 0 {
		t.Errorf("left in the cloud: %v", left)
	}
}
