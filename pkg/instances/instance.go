// Package instances describes the Nova servers of nodes to Kubernetes: whether they
// exist, whether they are shut down, and their addresses, flavor, zone and region. It
// implements cloudprovider.InstancesV2.
package instances

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	nodehelpers "k8s.io/cloud-provider/node/helpers"
	nodeutil "k8s.io/component-helpers/node/util"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
	"github.com/openstack-ccm/openstack-ccm/pkg/providerid"
)

// Servers is what this package needs of Nova; *nova.Client implements it.
type Servers interface {
	// GetServer returns nova.ErrServerNotFound only for a 404 of Nova itself.
	GetServer(ctx context.Context, id string) (*nova.Server, error)
	// ServersByName returns the servers with exactly this name; it may miss some.
	ServersByName(ctx context.Context, name string) ([]nova.Server, error)
	// Servers returns the servers of the project; it may miss some.
	Servers(ctx context.Context) ([]nova.Server, error)
	// FlavorID returns the ID of a server's flavor.
	FlavorID(ctx context.Context, serverID string) (string, error)
}

// Subports is what this package needs of Neutron; *neutron.Client implements it.
type Subports interface {
	// SubportAddresses returns the addresses of all trunk subports, by server ID.
	SubportAddresses(ctx context.Context) (map[string][]neutron.SubportAddress, error)
}

// subportAge is how long all nodes are described with one list of the trunks.
const subportAge = 30 * time.Second

// DefaultCacheAge is how long an answer of Nova serves further questions about
// the same node. It is shorter than the period in which k8s.io/cloud-provider checks
// a node that is not ready (--node-monitor-period, 5s), so each check is a fresh one.
const DefaultCacheAge = 3 * time.Second

// flavorAge is how long the ID of a flavor is known by the flavor's name.
const flavorAge = time.Hour

// Options are what Instances need.
type Options struct {
	Servers Servers
	// Subports of trunks, whose addresses a node has as well; nil: not looked for.
	Subports Subports
	// Region of the session: the region label.
	Region string
	// Regions in which nodes are, too. Provider IDs of new nodes name the region then.
	Regions []Region
	// RegionalIDs puts the region into provider IDs (OS_CCM_REGIONAL): the cluster may
	// have nodes in several regions, each with a cloud-controller-manager of its own.
	RegionalIDs bool
	Networking  config.Networking
	// ShutdownStatuses of servers that are switched off; nil: those of ShutdownByDefault.
	ShutdownStatuses []string
	// CacheAge; zero means DefaultCacheAge.
	CacheAge time.Duration
	// Clock; nil means the real one.
	Clock clock.PassiveClock
}

// Instances implements cloudprovider.InstancesV2. All methods may be called at
// the same time.
type Instances struct {
	// regions are those of nodes; the first is that of the session.
	regions   []*fleet
	regional  bool
	addresses addressRules
	shutdown  []string
	cache     *cache[located]
	flavors   *cache[string]
	trunks    *cache[map[string][]neutron.SubportAddress]
	nodes     atomic.Pointer[corelisters.NodeLister]
}

var _ cloudprovider.InstancesV2 = (*Instances)(nil)

