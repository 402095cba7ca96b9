package goal

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// published returns a status with addresses.
func published(addresses ...string) (p Published) {
	for _, address := range addresses {
		p.Status.Ingress = append(p.Status.Ingress, v1.LoadBalancerIngress{IP: address})
	}
	return p
}

func TestPublishedOf_ReadsStatusAnnotationsAndNodePorts(t *testing.T) {
	t.Parallel()
	svc := webService()
	svc.Annotations = map[string]string{
		annotation.LoadBalancerID: "named", annotation.LoadBalancerAddress: "203.0.113.9", annotation.WrittenFor: annotation.WrittenForText("place", "u", "front"),
	}
	svc.Spec.Ports = []v1.ServicePort{{NodePort: 30080}, {}, {NodePort: 30443}}
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{Hostname: "web.example.org"}, {IP: "fd00::5"}}
	p := PublishedOf(svc)
	if p.LoadBalancerID != "named" || p.Address != "203.0.113.9" || p.Place != "place" || p.Share != "front" || !slices.Equal(p.NodePorts, []int{30080, 30443}) {
		t.Errorf("%+v", p)
	}
	if object := ObjectOf(svc); object.LoadBalancerID != "place" || object.Address != "web.example.org" || object.Owner.UID != "u" {
		t.Errorf("the object of events is %+v", object)
	}
	svc.Annotations[annotation.WrittenFor] = annotation.WrittenForText("place", "another", "")
	svc.Status.LoadBalancer.Ingress = nil
	if copied := PublishedOf(svc); copied.Place != "" || copied.hasStatus() || ObjectOf(svc).Address != "" {
		t.Errorf("a copy without a status: %+v", copied)
	}
}

// Nothing is written to the annotations again while they have all of the load balancer.
func TestPublished_IsWrittenWithEachOfItsParts(t *testing.T) {
	t.Parallel()
	p := Published{LoadBalancerID: "lb", Place: "lb", Address: "203.0.113.7"}
	shared := Published{Place: "lb", Share: "front", Address: "203.0.113.7"}
	for name, test := range map[string]struct {
		published          Published
		id, share, address string
		want               bool
	}{
		"all":                      {p, "lb", "", "203.0.113.7", true},
		"another load balancer":    {p, "other", "", "203.0.113.7", false},
		"another address":          {p, "lb", "", "203.0.113.8", false},
		"shared since":             {p, "lb", "front", "203.0.113.7", false},
		"shared":                   {shared, "lb", "front", "203.0.113.7", true},
		"shared by another name":   {shared, "lb", "back", "203.0.113.7", false},
		"no longer shared":         {shared, "lb", "", "203.0.113.7", false},
		"its ID was removed":       {Published{Place: "lb", Address: "203.0.113.7"}, "lb", "", "203.0.113.7", false},
		"its ID is a user's value": {Published{LoadBalancerID: "lb", Address: "203.0.113.7"}, "lb", "", "203.0.113.7", false},
	} {
		if got := test.published.written(test.id, test.share, test.address); got != test.want {
			t.Errorf("%s: written: %v", name, got)
		}
	}
}

func TestPublished_ServesAtItsAddressesEachOnce(t *testing.T) {
	t.Parallel()
	named := Published{Address: "203.0.113.9", Status: v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: "203.0.113.7.nip.io"}, {IP: "fd00::5"}}}}
	for name, test := range map[string]struct {
		published Published
		want      []string
	}{
		"two addresses":           {published("203.0.113.7", "fd00::5"), []string{"203.0.113.7", "fd00::5"}},
		"a name and an address":   {named, []string{"fd00::5"}},
		"only written":            {Published{Address: "203.0.113.9"}, []string{"203.0.113.9"}},
		"the same address as one": {published("203.0.113.7", "203.0.113.7"), []string{"203.0.113.7"}},
	} {
		if got := test.published.served(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestPublished_ShowsALoadBalancerWithoutOctaviaByItsAddress(t *testing.T) {
	t.Parallel()
	routed := &model.LoadBalancer{Provider: driver.Router, VIP: model.VIP{Address: "10.77.0.5"}, FloatingIP: &model.FloatingIP{Address: "203.0.113.7"}}
	forwarded := &model.LoadBalancer{Provider: driver.PortForwarding, FloatingIP: &model.FloatingIP{Address: "203.0.113.7"}}
	for name, test := range map[string]struct {
		lb        *model.LoadBalancer
		addresses []string
		want      bool
	}{
		"its VIP beside a floating IP": {routed, []string{"203.0.113.7", "10.77.0.5"}, true},
		"only its floating IP":         {routed, []string{"203.0.113.7"}, false}, // it may be that of another provider
		"forwarded":                    {forwarded, []string{"203.0.113.7"}, true},
		"another":                      {forwarded, []string{"203.0.113.8", "10.77.0.5"}, false},
		"nothing":                      {forwarded, nil, false},
	} {
		if published(test.addresses...).shows(test.lb) != test.want {
			t.Errorf("%s: shown: %v", name, !test.want)
		}
	}
}

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
