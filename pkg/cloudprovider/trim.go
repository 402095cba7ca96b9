package cloudprovider

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// trim removes the parts of an object that no controller reads, before an informer stores it: the
// managed fields, and the images of a kubelet, which are most of a Node. It returns the object
// itself. Controllers write patches, or read the object again first.
func trim(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	if node, is := object.(*corev1.Node); is {
		node.Status.Images = nil
	}
	return object, nil
}
