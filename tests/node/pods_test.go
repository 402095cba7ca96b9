package node

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

func TestPods_ListenWhereTheirSliceSays(t *testing.T) {
	t.Parallel()
	four := slice("four", discoveryv1.AddressTypeIPv4, pod("10.6.0.1", "a"), unready(pod("10.244.0.9", "a")), pod("10.6.0.2", "b"))
	four.Ports = []discoveryv1.EndpointPort{
		{Name: ptr.To("http"), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To[int32](20080)},
		{Name: ptr.To("dns"), Protocol: ptr.To(corev1.ProtocolUDP), Port: ptr.To[int32](20053)},
		{Name: ptr.To("sctp"), Protocol: ptr.To(corev1.ProtocolSCTP), Port: ptr.To[int32](20053)},
	}
	six := slice("six", discoveryv1.AddressTypeIPv6, pod("fd00:6::1", "a"))
	six.Ports = []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](20080)}}
	host := slice("host", discoveryv1.AddressTypeFQDN, pod("a.example.com", "a"))

	got := map[podSocket]string{}
	for socket, f := range podsOn("a", []*discoveryv1.EndpointSlice{four, six, host}) {
		got[socket] = f.service.String() + "/" + f.port + " " + f.endpoints[0].address
	}
	want := map[podSocket]string{
		{corev1.ProtocolTCP, "10.6.0.1:20080"}:    "demo/web/http 10.6.0.1",
		{corev1.ProtocolUDP, "10.6.0.1:20053"}:    "demo/web/dns 10.6.0.1",
		{corev1.ProtocolTCP, "10.244.0.9:20080"}:  "demo/web/http 10.244.0.9",
		{corev1.ProtocolUDP, "10.244.0.9:20053"}:  "demo/web/dns 10.244.0.9",
		{corev1.ProtocolTCP, "[fd00:6::1]:20080"}: "demo/web/http fd00:6::1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPods_NameNodeThatClientComesFrom(t *testing.T) {
	t.Parallel()
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	err := store.Add(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: "10.6.0.2"}, {Type: corev1.NodeInternalIP, Address: "fd00:6::2"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := pods{options: Options{Name: "a"}, nodes: corelisters.NewNodeLister(store)}
	for client, want := range map[string]string{"10.6.0.2:4000": "b", "[fd00:6::2]:4000": "b", "192.0.2.7:4000": "a"} {
		address, err := net.ResolveTCPAddr("tcp", client)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.reached(address); got != want {
			t.Errorf("reached by %s = %s, want %s", client, got, want)
		}
	}
}
