package instances

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
	"github.com/openstack-ccm/openstack-ccm/pkg/providerid"
)

// find returns the node's server. cloudprovider.InstanceNotFound is proof that there
// is none; any other error leaves it open.
//
//	node has a provider ID     the server with this ID; proof is Nova's own 404, twice
//	none, one server by name   that one
//	none, several by name      the one with the node's system UUID, else an error
//	none, no server by name    the server with the node's system UUID; there is no
//	                           proof, and the node is left alone
//
// A server that was deleted but can still be restored counts as gone. A node without a
// provider ID may be a machine outside of the project, or of another region whose
// cloud-controller-manager has yet to initialize it, so that nothing that the project
// lacks proves anything about it (as in cloud-provider-openstack 1.36). Where provider
// IDs have regions, one cluster may be in several: there, a node with a provider ID
// that names none is ours only if its region label says so.
func (i *Instances) find(ctx context.Context, node *v1.Node) (*nova.Server, error) {
	labeled := node.Labels[v1.LabelTopologyRegion]
	if i.regional && labeled != "" && labeled != labelValue(i.region) {
		return nil, fmt.Errorf("node %s: its label %s is %q, and this cloud-controller-manager serves region %q",
			node.Name, v1.LabelTopologyRegion, labeled, i.region)
	}
	if node.Spec.ProviderID == "" {
		return i.cache.get(ctx, "name/"+node.Name, func(ctx context.Context) (*nova.Server, error) {
			return i.findByName(ctx, node)
		})
	}
	region, id, err := providerid.Parse(node.Spec.ProviderID)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node.Name, err)
	}
	if region != "" && region != i.region {
		return nil, fmt.Errorf("node %s: provider ID %q is of region %q, and this cloud-controller-manager serves region %q",
			node.Name, node.Spec.ProviderID, region, i.region)
	}
	server, err := i.cache.get(ctx, "id/"+id, func(ctx context.Context) (*nova.Server, error) {
		return i.findByID(ctx, node, id)
	})
	if i.regional && region == "" && labeled == "" && errors.Is(err, cloudprovider.InstanceNotFound) {
		return nil, fmt.Errorf("node %s: region %q has no server %s, but neither the node's provider ID nor a label %s says that it is of this region: "+
			"it is left alone", node.Name, i.region, id, v1.LabelTopologyRegion)
	}
	return server, err
}

func (i *Instances) findByID(ctx context.Context, node *v1.Node, id string) (*nova.Server, error) {
	server, err := i.servers.GetServer(ctx, id)
	if errors.Is(err, nova.ErrServerNotFound) { // perhaps from one of several API servers only
		server, err = i.servers.GetServer(ctx, id)
	}
	if errors.Is(err, nova.ErrServerNotFound) {
		return nil, fmt.Errorf("node %s: %w: %w", node.Name, cloudprovider.InstanceNotFound, err)
	}
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node.Name, err)
	}
	if gone(server) {
		return nil, fmt.Errorf("node %s: %w: server %s has status %s", node.Name, cloudprovider.InstanceNotFound, id, server.Status)
	}
	return server, nil
}

func (i *Instances) findByName(ctx context.Context, node *v1.Node) (*nova.Server, error) {
	named, err := i.servers.ServersByName(ctx, node.Name)
	if err != nil {
		return nil, fmt.Errorf("node %s has no provider ID: %w", node.Name, err)
	}
	candidates := alive(named)
	if len(candidates) == 1 {
		return &candidates[0], nil
	}
	for n := range candidates {
		if strings.EqualFold(candidates[n].ID, node.Status.NodeInfo.SystemUUID) {
			return &candidates[n], nil
		}
	}
	if len(candidates) > 1 {
		return nil, fmt.Errorf("node %s has no provider ID and %d servers have its name (%s): give the kubelet --provider-id=%s",
			node.Name, len(candidates), ids(candidates), providerid.Of("ID"))
	}
	return i.findBySystemUUID(ctx, node)
}

// findBySystemUUID is the last resort: Nova uses the ID of a server as the
// UUID of the machine's firmware, which the kubelet reports.
func (i *Instances) findBySystemUUID(ctx context.Context, node *v1.Node) (*nova.Server, error) {
	if id := providerid.Server(node.Status.NodeInfo.SystemUUID); id != "" {
		server, err := i.findByID(ctx, node, id)
		if err == nil {
			klog.FromContext(ctx).Info("No server has the node's name; taking the one with its system UUID", "node", klog.KObj(node), "server", server.ID, "serverName", server.Name)
			return server, nil
		}
		if !errors.Is(err, cloudprovider.InstanceNotFound) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("node %s has no provider ID, and no server of the project has its name or system UUID: it is left alone", node.Name)
}

// uninitialized reports whether the node controller has yet to describe the node
// (the kubelet runs with --cloud-provider=external and has just joined).
func uninitialized(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

func gone(server *nova.Server) bool {
	return server.Status == nova.ServerDeleted || server.Status == nova.ServerSoftDeleted
}

func alive(servers []nova.Server) []nova.Server {
	var left []nova.Server
	for n := range servers {
		if !gone(&servers[n]) {
			left = append(left, servers[n])
		}
	}
	return left
}

func ids(servers []nova.Server) string {
	var all []string
	for n := range servers {
		all = append(all, servers[n].ID)
	}
	return strings.Join(all, ", ")
}
