package testenv

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/instances"
)

const (
	// nodePeriod is the interval of the checks of Nodes that are not ready (--node-monitor-period).
	nodePeriod = 5 * time.Second
	// nodeSync is the interval of the updates of all Nodes' addresses
	// (--node-status-update-frequency).
	nodeSync = 5 * time.Minute
)

// runInstances works as the controllers of nodes in k8s.io/cloud-provider: it initializes new
// Nodes, deletes those without a server, and taints those with a server that is off.
func (p *process) runInstances(ctx context.Context) {
	servers, err := instances.New(instances.Options{
		Servers: p.session.Nova(), Subports: p.session.Neutron(), Region: p.session.Region(), Networking: p.env.Conf.Networking,
	})
	if err != nil {
		p.note("nodes", err)
		return
	}
	p.work.Go(func() {
		synced := time.Time{}
		for ctx.Err() == nil {
			all := time.Since(synced) >= nodeSync
			if all {
				synced = time.Now()
			}
			for _, node := range p.env.Cluster.Nodes() {
				err := p.lookAfter(ctx, servers, node, all)
				if ctx.Err() != nil {
					return
				}
				p.note("node "+node.Name, err)
			}
			_ = sleep(ctx, nodePeriod) // the end of the context ends the loop
		}
	})
}

func (p *process) lookAfter(ctx context.Context, servers *instances.Instances, node *v1.Node, sync bool) error {
	before := node.DeepCopy()
	if sync || hasTaint(node, cloudproviderapi.TaintExternalCloudProvider) {
		return p.initialize(ctx, servers, before, node) // the next round does the rest
	}
	if ready(node) {
		setTaint(node, cloudproviderapi.TaintNodeShutdown, false)
		return p.write(before, node)
	}
	exists, err := servers.InstanceExists(ctx, node)
	if err != nil {
		return err
	}
	if !exists {
		if p.isDead() {
			return errDead
		}
		p.env.mu.Lock()
		p.env.gone = append(p.env.gone, node.Name)
		p.env.mu.Unlock()
		p.env.Cluster.DeleteNode(node.Name)
		p.note("node "+node.Name, nil)
		return nil
	}
	off, err := servers.InstanceShutdown(ctx, node)
	if err != nil {
		return err
	}
	setTaint(node, cloudproviderapi.TaintNodeShutdown, off)
	return p.write(before, node)
}

// initialize writes the cloud's metadata of a Node.
func (p *process) initialize(ctx context.Context, servers *instances.Instances, before, node *v1.Node) error {
	metadata, err := servers.InstanceMetadata(ctx, node)
	if err != nil {
		return fmt.Errorf("describe node %s: %w", node.Name, err)
	}
	if node.Spec.ProviderID == "" {
		node.Spec.ProviderID = metadata.ProviderID
	}
	node.Labels = map[string]string{
		v1.LabelInstanceTypeStable: metadata.InstanceType, v1.LabelTopologyZone: metadata.Zone, v1.LabelTopologyRegion: metadata.Region,
	}
	node.Status.Addresses = metadata.NodeAddresses
	setTaint(node, cloudproviderapi.TaintExternalCloudProvider, false)
	return p.write(before, node)
}

// write stores a changed Node, unless it has changed meanwhile.
func (p *process) write(before, node *v1.Node) error {
	switch {
	case p.isDead():
		return errDead
	case !reflect.DeepEqual(before, node):
		p.env.Cluster.replaceNode(before, node)
	}
	return nil
}

func ready(node *v1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
		return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue
	})
}

func hasTaint(node *v1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == key })
}

func setTaint(node *v1.Node, key string, on bool) {
	if hasTaint(node, key) == on {
		return
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == key })
	if on {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: key, Effect: v1.TaintEffectNoSchedule})
	}
}

// AddJoiningNode adds a server and an uninitialized Node of its name.
func (env *Env) AddJoiningNode(name, address string) error {
	if _, err := env.Cloud.AddServer(name, address); err != nil {
		return err
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	setTaint(node, cloudproviderapi.TaintExternalCloudProvider, true)
	env.Cluster.SetNode(node)
	return nil
}

// SetReady sets whether the kubelet of a Node reports.
func (env *Env) SetReady(name string, is bool) {
	node := env.Cluster.Node(name)
	if node == nil {
		return
	}
	status := v1.ConditionUnknown
	if is {
		status = v1.ConditionTrue
	}
	node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: status}}
	env.Cluster.SetNode(node)
}
