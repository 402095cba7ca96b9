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

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
)

// located is a server with its region.
type located struct {
	*nova.Server

	region *fleet
}

// find returns the node's server. cloudprovider.InstanceNotFound is proof that there is none; other
// errors leave that open.
//
//	node has a provider ID     the server with this ID; proof is Nova's own 404, twice
//	none, one server by name   that one
//	none, several by name      the one with the node's system UUID, else an error
//	none, no server by name    the server with the node's system UUID; there is no
//	                           proof, and the node is left alone
//
// A server that was deleted but can still be restored counts as gone. A node without a provider ID
// may be a machine outside of the project, or in another region, where another
// cloud-controller-manager has yet to initialize it. Therefore a missing server proves nothing for
// it (as in cloud-provider-openstack 1.36). With regions in provider IDs, a cluster may span
// several regions: a node with a provider ID without a region is certain to be in a region only if
// its region label confirms that.
func (i *Instances) find(ctx context.Context, node *v1.Node) (located, error) {
	if node.Spec.ProviderID == "" {
		regions, err := i.regionsOf(node, "")
		if err != nil {
			return located{}, err
		}
		return i.cache.get(ctx, "name/"+node.Name, func(ctx context.Context) (located, error) {
			return i.findByName(ctx, node, regions)
		})
	}
	named, id, err := cluster.ParseProviderID(node.Spec.ProviderID)
	if err != nil {
		return located{}, fmt.Errorf("node %s: %w", node.Name, err)
	}
	regions, err := i.regionsOf(node, named)
	if err != nil {
		return located{}, err
	}
	var doubts error
	for _, r := range regions {
		found, err := i.cache.get(ctx, "id/"+r.Name+"/"+id, func(ctx context.Context) (located, error) {
			return i.findByID(ctx, node, r, id)
		})
		if err == nil || len(regions) == 1 && (named != "" || !i.regional || node.Labels[v1.LabelTopologyRegion] != "") {
			return found, err
		}
		if !errors.Is(err, cloudprovider.InstanceNotFound) {
			doubts = errors.Join(doubts, err)
		}
	}
	if doubts != nil {
		return located{}, doubts
	}
	return located{}, fmt.Errorf("node %s: region %s has no server %s, but neither the node's provider ID nor a label %s confirms that it is in this region: "+
		"it is left alone", node.Name, i.served(), id, v1.LabelTopologyRegion)
}

func (i *Instances) findByID(ctx context.Context, node *v1.Node, r *fleet, id string) (located, error) {
	server, err := r.get(ctx, id, i.notReady)
	if errors.Is(err, nova.ErrServerNotFound) {
		return located{}, fmt.Errorf("node %s: %w: %w", node.Name, cloudprovider.InstanceNotFound, err)
	}
	if err != nil {
		return located{}, fmt.Errorf("node %s: %w", node.Name, err)
	}
	if gone(server) {
		return located{}, fmt.Errorf("node %s: %w: server %s has status %s", node.Name, cloudprovider.InstanceNotFound, id, server.Status)
	}
	return located{server, r}, nil
}

// findByName searches the regions in order. If the ID of a server is the node's system UUID, it is
// the node's, and the search ends.
func (i *Instances) findByName(ctx context.Context, node *v1.Node, regions []*fleet) (located, error) {
	var candidates []located
	var doubts error
	for _, r := range regions {
		named, err := r.Servers.ServersByName(ctx, node.Name)
		if err != nil {
			doubts = errors.Join(doubts, fmt.Errorf("node %s has no provider ID: %w", node.Name, err))
			continue
		}
		servers := alive(named)
		for n := range servers {
			candidates = append(candidates, located{&servers[n], r})
			if strings.EqualFold(servers[n].ID, node.Status.NodeInfo.SystemUUID) {
				return located{&servers[n], r}, nil
			}
		}
	}
	if doubts != nil {
		return located{}, doubts
	}
	if len(candidates) == 1 {
		return candidates[0], nil
	}
	if len(candidates) > 1 {
		return located{}, fmt.Errorf("node %s has no provider ID and %d servers have its name (%s): give the kubelet --provider-id=%s",
			node.Name, len(candidates), ids(candidates), cluster.ProviderID("ID"))
	}
	return i.findBySystemUUID(ctx, node, regions)
}

// findBySystemUUID is the last attempt: Nova uses the ID of a server as the UUID of the machine's
// firmware, which the kubelet reports.
func (i *Instances) findBySystemUUID(ctx context.Context, node *v1.Node, regions []*fleet) (located, error) {
	if id := cluster.ServerID(node.Status.NodeInfo.SystemUUID); id != "" {
		for _, r := range regions {
			found, err := i.findByID(ctx, node, r, id)
			if err == nil {
				klog.FromContext(ctx).Info("No server has the node's name; taking the one with its system UUID", "node", klog.KObj(node), "server", found.ID, "serverName", found.Name)
				return found, nil
			}
			if !errors.Is(err, cloudprovider.InstanceNotFound) {
				return located{}, err
			}
		}
	}
	return located{}, fmt.Errorf("node %s has no provider ID, and no server of the project has its name or system UUID: it is left alone", node.Name)
}

// uninitialized reports whether the node controller has yet to initialize the node, after the
// kubelet has registered it with --cloud-provider=external.
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

func ids(servers []located) string {
	var all []string
	for _, server := range servers {
		all = append(all, server.ID)
	}
	return strings.Join(all, ", ")
}
