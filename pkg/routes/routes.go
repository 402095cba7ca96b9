package routes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Network is the part of Neutron that this package uses. *neutron.Client implements it.
type Network interface {
	Router(ctx context.Context, id string) (*neutron.Router, error)
	// AddRoutes and RemoveRoutes return apierror.IsUnknownAction if Neutron requires SetRoutes.
	AddRoutes(ctx context.Context, routerID string, routes []neutron.ExtraRoute) error
	RemoveRoutes(ctx context.Context, routerID string, routes []neutron.ExtraRoute) error
	SetRoutes(ctx context.Context, router *neutron.Router, routes []neutron.ExtraRoute) (*neutron.Router, error)
	RouterPorts(ctx context.Context, routerID string) ([]neutron.RoutedPort, error)
	PortsWithAddresses(ctx context.Context, addresses []string) ([]neutron.RoutedPort, error)
	RoutedPort(ctx context.Context, id string) (*neutron.RoutedPort, error)
	SetAddressPairs(ctx context.Context, port *neutron.RoutedPort, pairs []neutron.AddressPair) error
}

const (
	// DefaultGather is how long operations are gathered into a batch. The route controller issues
	// up to 200 at the same time.
	DefaultGather = 100 * time.Millisecond
	// DefaultPairsAge is how long the allowed address pairs of nodes' ports are assumed to be
	// unchanged.
	DefaultPairsAge = 5 * time.Minute
	// portWrites is the maximum number of concurrent writes of ports.
	portWrites = 16
)

// Options configure a Table.
type Options struct {
	Network  Network
	RouterID string
	// Nodes lists the nodes of the cluster, once Synced. A Table without Nodes, Synced and ConfigMaps
	// serves Lead only.
	Nodes  corelisters.NodeLister
	Synced func() bool
	// ConfigMaps of kube-system, for the record.
	ConfigMaps corev1.ConfigMapInterface
	// ClusterID identifies the cluster that owns the record.
	ClusterID string
	// Gather and PairsAge; zero means the defaults.
	Gather, PairsAge time.Duration
	// Clock; nil means the real one.
	Clock clock.Clock
}

// Table implements cloudprovider.Routes with the routes of one router. All methods are safe for
// concurrent use.
type Table struct {
	network  Network
	routerID string
	nodes    corelisters.NodeLister
	synced   func() bool
	clock    clock.Clock
	pairsAge time.Duration
	routes   *extraRoutes
	pairs    addressPairs
	record   *record
	batcher  *batcher

	// The batch in execution owns these fields; there is only one at a time.
	limit   routeLimit
	subnets subnets

	mu sync.Mutex
	// complete are the existing routes with all their address pairs.
	complete map[hop]bool
	checked  time.Time
}

var _ cloudprovider.Routes = (*Table)(nil)

