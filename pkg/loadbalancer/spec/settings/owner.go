package settings

import (
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// OwnerOf returns a Service as the owner of its load balancer.
func OwnerOf(svc *v1.Service) model.Owner {
	return model.Owner{Kind: "Service", Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID}
}
