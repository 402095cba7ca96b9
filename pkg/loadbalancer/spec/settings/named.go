package settings

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// named returns the ID of the load balancer that the Service names. The controller writes that
// annotation too; on a copy of the Service, its value is ignored.
func named(svc *v1.Service, values annotation.Values) string {
	id := ptr.Deref(values.LoadBalancer.ID, "")
	if annotation.IsCopied(svc.Annotations, id, svc.UID) {
		return ""
	}
	return id
}

// Deletion holds the settings of a deleted Service that concern the objects that it leaves.
type Deletion struct {
	// LoadBalancerID is the load balancer that it names.
	LoadBalancerID string
	// AsksFloatingIP is set if it requests an existing floating IP.
	AsksFloatingIP bool
	KeepFloatingIP bool
	// ReleaseFloatingIP is set if the requested floating IP must not be kept.
	ReleaseFloatingIP bool
}

// ParseDeletion reads these settings. Invalid settings do not prevent the deletion; if they may
// mean to keep a floating IP, it is kept.
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