// New returns a Table. It sends no requests.
func New(options Options) *Table {
	if options.Gather == 0 {
		options.Gather = DefaultGather
	}
	if options.PairsAge == 0 {
		options.PairsAge = DefaultPairsAge
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	t := &Table{
		network: options.Network, routerID: options.RouterID, nodes: options.Nodes, synced: options.Synced,
		clock: options.Clock, pairsAge: options.PairsAge, complete: map[hop]bool{},
		routes: &extraRoutes{network: options.Network, routerID: options.RouterID, clock: options.Clock},
		pairs:  addressPairs{options.Network}, subnets: subnets{network: options.Network, routerID: options.RouterID},
		record: &record{maps: options.ConfigMaps, cluster: options.ClusterID, router: options.RouterID},
	}
	t.batcher = &batcher{clock: options.Clock, gather: options.Gather, run: t.reconcile, running: semaphore.NewWeighted(1)}
	return t
}

// ListRoutes returns the routes that are ours: those of Nodes that are complete, and as blackholes
// those that lead to no Node. It omits a route if its port lacks the allowed address pair, so that
// CreateRoute is called. It costs one request, and a list of the nodes' ports every few minutes.
func (t *Table) ListRoutes(ctx context.Context, _ string) ([]*cloudprovider.Route, error) {
	wanted, err := t.targets()
	if err != nil {
		return nil, err
	}
	router, err := t.routes.read(ctx)
	if err != nil {
		return nil, err
	}
	has := hopsOf(router)
	owned, err := t.record.read(ctx)
	if err != nil {
		return nil, err
	}
	complete, ports, err := t.completeRoutes(ctx, has, wanted, owned)
	if err != nil {
		return nil, err
	}
	if owned, err = t.adopt(ctx, has, wanted, owned, ports); err != nil {
		return nil, err
	}
	var routes []*cloudprovider.Route
	for h := range has {
		_, ours := owned[h]
		at, leads := wanted[h]
		switch {
		case leads && complete[h]:
			routes = append(routes, &cloudprovider.Route{
				Name: h.String(), TargetNode: types.NodeName(at.node.Name), DestinationCIDR: at.cidr,
				TargetNodeAddresses: at.node.Status.Addresses,
			})
		case ours && !leads:
			routes = append(routes, &cloudprovider.Route{Name: h.String(), DestinationCIDR: h.to.String(), Blackhole: true})
		}
	}
	return routes, nil
}

// targets returns the targets of the routes of this cluster.
func (t *Table) targets() (map[hop]target, error) {
	if !t.synced() {
		return nil, errors.New("the cluster's nodes are not known yet")
	}
	nodes, err := t.nodes.List(labels.Everything())
	return targets(nodes), err
}

// adopt records the routes to our Nodes that are not in the record, such as those of
// cloud-provider-openstack, and removes the entries that are neither wanted nor in the router. It
// returns all routes that are ours.
func (t *Table) adopt(ctx context.Context, has map[hop]neutron.ExtraRoute, wanted map[hop]target, owned, ports map[hop]string) (map[hop]string, error) {
	adopted, obsolete := map[hop]string{}, []hop(nil)
	for h := range has {
		port, known := owned[h]
		if _, leads := wanted[h]; leads && (!known || ports[h] != "" && ports[h] != port) {
			adopted[h] = ports[h]
		}
	}
	for h := range owned {
		_, there := has[h]
		if _, leads := wanted[h]; !there && !leads {
			obsolete = append(obsolete, h)
		}
	}
	if err := t.record.write(ctx, adopted, obsolete); err != nil {
		return nil, err
	}
	return t.record.read(ctx)
}

// completeRoutes returns the routes to Nodes that have all their address pairs, and the ports of
// these routes. Between two lists of the ports it returns the results of CreateRoute.
func (t *Table) completeRoutes(ctx context.Context, has map[hop]neutron.ExtraRoute, wanted map[hop]target, owned map[hop]string) (complete map[hop]bool, ports map[hop]string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.clock.Since(t.checked) < t.pairsAge {
		return maps.Clone(t.complete), nil, nil
	}
	var vias []netip.Addr
	for h := range has {
		if _, leads := wanted[h]; leads {
			vias = append(vias, h.via)
		}
	}
	found, err := portsOf(ctx, t.network, vias)
	if err != nil {
		return nil, nil, err
	}
	complete, ports = map[hop]bool{}, map[hop]string{}
	for h := range has {
		if _, leads := wanted[h]; !leads {
			continue
		}
		at := found[h.via]
		if i := slices.IndexFunc(at, func(port *neutron.RoutedPort) bool { return port.ID == owned[h] }); i >= 0 {
			at = at[i : i+1]
		}
		complete[h] = !slices.ContainsFunc(at, func(port *neutron.RoutedPort) bool { return !port.Admits(h.to) })
		if len(at) == 1 {
			ports[h] = at[0].ID
		}
	}
	t.complete, t.checked = complete, t.clock.Now()
	return maps.Clone(complete), ports, nil
}

// CreateRoute adds the route to a pod CIDR of a node, and the address pair to the node's port.
// Existing ones are kept. Concurrent calls are executed as one batch.
func (t *Table) CreateRoute(ctx context.Context, _, _ string, route *cloudprovider.Route) error {
	to, err := netip.ParsePrefix(route.DestinationCIDR)
	if err != nil {
		return fmt.Errorf("pod CIDR of node %s: %w", route.TargetNode, err)
	}
	through := nextHops(route.TargetNodeAddresses, to)
	if len(through) == 0 {
		return fmt.Errorf("node %s has the pod CIDR %s, but no address of its IP family that can be a next hop: it has %s",
			route.TargetNode, to, printed(route.TargetNodeAddresses))
	}
	return t.batcher.do(ctx, &operation{node: string(route.TargetNode), to: to.Masked(), through: through})
}

// DeleteRoute removes a route that ListRoutes returned, and the address pair that CreateRoute
// added. It is no error if they are gone already.
func (t *Table) DeleteRoute(ctx context.Context, _ string, route *cloudprovider.Route) error {
	h, err := parseHop(route.Name)
	if err != nil {
		return fmt.Errorf("the name of route %q was not assigned by this controller: %w", route.Name, err)
	}
	return t.batcher.do(ctx, &operation{node: string(route.TargetNode), remove: h})
}

func printed(addresses []v1.NodeAddress) string {
	texts := []string{}
	for _, address := range addresses {
		texts = append(texts, string(address.Type)+" "+address.Address)
	}
	return fmt.Sprint(texts)
}
