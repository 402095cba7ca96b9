package cluster

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// IsOurs reports whether a Service needs a load balancer of this controller: it is of type
// LoadBalancer, and of no class, which would be another controller's. A deletion does not change
// that.
func IsOurs(svc *v1.Service) bool {
	return svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil
}

// Key returns the name of a Service with its namespace.
func Key(svc *v1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
}
