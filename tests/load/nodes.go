package main

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/control/client"
)

// nodes are the nodes of the cluster, the oldest first. They are Node objects without kubelets, in
// the state after the initialization by the cloud controller manager.
type nodes struct {
	cloud  client.Cloud
	client kubernetes.Interface

	all  []machine
	made int
}

// machine is a node and its server.
type machine struct{ name, serverID, address string }

// writers is the number of concurrent requests to the API server.
const writers = 16

// addMany adds so many nodes.
func (n *nodes) addMany(ctx context.Context, count int) error {
	machines := make([]machine, count)
	for i := range machines {
		var err error
		if machines[i], err = n.boot(ctx); err != nil {
			return err
		}
	}
	n.all = append(n.all, machines...)
	return each(ctx, machines, n.register)
}

// add adds a node and returns its address.
func (n *nodes) add(ctx context.Context) (address string, err error) {
	m, err := n.boot(ctx)
	if err != nil {
		return "", err
	}
	n.all = append(n.all, m)
	return m.address, n.register(ctx, m)
}

// removeOldest removes a node with its server, and returns its address.
func (n *nodes) removeOldest(ctx context.Context) (address string, err error) {
	m := n.all[0]
	n.all = n.all[1:]
	if err := n.client.CoreV1().Nodes().Delete(ctx, m.name, metav1.DeleteOptions{}); err != nil {
		return "", fmt.Errorf("delete node %s: %w", m.name, err)
	}
	return m.address, n.cloud.DeleteServer(ctx, m.serverID)
}

// boot adds a server.
func (n *nodes) boot(ctx context.Context) (machine, error) {
	n.made++
	name := fmt.Sprintf("node-%05d", n.made)
	server, err := n.cloud.AddServer(ctx, name)
	return machine{name: name, serverID: server.ID, address: server.Address}, err
}

// register creates the Node.
func (n *nodes) register(ctx context.Context, m machine) error {
	capacity := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi")}
	_, err := n.client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.name, Labels: map[string]string{corev1.LabelHostname: m.name}},
		Spec:       corev1.NodeSpec{ProviderID: "openstack:///" + m.serverID},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: m.address}, {Type: corev1.NodeHostName, Address: m.name},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create node %s: %w", m.name, err)
	}
	return nil
}

// each calls do for every item, several at a time, and returns the first error.
func each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan T)
	var workers sync.WaitGroup
	for range min(writers, len(items)) {
		workers.Go(func() {
			for item := range work {
				if err := do(ctx, item); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, item := range items {
		if ctx.Err() != nil {
			break
		}
		work <- item
	}
	close(work)
	workers.Wait()
	return context.Cause(ctx)
}
