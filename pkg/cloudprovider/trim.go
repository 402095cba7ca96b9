package cloudprovider

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// trim takes what no controller reads from an object before an informer keeps it: who has set
// which field, and the images that a kubelet has, which are most of a Node. It returns the
// object itself. What Kubernetes' controllers write are patches, and what they read anew.
func trim(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	if node, is := object.(*corev1.Node); is {
		node.Status.Images = nil
	}
	return object, nil
}
