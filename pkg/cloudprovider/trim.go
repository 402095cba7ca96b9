package cloudprovider

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
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

// keepTrimmed makes an informer that does not run yet drop the parts of its objects that no
// controller reads. The controller manager starts the requested informers.
func keepTrimmed(ctx context.Context, informer cache.SharedIndexInformer) {
	if err := informer.SetTransform(trim); err != nil {
		klog.FromContext(ctx).V(2).Info("Objects are kept as a whole", "err", err)
	}
}
