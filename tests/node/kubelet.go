package node

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/utils/ptr"
)

// leaseSeconds is the duration of a kubelet's Lease.
const leaseSeconds = 40

// kubeletVersion is the version in the Node: the release of the test control plane.
const kubeletVersion = "v1.37.2"

// kubelet is the part of a node that talks about itself.
type kubelet struct {
	client  kubernetes.Interface
	options Options
}

func newKubelet(client kubernetes.Interface, options Options) *kubelet {
	return &kubelet{client: client, options: options}
}

// register creates the Node, or takes over the one that an earlier run left, as
// a kubelet does that is started again.
func (k *kubelet) register(ctx context.Context) error {
	_, err := k.client.CoreV1().Nodes().Create(ctx, k.node(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create node %s: %w", k.options.Name, err)
	}
	return k.heartbeat(ctx)
}

// run renews the Lease and the Ready condition. When the Node has been deleted
// it stops doing so: a kubelet registers only when it starts.
func (k *kubelet) run(ctx context.Context) error {
	ticker := time.NewTicker(k.options.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		err := k.heartbeat(ctx)
		if apierrors.IsNotFound(err) {
			k.options.Logf("node %s was deleted; no more heartbeats", k.options.Name)
			<-ctx.Done()
			return ctx.Err()
		}
		if err != nil && ctx.Err() == nil {
			k.options.Logf("%v", err)
		}
	}
}

// heartbeat renews the conditions, and keeps their transition times.
func (k *kubelet) heartbeat(ctx context.Context) error {
	var renewed []map[string]any
	for _, c := range conditions(time.Now()) {
		renewed = append(renewed, map[string]any{
			"type": c.Type, "status": c.Status, "reason": c.Reason, "message": c.Message,
			"lastHeartbeatTime": c.LastHeartbeatTime,
		})
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": renewed}})
	if err != nil {
		return err
	}
	_, err = k.client.CoreV1().Nodes().PatchStatus(ctx, k.options.Name, patch)
	if err != nil {
		return fmt.Errorf("renew the status of node %s: %w", k.options.Name, err)
	}
	return k.renewLease(ctx)
}

func (k *kubelet) renewLease(ctx context.Context) error {
	leases := k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NewMicroTime(time.Now())
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"renewTime": now}})
	if err != nil {
		return err
	}
	_, err = leases.Patch(ctx, k.options.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: k.options.Name},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity:       &k.options.Name,
				LeaseDurationSeconds: ptr.To[int32](leaseSeconds),
				RenewTime:            &now,
			},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renew the lease of node %s: %v", k.options.Name, err) // not wrapped: a missing Lease must not look like a missing Node
	}
	return nil
}

// node is what a kubelet with --cloud-provider=external and --node-ip registers: no provider ID
// without Options.ProviderID, and a taint that keeps pods away until the cloud controller manager
// has filled in the rest.
func (k *kubelet) node() *corev1.Node {
	name := k.options.Name
	var (
		provided  []string
		addresses []corev1.NodeAddress
	)
	for _, address := range k.options.addresses() {
		provided = append(provided, address.String())
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address.String()})
	}
	addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: name})
	labels := map[string]string{
		corev1.LabelHostname:   name,
		corev1.LabelOSStable:   runtime.GOOS,
		corev1.LabelArchStable: runtime.GOARCH,
	}
	maps.Copy(labels, k.options.Labels)
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("4"),
		corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      labels,
			Annotations: map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: strings.Join(provided, ",")},
		},
		Spec: corev1.NodeSpec{ProviderID: k.options.ProviderID, Taints: []corev1.Taint{{
			Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule,
		}}},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Conditions:  conditions(time.Now()),
			Addresses:   addresses,
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion:  kubeletVersion,
				OperatingSystem: runtime.GOOS,
				Architecture:    runtime.GOARCH,
			},
		},
	}
}

// conditions are those of a healthy node.
func conditions(now time.Time) []corev1.NodeCondition {
	healthy := []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "the test node is ready"},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID"},
	}
	for i := range healthy {
		healthy[i].LastHeartbeatTime = metav1.NewTime(now)
		healthy[i].LastTransitionTime = metav1.NewTime(now)
	}
	return healthy
}
