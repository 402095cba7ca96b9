// Package cluster contains the identity of the Kubernetes cluster, its place in the cloud, and the
// rules for its Services and Nodes.
package cluster

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// forbiddenAttempts is the number of "forbidden" answers that may mean that RBAC is still being
// applied: about 15 s, with the delays between them.
const forbiddenAttempts = 5

// retryDelays returns the delays between attempts.
func retryDelays() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 5}
}

// ReadID returns the identity of the cluster: the UID of the namespace kube-system, which is unique
// and lives as long as the cluster. It tries until the API server answers; the only error is that
// of the context. Without the right to read the identity it returns "", and logs how to grant it:
// after a few attempts, or at once if the other rights of the role are in force, as with that of
// cloud-provider-openstack.
func ReadID(ctx context.Context, client kubernetes.Interface, clock clock.Clock) (string, error) {
	logger := klog.FromContext(ctx)
	delays := retryDelays()
	forbidden := 0
	for {
		namespace, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		if err == nil {
			return string(namespace.UID), nil
		}
		if apierrors.IsForbidden(err) {
			forbidden++
			if roleInForce(ctx, client) {
				forbidden = forbiddenAttempts
			}
		}
		if forbidden == forbiddenAttempts {
			logger.Error(err, "The cluster's identity is not readable: load balancers have the UIDs of their Services, but not the cluster's. "+
				`Grant the ClusterRole of this service account {apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"]} and restart`)
			return "", nil
		}
		logger.Error(err, "Cannot read the cluster's identity, retrying", "namespace", metav1.NamespaceSystem)
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("read namespace %s: %w", metav1.NamespaceSystem, ctx.Err())
		case <-clock.After(delays.Step()):
		}
	}
}

// roleInForce reports whether the role of this process is in force: every role for a cloud
// controller manager permits to list nodes.
func roleInForce(ctx context.Context, client kubernetes.Interface) bool {
	_, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	return err == nil
}
