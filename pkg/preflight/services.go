package preflight

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
)

// Query says which Services are looked at.
type Query struct {
	// Namespace is that of names without one.
	Namespace string
	// Names are those of Services, "name" or "namespace/name". Without any, and without All and
	// File, all Services of the namespace that the controller serves are meant.
	Names []string
	// All means all Services of all namespaces that the controller serves.
	All bool
	// File has manifests, nil for none: what would be done once its Services are applied.
	File io.Reader
}

// asked is a Service, and what is to be said of how it was read.
type asked struct {
	*v1.Service
	notes []string
}

// served reports whether the service controller has something to do for a Service: it is to have
// a load balancer of this controller, or has had one.
func served(svc *v1.Service) bool {
	goes := servicehelpers.HasLBFinalizer(svc) && (svc.DeletionTimestamp != nil || svc.Spec.Type != v1.ServiceTypeLoadBalancer)
	return dispatch.Wanted(svc) || goes
}

// services returns the Services that are meant.
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

// fromFile returns the Services of a file as they would be once they are applied.
func (q Query) fromFile(ctx context.Context, client kubernetes.Interface) ([]asked, error) {
	manifests, err := decode(q.File)
	if err != nil {
		return nil, err
	}
	var services []asked
	for i, text := range manifests {
		var svc v1.Service
		if err := json.Unmarshal(text, &svc); err != nil {
			return nil, fmt.Errorf("read a Service: %w", err)
		}
		if svc.Namespace == "" {
			svc.Namespace = q.Namespace
		}
		live, err := client.CoreV1().Services(svc.Namespace).Get(ctx, svc.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			services = append(services, created(&svc, i))
		case err != nil:
			return nil, fmt.Errorf("read Service %s/%s: %w", svc.Namespace, svc.Name, err)
		default:
			applied, err := apply(live, text)
			if err != nil {
				return nil, err
			}
			keepAllocated(applied, live)
			services = append(services, complete(applied))
		}
	}
	if len(services) == 0 {
		return nil, errors.New("the file has no Service")
	}
	return services, nil
}

// decode returns the Services among manifests of any kind, in YAML or JSON.
func decode(file io.Reader) ([]json.RawMessage, error) {
	var services []json.RawMessage
	documents := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		var text json.RawMessage
		err := documents.Decode(&text)
		if errors.Is(err, io.EOF) {
			return services, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the manifests: %w", err)
		}
		var object struct {
			metav1.TypeMeta
			Items []json.RawMessage `json:"items"`
		}
		for _, text := range append([]json.RawMessage{text}, items(text)...) {
			if json.Unmarshal(text, &object) == nil && object.Kind == "Service" && object.APIVersion == "v1" {
				services = append(services, text)
			}
		}
	}
}

// items returns what is in a List.
func items(text json.RawMessage) []json.RawMessage {
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if json.Unmarshal(text, &list) != nil || !strings.HasSuffix(list.Kind, "List") {
		return nil
	}
	return list.Items
}

// keepAllocated gives a Service the ports that the API server keeps for it: one that is not asked
// for stays what it was.
func keepAllocated(svc, live *v1.Service) {
	for i := range svc.Spec.Ports {
		port := &svc.Spec.Ports[i]
		for _, was := range live.Spec.Ports {
			if port.NodePort == 0 && was.Port == port.Port && cmp.Or(was.Protocol, v1.ProtocolTCP) == cmp.Or(port.Protocol, v1.ProtocolTCP) {
				port.NodePort = was.NodePort
			}
		}
	}
	if svc.Spec.HealthCheckNodePort == 0 {
		svc.Spec.HealthCheckNodePort = live.Spec.HealthCheckNodePort
	}
}

// apply returns a Service as kubectl apply would leave it: what the manifest says, without what
// the last one said that was applied, and with what others have set.
func apply(live *v1.Service, manifest []byte) (*v1.Service, error) {
	current, err := json.Marshal(live)
	if err != nil {
		return nil, fmt.Errorf("write Service %s/%s: %w", live.Namespace, live.Name, err)
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(v1.Service{})
	if err != nil {
		return nil, fmt.Errorf("read the type Service: %w", err)
	}
	if manifest, err = annotated(manifest); err != nil {
		return nil, fmt.Errorf("read the manifest of Service %s/%s: %w", live.Namespace, live.Name, err)
	}
	last := []byte(live.Annotations[v1.LastAppliedConfigAnnotation])
	patch, err := strategicpatch.CreateThreeWayMergePatch(last, manifest, current, meta, true)
	if err == nil {
		current, err = strategicpatch.StrategicMergePatchUsingLookupPatchMeta(current, patch, meta)
	}
	var applied v1.Service
	if err == nil {
		err = json.Unmarshal(current, &applied)
	}
	if err != nil {
		return nil, fmt.Errorf("apply the manifest of Service %s/%s: %w", live.Namespace, live.Name, err)
	}
	return &applied, nil
}

// annotated returns a manifest with the annotation that kubectl apply adds, which keeps it from
// taking all annotations of others away where the manifest has none.
func annotated(manifest []byte) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(manifest, &object); err != nil {
		return nil, err
	}
	if err := unstructured.SetNestedField(object, string(manifest), "metadata", "annotations", v1.LastAppliedConfigAnnotation); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// created returns a Service that is yet to be created, as the API server would.
func created(svc *v1.Service, number int) asked {
	svc.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", number+1))
	if svc.Spec.Type == "" {
		svc.Spec.Type = v1.ServiceTypeClusterIP
	}
	if len(svc.Spec.IPFamilies) == 0 {
		svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol}
	}
	if svc.Spec.ExternalTrafficPolicy == "" {
		svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyCluster
	}
	if svc.Spec.SessionAffinity == "" {
		svc.Spec.SessionAffinity = v1.ServiceAffinityNone
	}
	return complete(svc)
}

// firstNodePort stands for what the API server would allocate.
const firstNodePort = 30000

// complete gives a Service what the API server would.
func complete(svc *v1.Service) asked {
	done := asked{Service: svc}
	allocates := svc.Spec.AllocateLoadBalancerNodePorts == nil || *svc.Spec.AllocateLoadBalancerNodePorts
	next := int32(firstNodePort)
	allocate := func(port *int32) {
		used := func(p v1.ServicePort) bool { return p.NodePort == next }
		for slices.ContainsFunc(svc.Spec.Ports, used) {
			next++
		}
		*port = next
		next++
		done.notes = []string{"NodePorts that the API server is yet to allocate are shown as 30000 and up"}
	}
	for i := range svc.Spec.Ports {
		port := &svc.Spec.Ports[i]
		if port.Protocol == "" {
			port.Protocol = v1.ProtocolTCP
		}
		if port.NodePort == 0 && allocates && svc.Spec.Type == v1.ServiceTypeLoadBalancer {
			allocate(&port.NodePort)
		}
	}
	if svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal && svc.Spec.HealthCheckNodePort == 0 {
		allocate(&svc.Spec.HealthCheckNodePort)
	}
	return done
}
