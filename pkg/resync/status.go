package resync

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	servicehelpers "k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// publish writes the address to the status of a Service, unless the status has it.
func (c *Controller) publish(service *v1.Service, status *v1.LoadBalancerStatus) error {
	if servicehelpers.LoadBalancerStatusEqual(&service.Status.LoadBalancer, status) {
		return nil
	}
	changed := service.DeepCopy()
	changed.Status.LoadBalancer = *status
	if _, err := servicehelpers.PatchService(c.client, service, changed); err != nil {
		return fmt.Errorf("publish the new address of service %s/%s: %w", service.Namespace, service.Name, err)
	}
	return nil
}

// PublishRefused publishes the address that accompanies the error of a refused Service, because the
// service controller does not. It does nothing for a Service without an address.
func (c *Controller) PublishRefused(service *v1.Service, status *v1.LoadBalancerStatus) error {
	if status == nil || len(status.Ingress) == 0 || !published(service) {
		return nil
	}
	return c.publish(service, status)
}

// writeRecord writes a record into the annotations of a Service with one patch. The API server
// rejects it as a conflict if the Service was replaced or has changed since it was read. Without
// the right to patch Services it writes nothing.
func (c *Controller) writeRecord(ctx context.Context, service types.NamespacedName, uid types.UID, record annotation.Record) error {
	var current map[string]string
	metadata := map[string]any{"uid": uid}
	if known, err := c.services.Services(service.Namespace).Get(service.Name); err == nil {
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
	_, err = c.client.Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsForbidden(err):
		c.patchForbidden.Do(func() {
			klog.FromContext(ctx).Info("May not patch Services: ID and address of their load balancers are not written into annotations", "err", err)
		})
		return nil
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err):
		return nil // the Service is gone
	}
	return err
}
