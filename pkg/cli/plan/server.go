package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// server replaces the API server for manifests: it changes a Service like kubectl apply and the API
// server, and stores nothing.
type server struct {
	client kubernetes.Interface
	// stored are Services after earlier manifests of the same file.
	stored map[types.NamespacedName]*v1.Service
	// family is the IP family of the cluster, "" before it is needed, and familyNote a note for
	// users about it.
	family     v1.IPFamily
	familyNote string
}

// read returns the Service of a name, or the error of the API server.
func (s *server) read(ctx context.Context, named *v1.Service) (*v1.Service, error) {
	if svc := s.stored[types.NamespacedName{Namespace: named.Namespace, Name: named.Name}]; svc != nil {
		return svc.DeepCopy(), nil
	}
	svc, err := s.client.CoreV1().Services(named.Namespace).Get(ctx, named.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return svc, nil
}

func (s *server) keep(svc *v1.Service) {
	if s.stored == nil {
		s.stored = map[types.NamespacedName]*v1.Service{}
	}
	s.stored[types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}] = svc.DeepCopy()
}

// create returns the Service that the API server creates from a manifest. The errors are those of
// kubectl and the API server.
//
//	field of the manifest                                          the API server
//	status, uid, creationTimestamp, managedFields                  sets its own
//	deletionTimestamp, deletionGracePeriodSeconds, generation      removes it
//	resourceVersion                                                does not get it from kubectl
//	finalizers, ownerReferences, labels, annotations               keeps it
func (s *server) create(ctx context.Context, manifest *unstructured.Unstructured) (asked, error) {
	var svc v1.Service
	if err := decoded(manifest.Object, &svc); err != nil {
		return asked{}, err
	}
	done := asked{Service: &svc}
	if fields := ignored(&svc); len(fields) > 0 {
		done.notes = append(done.notes, "the API server ignores "+strings.Join(fields, ", ")+" of the manifest")
	}
	svc.Status = v1.ServiceStatus{}
	svc.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", len(s.stored)+1))
	svc.ResourceVersion, svc.Generation, svc.ManagedFields = "", 0, nil
	svc.CreationTimestamp, svc.DeletionTimestamp, svc.DeletionGracePeriodSeconds = metav1.Time{}, nil, nil
	if errs := validation.ValidateObjectMeta(&svc.ObjectMeta, true, validation.NameIsDNSLabel, field.NewPath("metadata")); len(errs) > 0 {
		return asked{}, refuses(errs.ToAggregate())
	}
	text, err := annotated(manifest)
	if err != nil {
		return asked{}, err
	}
	metav1.SetMetaDataAnnotation(&svc.ObjectMeta, v1.LastAppliedConfigAnnotation, lastApplied(text))
	setDefaults(&svc)
	done.notes = append(done.notes, s.setFamilies(ctx, &svc)...)
	done.notes = append(done.notes, allocate(&svc)...)
	return done, nil
}

// ignored returns the fields of a manifest that the API server sets itself and that matter to a
// controller.
func ignored(svc *v1.Service) []string {
	var fields []string
	if svc.UID != "" {
		fields = append(fields, "metadata.uid")
	}
	if svc.DeletionTimestamp != nil {
		fields = append(fields, "metadata.deletionTimestamp")
	}
	if len(svc.Status.LoadBalancer.Ingress)+len(svc.Status.Conditions) > 0 {
		fields = append(fields, "status")
	}
	return fields
}

// patch returns a Service after kubectl apply: with the fields of the manifest, without those of
// the last applied manifest that are missing in it, and with those of others. The errors are those
// of kubectl and the API server.
func (s *server) patch(live *v1.Service, manifest *unstructured.Unstructured) (asked, error) {
	if err := decoded(manifest.Object, &v1.Service{}); err != nil {
		return asked{}, err
	}
	applied, err := merged(live, manifest)
	if err != nil {
		return asked{}, err
	}
	if version := manifest.GetResourceVersion(); version != "" && version != live.ResourceVersion {
		return asked{}, refuses(fmt.Errorf("metadata.resourceVersion: the Service has been changed since %s was read (conflict): leave the field out of the manifest", version))
	}
	applied.Status, applied.Generation, applied.ManagedFields = live.Status, live.Generation, live.ManagedFields
	applied.ResourceVersion, applied.CreationTimestamp = live.ResourceVersion, live.CreationTimestamp
	if live.DeletionTimestamp != nil {
		applied.DeletionTimestamp, applied.DeletionGracePeriodSeconds = live.DeletionTimestamp, live.DeletionGracePeriodSeconds
	}
	applied.UID = cmp.Or(applied.UID, live.UID)
	if errs := updates(&applied.ObjectMeta, &live.ObjectMeta); len(errs) > 0 {
		return asked{}, refuses(errs.ToAggregate())
	}
	setDefaults(applied)
	keepAllocated(applied, live)
	done := asked{Service: applied, live: live}
	if live.Annotations[v1.LastAppliedConfigAnnotation] == "" {
		done.notes = append(done.notes, "the Service was not created by kubectl apply, which therefore removes no ports, annotations and other fields that the manifest lacks")
	}
	done.notes = append(done.notes, allocate(applied)...)
	return done, nil
}

