package settings

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

// named returns the ID of the load balancer that the Service names. The controller writes
// that annotation too: on a copy of the Service it names nothing.
func named(svc *v1.Service, values annotation.Values) string {
	id := ptr.Deref(values.LoadBalancer.ID, "")
	if annotation.IsCopied(svc.Annotations, id, svc.UID) {
		return ""
	}
	return id
}

// Deletion is what a Service that goes says of what it leaves behind.
type Deletion struct {
	// LoadBalancerID is the load balancer that it names.
	LoadBalancerID string
	// AsksFloatingIP is set where it asks for a certain floating IP, which existed before.
	AsksFloatingIP bool
	KeepFloatingIP bool
	// ReleaseFloatingIP is set where it says that the floating IP that it asks for is not to be kept.
	ReleaseFloatingIP bool
}

// ParseDeletion reads that. A Service that says something wrong can be deleted all the
// same; a floating IP that it perhaps means to keep is kept.
func ParseDeletion(svc *v1.Service) Deletion {
	values, _, _ := annotation.Parse(svc.Annotations)
	asks := svc.Spec.LoadBalancerIP != "" || values.Floating.ID != nil || values.Floating.Tag != nil
	return Deletion{
		LoadBalancerID:    named(svc, values),
		AsksFloatingIP:    asks,
		KeepFloatingIP:    values.KeepsFloatingIP(),
		ReleaseFloatingIP: asks && !ptr.Deref(values.Floating.Keep, true),
	}
}
