// Package instance tells Kubernetes about the Nova servers behind its nodes:
// whether they exist, whether they are shut down, and their addresses, flavor,
// zone and region. It implements cloudprovider.InstancesV2.
package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	nodehelpers "k8s.io/cloud-provider/node/helpers"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/providerid"
)

// Servers is what this package asks of Nova; *openstack.Nova does it.
type Servers interface {
	// GetServer gives openstack.ErrServerNotFound only when Nova says so itself.
	GetServer(ctx context.Context, id string) (*openstack.Server, error)
	// ServersByName gives the servers with exactly this name; it may miss some.
	ServersByName(ctx context.Context, name string) ([]openstack.Server, error)
	// ListServers gives all servers, or openstack.ErrIncompleteList.
	ListServers(ctx context.Context) ([]openstack.Server, error)
}

// Subports is what this package asks of Neutron; *openstack.Neutron does it.
type Subports interface {
	// SubportAddresses gives the addresses of all trunk subports, by server ID.
	SubportAddresses(ctx context.Context) (map[string][]openstack.ServerAddress, error)
}

// subportAge is how long all nodes are described with one look at the trunks.
const subportAge = 30 * time.Second

// DefaultCacheAge is how long an answer of Nova serves further questions about
// the same node. It is shorter than upstream's period of looking at a node that
// is not ready (--node-monitor-period, 5s), so each look is a fresh one.
const DefaultCacheAge = 3 * time.Second

// listAge is how long a list of all servers serves the nodes of one round of
// upstream's, which takes a look every 5 s: many nodes without a server cost one list.
const listAge = 5 * time.Second

// Options are what Instances need.
type Options struct {
	Servers Servers
	// Subports of trunks, whose addresses a node has as well; nil: not looked for.
	Subports Subports
	// Region of the session: the region label, and the only one whose nodes are ours.
	Region     string
	Networking config.Networking
	// CacheAge; zero means DefaultCacheAge.
	CacheAge time.Duration
	// Clock; nil means the real one.
	Clock clock.PassiveClock
}

// Instances implements cloudprovider.InstancesV2. All methods may be called at
// the same time.
type Instances struct {
	servers   Servers
	subports  Subports
	region    string
	addresses addressRules
	cache     *cache[*openstack.Server]
	lists     *cache[[]openstack.Server]
	trunks    *cache[map[string][]openstack.ServerAddress]
}

var _ cloudprovider.InstancesV2 = (*Instances)(nil)

// New makes Instances. It fails when address-sort-order is no list of CIDRs.
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
	return &Instances{
		servers:   options.Servers,
		subports:  options.Subports,
		region:    options.Region,
		addresses: rules,
		cache:     newCache[*openstack.Server](options.Clock, options.CacheAge),
		lists:     newCache[[]openstack.Server](options.Clock, listAge),
		trunks:    newCache[map[string][]openstack.ServerAddress](options.Clock, subportAge),
	}, nil
}

// InstanceExists says whether the node's server exists. Upstream deletes the
// Node on false, so false is said only on proof (see find); whatever leaves a
// doubt is an error, on which upstream does nothing.
func (i *Instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	_, err := i.find(ctx, node)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	return err == nil, err
}

// InstanceShutdown says whether the node's server is switched off, so that its
// volumes may be attached elsewhere: SHUTOFF, or shelved, for which Nova switches it
// off first. A suspended or paused server keeps its memory and goes on where it was,
// pods and all, so it is not shut down.
func (i *Instances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	server, err := i.find(ctx, node)
	if err != nil {
		return false, err
	}
	switch server.Status {
	case openstack.ServerShutoff, openstack.ServerShelved, openstack.ServerShelvedOffloaded:
		return true, nil
	}
	return false, nil
}

// InstanceMetadata describes the node's server. It never gives nil without an
// error, which crashes upstream, and never a description without addresses.
func (i *Instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	server, err := i.find(ctx, node)
	if err != nil {
		return nil, err
	}
	if server.Status == openstack.ServerUnknown {
		return nil, fmt.Errorf("node %s: nothing is known of server %s while its Nova cell is down", node.Name, server.ID)
	}
	if server, err = i.withSubports(ctx, server); err != nil {
		return nil, fmt.Errorf("node %s: %w", node.Name, err)
	}
	addresses := i.addresses.of(server)
	if err := checkAddresses(node, server, addresses); err != nil {
		return nil, err
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:    providerid.Of(server.ID),
		InstanceType:  labelValue(server.FlavorName),
		NodeAddresses: addresses,
		Zone:          labelValue(server.Zone),
		Region:        labelValue(i.region),
	}, nil
}

// withSubports gives the server with the addresses of its trunk subports after its own.
func (i *Instances) withSubports(ctx context.Context, server *openstack.Server) (*openstack.Server, error) {
	if i.subports == nil {
		return server, nil
	}
	all, err := i.trunks.get(ctx, "", i.subports.SubportAddresses)
	if err != nil || len(all[server.ID]) == 0 {
		return server, err
	}
	whole := *server
	whole.Addresses = slices.Concat(server.Addresses, all[server.ID])
	return &whole, nil
}

// checkAddresses refuses addresses that a node cannot be initialised with: none,
// or not the one that the kubelet was told to use (--node-ip).
func checkAddresses(node *v1.Node, server *openstack.Server, addresses []v1.NodeAddress) error {
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
