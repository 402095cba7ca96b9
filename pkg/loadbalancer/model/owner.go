package model

import "k8s.io/apimachinery/pkg/types"

// Owner is the object of Kubernetes that asks for a load balancer, for example a Service.
type Owner struct {
	Kind, Namespace, Name string
	UID                   types.UID
}

// Key returns the name of the owner with its namespace.
func (o Owner) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
}
