package goal

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Clients use the recorded address, unless another one is published.
func TestServedAt_PrefersPublishedToRecordedAddress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ingress        []v1.LoadBalancerIngress
		status, served string
	}{
		"published":         {[]v1.LoadBalancerIngress{{IP: "203.0.113.7"}}, "203.0.113.7", "203.0.113.7"},
		"in a host name":    {[]v1.LoadBalancerIngress{{Hostname: "203.0.113.7.nip.io"}}, "203.0.113.7", "203.0.113.7"},
		"another host name": {[]v1.LoadBalancerIngress{{Hostname: "www.example.org"}}, "", "203.0.113.9"},
		"none":              {nil, "", "203.0.113.9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotation.LoadBalancerAddress: "203.0.113.9"}}}
			svc.Status.LoadBalancer.Ingress = test.ingress
			if status, served := PublishedOf(svc).first(), PublishedOf(svc).servedAt(); status != test.status || served != test.served {
				t.Errorf("published %q, served at %q, want %q, %q", status, served, test.status, test.served)
			}
		})
	}
}

// A Service with an address has no unknown creation of the process before.
func TestPublished_IsUnservedSinceItsCreationUntilItHasAStatus(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}
	if got := PublishedOf(svc).Unserved(); !got.Equal(created) {
		t.Errorf("without a status: unserved since %s", got)
	}
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{Hostname: "www.example.org"}}
	if got := PublishedOf(svc).Unserved(); !got.IsZero() {
		t.Errorf("with a status: unserved since %s", got)
	}
}
