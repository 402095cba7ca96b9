package plan

import (
	"context"
	"fmt"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
)

// Query selects Services.
type Query struct {
	// Namespace is that of names without one.
	Namespace string
	// Names are those of Services, "name" or "namespace/name". Without Names, All and File, all
	// Services of the namespace that the controller serves are selected.
	Names []string
	// All selects all Services of all namespaces that the controller serves.
	All bool
	// File has manifests to preview, nil for none.
	File io.Reader
	// Enforced is set if Namespace is from a flag: kubectl refuses a manifest with another one
	// then.
	Enforced bool
}

// asked is a Service with the notes about its read.
type asked struct {
	*v1.Service
	notes []string
	// invalid is the reason why kubectl or the API server refuses the manifest, "" if neither does;
	// live is the existing Service, nil for none.
	invalid string
	live    *v1.Service
}

// served reports whether the service controller handles a Service: it needs a load balancer of this
// controller, or has had one.
func served(svc *v1.Service) bool {
	goes := servicehelpers.HasLBFinalizer(svc) && (svc.DeletionTimestamp != nil || svc.Spec.Type != v1.ServiceTypeLoadBalancer)
	return dispatch.Wanted(svc) || goes
}

func (q Query) services(ctx context.Context, client kubernetes.Interface) ([]asked, error) {
	switch {
	case q.File != nil:
		return q.fromFile(ctx, client)
	case len(q.Names) > 0:
		return q.named(ctx, client)
	}
	namespace := q.Namespace
	if q.All {
		namespace = metav1.NamespaceAll
	}
	found, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	var services []asked
	for i := range found.Items {
		if svc := &found.Items[i]; served(svc) {
			services = append(services, asked{Service: svc})
		}
	}
	return services, nil
}

func (q Query) named(ctx context.Context, client kubernetes.Interface) ([]asked, error) {
	var services []asked
	for _, name := range q.Names {
		namespace := q.Namespace
		if before, after, both := strings.Cut(name, "/"); both {
			namespace, name = before, after
		}
		svc, err := client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("read Service %s/%s: %w", namespace, name, err)
		}
		services = append(services, asked{Service: svc})
	}
	return services, nil
}
