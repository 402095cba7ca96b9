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

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
)

// Servers is the part of Nova that this package uses. *nova.Client implements it.
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

// Subports is the part of Neutron that this package uses. *neutron.Client implements it.
type Subports interface {
	// SubportAddresses returns the addresses of all trunk subports, by server ID.
	SubportAddresses(ctx context.Context) (map[string][]neutron.SubportAddress, error)
}

// subportAge is how long one list of the trunks serves all nodes.
const subportAge = 30 * time.Second

// DefaultCacheAge is how long an answer of Nova serves further calls for the same node. It is
// shorter than the period in which k8s.io/cloud-provider checks a node that is not ready
// (--node-monitor-period, 5s), so that each check reads it again.
const DefaultCacheAge = 3 * time.Second

// flavorAge is how long the mapping of a flavor's name to its ID is cached.
const flavorAge = time.Hour

// Options configure Instances.
type Options struct {
	Servers Servers
	// Subports reads the trunk subports, which are addresses of nodes too; nil if they are not
	// used.
	Subports Subports
	// Region of the session, for the region label.
	Region string
	// Regions with more servers of nodes. If there are any, provider IDs of new nodes contain the
	// region.
	Regions []Region
	// RegionalIDs adds the region to provider IDs (OS_CCM_REGIONAL): the cluster may have nodes in
	// several regions, each with its own cloud-controller-manager.
	RegionalIDs bool
	Networking  config.Networking
	// ShutdownStatuses are the statuses of servers that count as switched off; nil means
	// ShutdownByDefault.
	ShutdownStatuses []string
	// CacheAge; zero means DefaultCacheAge.
	CacheAge time.Duration
	// Clock; nil means the real one.
	Clock clock.PassiveClock
}

// Instances implements cloudprovider.InstancesV2. All methods are safe for concurrent use.
type Instances struct {
	// regions are those with nodes; the first is the region of the session.
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

// New returns Instances, or an error if address-sort-order is not a list of CIDRs.
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

// ShutdownByDefault returns the statuses of a server that Nova has switched off: SHUTOFF and the
// shelved ones. A suspended or paused server keeps its memory, and its pods continue when it is
// resumed.
func ShutdownByDefault() []string {
	return []string{nova.ServerShutoff, nova.ServerShelved, nova.ServerShelvedOffloaded}
}

// UseNodes sets the lister of nodes. Before the call, all requests concern one node.
func (i *Instances) UseNodes(nodes corelisters.NodeLister) { i.nodes.Store(&nodes) }

// known returns all nodes of the lister.
func (i *Instances) known() []*v1.Node {
	lister := i.nodes.Load()
	if lister == nil {
		return nil
	}
	nodes, _ := (*lister).List(labels.Everything()) // the lister of an informer returns no error
	return nodes
}

// notReady returns the number of nodes that the node lifecycle controller checks.
func (i *Instances) notReady() int {
	return i.count(func(node *v1.Node) bool {
		_, ready := nodeutil.GetNodeCondition(&node.Status, v1.NodeReady)
		return ready == nil || ready.Status != v1.ConditionTrue
	})
}

// initialized returns the number of nodes that the node controller updates periodically.
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

// InstanceExists reports whether the node's server exists. k8s.io/cloud-provider deletes the Node
// on false, so it returns false only on proof (see find). Without proof it returns an error, upon
// which the Node is kept.
func (i *Instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	_, err := i.find(ctx, node)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	return err == nil, err
}

// InstanceShutdown reports whether the node's server is switched off, so that its volumes may be
// attached elsewhere.
func (i *Instances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	server, err := i.find(ctx, node)
	if err != nil {
		return false, err
	}
	return slices.Contains(i.shutdown, server.Status), nil
}

// InstanceMetadata returns the metadata of the node's server. It never returns nil without an
// error, which would crash k8s.io/cloud-provider, and never metadata without addresses.
func (i *Instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	server, err := i.serverOf(ctx, node)
	if err != nil {
		return nil, err
	}
	if server.Status == nova.ServerUnknown {
		return nil, fmt.Errorf("node %s: server %s is unknown while its Nova cell is down", node.Name, server.ID)
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

// serverOf returns the server of a node for its metadata. For a node that joins, it is always read
// individually, because a list may be outdated.
func (i *Instances) serverOf(ctx context.Context, node *v1.Node) (located, error) {
	if at, id, err := i.placeOf(node); err == nil && !uninitialized(node) {
		if server := at.describe(ctx, id, i.initialized); server != nil {
			return located{server, at}, nil
		}
	}
	return i.find(ctx, node)
}

// described returns the addresses with which a node was initialized. The addresses that a kubelet
// reports before do not count.
func described(node *v1.Node) []v1.NodeAddress {
	if uninitialized(node) {
		return nil
	}
	return node.Status.Addresses
}

// providerID returns the provider ID of a node on the server.
func (i *Instances) providerID(server located) string {
	if i.regional {
		return cluster.RegionalProviderID(server.region.Name, server.ID)
	}
	return cluster.ProviderID(server.ID)
}

// instanceType returns the flavor's name, or its ID if the name is not a valid label value, as in
// cloud-provider-openstack.
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

// checkAddresses returns an error for addresses with which a node cannot be initialized: none, or
// without the kubelet's --node-ip.
func checkAddresses(node *v1.Node, server *nova.Server, addresses []v1.NodeAddress) error {
	if !hasIP(addresses) {
		return fmt.Errorf("node %s: server %s (status %s) has no address that [Networking] of cloud.conf admits; Nova reports %s",
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
