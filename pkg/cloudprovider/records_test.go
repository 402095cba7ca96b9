package cloudprovider

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/records"
)

// The lease is released after the shutdown, and the next leader reads the records first. So they
// must be complete by then.
func TestProvider_RecordsBeforeItsShutdownEnds(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(kubeSystem(), publishedService("web"))
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	start := func() (*Provider, *records.ConfigMaps) {
		recorded := records.New(maps, clock.RealClock{})
		p := startedWith(t, Options{
			Client: client, Records: recorded,
			NewLoadBalancers: func(string, Newest) (LoadBalancers, error) {
				return &engine{ending: func() { recorded.Set("uid-last", "unconfirmed") }}, nil
			},
		})
		balancer(t, p)
		return p, recorded
	}
	p, recorded := start()
	recorded.Set("uid-web", "a text")
	if list, err := maps.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("written at once: %v, error %v", list, err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := maps.List(t.Context(), metav1.ListOptions{})
	if err != nil || !strings.Contains(fmt.Sprint(list.Items), "uid-web a text\n") {
		t.Errorf("written are %v, error %v", list, err)
	}
	next, recorded := start()
	for service, want := range map[types.UID]string{"uid-web": "a text", "uid-last": "unconfirmed"} {
		if got := recorded.Get(service); got != want {
			t.Errorf("recorded of %s is %q, want %q", service, got, want)
		}
	}
	if err := next.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}