// updates returns the errors of the API server about the metadata of an update. kubectl's patch
// always contains a resourceVersion.
func updates(updated, live *metav1.ObjectMeta) field.ErrorList {
	updated, live = updated.DeepCopy(), live.DeepCopy()
	updated.ResourceVersion, live.ResourceVersion = "1", "1"
	return validation.ValidateObjectMetaUpdate(updated, live, field.NewPath("metadata"))
}

// merged returns a Service after kubectl's patch.
func merged(live *v1.Service, manifest *unstructured.Unstructured) (*v1.Service, error) {
	current, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(v1.Service{})
	if err != nil {
		return nil, err
	}
	text, err := annotated(manifest)
	if err != nil {
		return nil, err
	}
	last := []byte(live.Annotations[v1.LastAppliedConfigAnnotation])
	patch, err := strategicpatch.CreateThreeWayMergePatch(last, text, current, meta, true)
	if err == nil {
		current, err = strategicpatch.StrategicMergePatchUsingLookupPatchMeta(current, patch, meta)
	}
	var applied v1.Service
	if err == nil {
		err = json.Unmarshal(current, &applied)
	}
	if err != nil {
		return nil, fmt.Errorf("kubectl apply cannot merge the manifest with the Service: %w", err)
	}
	return &applied, nil
}

// annotated returns a manifest with the annotation of kubectl apply: the manifest itself, with the
// namespace, and without an earlier annotation of the kind.
func annotated(manifest *unstructured.Unstructured) ([]byte, error) {
	manifest = manifest.DeepCopy()
	annotations := manifest.GetAnnotations()
	delete(annotations, v1.LastAppliedConfigAnnotation)
	if annotations == nil {
		annotations = map[string]string{}
	}
	manifest.SetAnnotations(annotations)
	itself, err := json.Marshal(manifest.Object)
	if err != nil {
		return nil, err
	}
	annotations[v1.LastAppliedConfigAnnotation] = string(itself)
	manifest.SetAnnotations(annotations)
	return json.Marshal(manifest.Object)
}

// lastApplied returns the annotation of a manifest.
func lastApplied(manifest []byte) string {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(manifest, &object) != nil {
		return ""
	}
	return object.Annotations[v1.LastAppliedConfigAnnotation]
}

// decoded parses a manifest like the API server for kubectl, which makes it refuse unknown fields.
func decoded(manifest map[string]any, into *v1.Service) error {
	text, err := json.Marshal(manifest)
	if err == nil {
		err = json.Unmarshal(text, into) // its errors name the field
	}
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(manifest, &v1.Service{}, true)
	}
	if err != nil {
		return refuses(err)
	}
	return nil
}

func refuses(err error) error { return fmt.Errorf("the API server refuses the manifest: %w", err) }

// setDefaults sets the API server's defaults of a Service.
func setDefaults(svc *v1.Service) {
	svc.Spec.Type = cmp.Or(svc.Spec.Type, v1.ServiceTypeClusterIP)
	svc.Spec.SessionAffinity = cmp.Or(svc.Spec.SessionAffinity, v1.ServiceAffinityNone)
	if svc.Spec.Type == v1.ServiceTypeLoadBalancer || svc.Spec.Type == v1.ServiceTypeNodePort {
		svc.Spec.ExternalTrafficPolicy = cmp.Or(svc.Spec.ExternalTrafficPolicy, v1.ServiceExternalTrafficPolicyCluster)
	}
	for i := range svc.Spec.Ports {
		svc.Spec.Ports[i].Protocol = cmp.Or(svc.Spec.Ports[i].Protocol, v1.ProtocolTCP)
	}
}

