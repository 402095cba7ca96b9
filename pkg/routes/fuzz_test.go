package routes

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/hostile"
)

// FuzzRecord reads which routes are ours out of a ConfigMap that others may have written, and
// routes that a router answers with.
func FuzzRecord(f *testing.F) {
	f.Add("10.244.1.0/24 via 10.0.0.1 port p\n", "10.244.1.0/24", "10.0.0.1")
	f.Add("fd00::/64 via fe80::1%eth0 port \n via  port \n10.0.0.1/8 via 10.0.0.1", "::ffff:10.0.0.0/104", "fe80::1%\x1b")
	f.Add(strings.Repeat("x", 1<<10)+"\xff", "10.0.0.0/33", "")
	f.Fuzz(func(t *testing.T, data, destination, next string) {
		maps := fake.NewClientset(&v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: RecordName}, Data: map[string]string{"router": data, clusterKey: "cluster"},
		}).CoreV1().ConfigMaps(metav1.NamespaceSystem)
		r := &record{maps: maps, cluster: "cluster", router: "router"}
		var ours map[hop]string
		hostile.Bounded(t, len(data), func() {
			var err error
			if ours, err = r.read(t.Context()); err != nil {
				t.Error(err)
			}
		})
		for h := range ours {
			if again, err := parseHop(h.String()); err != nil || again != h {
				t.Errorf("%q is read as %q, %v", h, again, err)
			}
		}
		for h := range hopsOf(&neutron.Router{Routes: []neutron.ExtraRoute{{Destination: destination, NextHop: next}}}) {
			if h.to != h.to.Masked() {
				t.Errorf("%q is a route to %s", destination, h.to)
			}
			hostile.OneLine(t, h.String())
		}
	})
}
