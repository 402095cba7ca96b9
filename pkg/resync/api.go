package resync

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	servicehelpers "k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// serviceAPI reads and writes Services at the API server, as far as the role of this process permits.
type serviceAPI struct {
	client corev1.CoreV1Interface
	// services are those of the informer.
	services corelisters.ServiceLister
	// getForbidden and patchForbidden log once that the role of this process lacks these rights for
	// Services.
	getForbidden, patchForbidden sync.Once
}

// exists asks the API server, not the cache, whether a Service still exists and has an address.
// Without the right to get Services (the role of cloud-provider-openstack permits only list and
// watch) it uses the cache, which lags by moments: the deletion of a Service finds the objects that
// were created meanwhile.
func (a *serviceAPI) exists(ctx context.Context, service *v1.Service) (bool, error) {
	now, err := a.client.Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		a.getForbidden.Do(func() {
			klog.FromContext(ctx).Info("May not get Services, going by those that are watched: give the role of the cloud-controller-manager the verb get for services", "err", err)
		})
		now, err = a.services.Services(service.Namespace).Get(service.Name)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && now.UID == service.UID && published(now), err
}

// publish writes the address to the status of a Service, unless the status has it.
func (a *serviceAPI) publish(service *v1.Service, status *v1.LoadBalancerStatus) error {
	if servicehelpers.LoadBalancerStatusEqual(&service.Status.LoadBalancer, status) {
		return nil
	}
	changed := service.DeepCopy()
	changed.Status.LoadBalancer = *status
	if _, err := servicehelpers.PatchService(a.client, service, changed); err != nil {
		return fmt.Errorf("publish the new address of service %s/%s: %w", service.Namespace, service.Name, err)
	}
	return nil
}

// writeRecord writes a record into the annotations of a Service with one patch. The API server
// rejects it as a conflict if the Service was replaced or has changed since it was read. Without
// the right to patch Services it writes nothing.
func (a *serviceAPI) writeRecord(ctx context.Context, service types.NamespacedName, uid types.UID, record annotation.Record) error {
	var current map[string]string
	metadata := map[string]any{"uid": uid}
	if known, err := a.services.Services(service.Namespace).Get(service.Name); err == nil {
		current = known.Annotations
		metadata["resourceVersion"] = known.ResourceVersion
	}
	changes := record.Changes(current)
	if len(changes) == 0 {
		return nil
	}
	metadata["annotations"] = changes
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	_, err = a.client.Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsForbidden(err):
		a.patchForbidden.Do(func() {
			klog.FromContext(ctx).Info("May not patch Services: ID and address of their load balancers are not written into annotations", "err", err)
		})
		return nil
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err):
		return nil // the Service is gone
	}
	return err
}