// New returns Instances. The error is for an address-sort-order that is no list of
// CIDRs.
func New(options Options) (*Instances, error) {
	rules, err := newAddressRules(options.Networking)
	if err != nil {
		return nil, err
	}
	if options.CacheAge == 0 {
		options.CacheAge = DefaultCacheAge
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	i := &Instances{
		regions:   []*fleet{newFleet(Region{options.Region, options.Servers, options.Subports}, options.Clock)},
		addresses: rules,
		shutdown:  options.ShutdownStatuses,
		cache:     newCache[located]("server", options.Clock, options.CacheAge),
		flavors:   newCache[string]("flavor", options.Clock, flavorAge),
		trunks:    newCache[map[string][]neutron.SubportAddress]("subports", options.Clock, subportAge),
	}
	for _, other := range options.Regions {
		i.regions = append(i.regions, newFleet(other, options.Clock))
	}
	i.regional = (options.RegionalIDs || len(i.regions) > 1) && options.Region != ""
	if i.shutdown == nil {
		i.shutdown = ShutdownByDefault()
	}
	return i, nil
}

// ShutdownByDefault are the statuses of a server that Nova has switched off: SHUTOFF, and
// shelved, for which it switches it off first. A suspended or paused server keeps its memory
// and goes on where it was, pods and all.
func ShutdownByDefault() []string {
	return []string{nova.ServerShutoff, nova.ServerShelved, nova.ServerShelvedOffloaded}
}

// UseNodes has the nodes counted that a lister knows: before, all answers are about one node.
func (i *Instances) UseNodes(nodes corelisters.NodeLister) { i.nodes.Store(&nodes) }

// known returns all nodes, as far as they are known.
func (i *Instances) known() []*v1.Node {
	lister := i.nodes.Load()
	if lister == nil {
		return nil
	}
	nodes, _ := (*lister).List(labels.Everything()) // an informer's has no error
	return nodes
}

// notReady returns the number of nodes that the node lifecycle controller asks about.
func (i *Instances) notReady() int {
	return i.count(func(node *v1.Node) bool {
		_, ready := nodeutil.GetNodeCondition(&node.Status, v1.NodeReady)
		return ready == nil || ready.Status != v1.ConditionTrue
	})
}

// initialized returns the number of nodes that the node controller asks about, again and again.
func (i *Instances) initialized() int {
	return i.count(func(node *v1.Node) bool { return !uninitialized(node) })
}

// count returns the number of known nodes that match.
func (i *Instances) count(matches func(*v1.Node) bool) int {
	count := 0
	for _, node := range i.known() {
		if matches(node) {
			count++
		}
	}
	return count
}

// InstanceExists reports whether the node's server exists. k8s.io/cloud-provider
// deletes the Node on false, so it returns false only on proof (see find); whatever
// leaves a doubt is an error, on which nothing happens.
func (i *Instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	_, err := i.find(ctx, node)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	return err == nil, err
}

// InstanceShutdown reports whether the node's server is switched off, so that its
// volumes may be attached elsewhere.
func (i *Instances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	server, err := i.find(ctx, node)
	if err != nil {
		return false, err
	}
	return slices.Contains(i.shutdown, server.Status), nil
}

// InstanceMetadata describes the node's server. It never returns nil without
// an error, which crashes k8s.io/cloud-provider, nor a description without addresses.
func (i *Instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	server, err := i.serverOf(ctx, node)
	if err != nil {
		return nil, err
	}
	if server.Status == nova.ServerUnknown {
		return nil, fmt.Errorf("node %s: nothing is known of server %s while its Nova cell is down", node.Name, server.ID)
	}
	complete, err := i.withSubports(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node.Name, err)
	}
	addresses := i.addresses.of(complete, described(node))
	if err := checkAddresses(node, complete, addresses); err != nil {
		return nil, err
	}
	instanceType, err := i.instanceType(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node.Name, err)
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:    i.providerID(server),
		InstanceType:  instanceType,
		NodeAddresses: addresses,
		Zone:          labelValue(server.Zone),
		Region:        labelValue(server.region.Name),
	}, nil
}

// serverOf returns the server to describe the node with. That of a node that joins has become what
// it is a moment ago, and is always asked for on its own.
func (i *Instances) serverOf(ctx context.Context, node *v1.Node) (located, error) {
	if at, id, err := i.placeOf(node); err == nil && !uninitialized(node) {
		if server := at.describe(ctx, id, i.initialized); server != nil {
			return located{server, at}, nil
		}
	}
	return i.find(ctx, node)
}

// described returns the addresses that a node was described with. None of a node that
// was not: what the kubelet took for its addresses does not count.
func described(node *v1.Node) []v1.NodeAddress {
	if uninitialized(node) {
		return nil
	}
	return node.Status.Addresses
}

// providerID returns the provider ID of a node on the server.
func (i *Instances) providerID(server located) string {
	if i.regional {
		return providerid.OfRegion(server.region.Name, server.ID)
	}
	return providerid.Of(server.ID)
}

// instanceType returns the flavor's name, or its ID where the name is no label value, as
// cloud-provider-openstack has it.
func (i *Instances) instanceType(ctx context.Context, server located) (string, error) {
	if len(validation.IsValidLabelValue(server.FlavorName)) == 0 {
		return server.FlavorName, nil
	}
	if server.FlavorID != "" {
		return labelValue(server.FlavorID), nil
	}
	id, err := i.flavors.get(ctx, server.region.Name+"/"+server.FlavorName, func(ctx context.Context) (string, error) {
		return server.region.Servers.FlavorID(ctx, server.ID)
	})
	return labelValue(id), err
}

// withSubports returns the server with the addresses of its trunk subports after its own.
func (i *Instances) withSubports(ctx context.Context, server located) (*nova.Server, error) {
	subports := server.region.Subports
	if subports == nil {
		return server.Server, nil
	}
	all, err := i.trunks.get(ctx, server.region.Name, subports.SubportAddresses)
	if err != nil || len(all[server.ID]) == 0 {
		return server.Server, err
	}
	complete := *server.Server
	complete.Addresses = slices.Clone(server.Addresses)
	for _, subport := range all[server.ID] {
		complete.Addresses = append(complete.Addresses, nova.ServerAddress{Network: subport.Network, Address: subport.Address})
	}
	return &complete, nil
}

// checkAddresses refuses addresses that a node cannot be initialised with: none,
// or not the one that the kubelet was given (--node-ip).
func checkAddresses(node *v1.Node, server *nova.Server, addresses []v1.NodeAddress) error {
	if !hasIP(addresses) {
		return fmt.Errorf("node %s: server %s (status %s) has no address that [Networking] of cloud.conf lets through; Nova names %s",
			node.Name, server.ID, server.Status, printed(server.Addresses))
	}
	nodeIP, ok := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]
	if !ok {
		return nil
	}
	if _, err := nodehelpers.GetNodeAddressesFromNodeIP(nodeIP, addresses); err != nil {
		return fmt.Errorf("node %s: the kubelet's --node-ip %s is not among the addresses of server %s, which are %s: %w",
			node.Name, nodeIP, server.ID, printed(server.Addresses), err)
	}
	return nil
}
