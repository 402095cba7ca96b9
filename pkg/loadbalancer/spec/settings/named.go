package settings

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// named returns the ID of the load balancer that the Service names. The controller writes that
// annotation too; on a copy of the Service, its value is ignored. For a Service that shares a load
// balancer by name, it is the one that the controller has written for it, if there is one.
func named(svc *v1.Service, values annotation.Values) string {
	if values.LoadBalancer.Share != nil {
		if place, _ := annotation.WrittenPlace(svc); place != "" {
			return place
		}
	}
	id := ptr.Deref(values.LoadBalancer.ID, "")
	if annotation.IsCopied(svc.Annotations, id, svc.UID) {
		return ""
	}
	return id
}

// Share returns the name by which a Service shares a load balancer, "" for none. It reads only this
// setting.
func (p *Parser) Share(svc *v1.Service) string {
	text, given := svc.Annotations[annotation.Share]
	if !given || slices.Contains(p.denied, annotation.Share) {
		return ""
	}
	values, _, _ := annotation.Parse(map[string]string{annotation.Share: text})
	return ptr.Deref(values.LoadBalancer.Share, "")
}

// noticeShare notices a load-balancer-id other than the load balancer that the Service shares by
// name.
func (r *reading) noticeShare() {
	id := ptr.Deref(r.from.values.LoadBalancer.ID, "")
	place, share := annotation.WrittenPlace(r.svc)
	if r.from.values.LoadBalancer.Share != nil && share == *r.from.values.LoadBalancer.Share && id != "" && id != place {
		r.notice(annotation.LoadBalancerID, "has no effect beside "+annotation.Share+": remove it")
	}
}

// Deletion holds the settings of a deleted Service that concern the objects that it leaves.
type Deletion struct {
	// LoadBalancerID is the load balancer that it names; Share the name by which it shares one.
	LoadBalancerID, Share string
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
		Share:             ptr.Deref(values.LoadBalancer.Share, ""),
		AsksFloatingIP:    asks,
		KeepFloatingIP:    values.KeepsFloatingIP(),
		ReleaseFloatingIP: asks && !ptr.Deref(values.Floating.Keep, true),
	}
}