// setFamilies sets the IP families that the API server would choose for a new Service, and returns
// a note for users: those of its cluster IPs, else the first one of the cluster, which the Service
// of the API server has.
func (s *server) setFamilies(ctx context.Context, svc *v1.Service) []string {
	if svc.Spec.Type == v1.ServiceTypeExternalName {
		return nil
	}
	var notes []string
	for _, ip := range slices.Concat(svc.Spec.ClusterIPs, []string{svc.Spec.ClusterIP}) {
		if len(svc.Spec.IPFamilies) == 0 && ip != "" && ip != v1.ClusterIPNone {
			svc.Spec.IPFamilies = []v1.IPFamily{familyOf(ip)}
		}
	}
	if len(svc.Spec.IPFamilies) == 0 {
		s.readFamily(ctx)
		svc.Spec.IPFamilies = []v1.IPFamily{s.family}
		if s.familyNote != "" {
			notes = append(notes, s.familyNote)
		}
	}
	if len(svc.Spec.IPFamilies) > 1 {
		return notes
	}
	switch first := svc.Spec.IPFamilies[0]; ptr.Deref(svc.Spec.IPFamilyPolicy, v1.IPFamilyPolicySingleStack) {
	case v1.IPFamilyPolicyRequireDualStack:
		other := v1.IPv6Protocol
		if first == v1.IPv6Protocol {
			other = v1.IPv4Protocol
		}
		svc.Spec.IPFamilies = append(svc.Spec.IPFamilies, other)
	case v1.IPFamilyPolicySingleStack:
	case v1.IPFamilyPolicyPreferDualStack:
		notes = append(notes, fmt.Sprintf("it is unknown whether the cluster has both IP families: the plan of this Service, which prefers them, is for %s alone, unless ipFamilies has both", first))
	}
	return notes
}

// readFamily reads the first IP family of the cluster, once.
func (s *server) readFamily(ctx context.Context) {
	if s.family != "" {
		return
	}
	apiServer, err := s.client.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
	switch {
	case err == nil && len(apiServer.Spec.IPFamilies) > 0:
		s.family = apiServer.Spec.IPFamilies[0]
	case err == nil && apiServer.Spec.ClusterIP != "":
		s.family = familyOf(apiServer.Spec.ClusterIP)
	default:
		s.family = v1.IPv4Protocol
		s.familyNote = "the IP family of the cluster is unknown, because Service default/kubernetes could not be read: IPv4 is assumed"
	}
}

func familyOf(address string) v1.IPFamily {
	if strings.Contains(address, ":") {
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
}

// keepAllocated keeps the ports that the API server allocated to a Service: one that is not
// requested stays, as long as the Service has one of its kind.
func keepAllocated(svc, live *v1.Service) {
	for i := range svc.Spec.Ports {
		port := &svc.Spec.Ports[i]
		for _, was := range live.Spec.Ports {
			if port.NodePort == 0 && was.Port == port.Port && cmp.Or(was.Protocol, v1.ProtocolTCP) == port.Protocol {
				port.NodePort = was.NodePort
			}
		}
	}
	switch {
	case !needsHealthCheckPort(svc):
		svc.Spec.HealthCheckNodePort = 0
	case needsHealthCheckPort(live):
		svc.Spec.HealthCheckNodePort = cmp.Or(svc.Spec.HealthCheckNodePort, live.Spec.HealthCheckNodePort)
	}
}

func needsHealthCheckPort(svc *v1.Service) bool {
	return svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal
}

// firstNodePort is a placeholder for allocated ports.
const firstNodePort = 30000

// allocate sets placeholders for the ports that the API server would allocate, and returns a note
// for users.
func allocate(svc *v1.Service) (notes []string) {
	allocates := svc.Spec.AllocateLoadBalancerNodePorts == nil || *svc.Spec.AllocateLoadBalancerNodePorts
	next := int32(firstNodePort)
	set := func(port *int32) {
		used := func(p v1.ServicePort) bool { return p.NodePort == next }
		for slices.ContainsFunc(svc.Spec.Ports, used) {
			next++
		}
		*port = next
		next++
		notes = []string{"NodePorts that the API server will allocate are shown as 30000 and above"}
	}
	for i := range svc.Spec.Ports {
		if svc.Spec.Ports[i].NodePort == 0 && allocates && svc.Spec.Type == v1.ServiceTypeLoadBalancer {
			set(&svc.Spec.Ports[i].NodePort)
		}
	}
	if needsHealthCheckPort(svc) && svc.Spec.HealthCheckNodePort == 0 {
		set(&svc.Spec.HealthCheckNodePort)
	}
	return notes
}
