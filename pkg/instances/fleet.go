package instances

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
)

// Region is a region with servers of nodes.
type Region struct {
	Name    string
	Servers Servers
	// Subports reads the trunk subports, which are addresses of nodes too; nil if they are not
	// used.
	Subports Subports
}

const (
	// roundAge is the maximum duration of a round, and the maximum age of its list.
	roundAge = 30 * time.Second
	// fewNodes is the number of nodes up to which servers are read one by one. More nodes are also
	// read one by one while the region has at least serversPerGet servers for each of them: such a
	// list costs Nova about as much as one request per node.
	fewNodes, serversPerGet = 10, 50
)

// fleet reads the servers of a Region. Two controllers iterate over many nodes periodically: the
// node lifecycle controller over those that are not ready, the node controller over those that it
// has initialized. If there are many of them, one list of all servers serves such a round. The list
// proves only that a server exists: a server that is not in the list is read individually, because
// only Nova's 404 for its ID is proof.
type fleet struct {
	Region
	clock clock.PassiveClock

	mu sync.Mutex
	// monitored is the round of the node lifecycle controller, described the round of the node
	// controller.
	monitored, described round
	// size is the number of servers in the last list.
	size int
}

// round records the requests of a controller since it started to iterate over its nodes.
type round struct {
	begun time.Time
	// asked holds the servers requested in this round; listed caches the list of all servers
	asked  map[string]bool
	listed *cache[listing]
	// many reports whether the round has enough nodes for a list.
	many bool
}

// listing holds the servers of a region by ID, or the error of the list. The error is kept for the
// round, since each retry would take as long.
type listing struct {
	servers map[string]*nova.Server
	err     error
}

func newFleet(from Region, clock clock.PassiveClock) *fleet {
	r := &fleet{Region: from, clock: clock}
	r.monitored.listed, r.described.listed = r.newList(), r.newList()
	return r
}

func (r *fleet) newList() *cache[listing] { return newCache[listing]("servers", r.clock, roundAge) }

// get returns a server, from the list of the round if there is one. notReady returns the number of
// nodes that are not ready.
func (r *fleet) get(ctx context.Context, id string, notReady func() int) (*nova.Server, error) {
	if r.begin(&r.monitored, id, notReady) {
		servers, err := r.list(ctx, &r.monitored)
		if err != nil {
			return nil, err
		}
		if server := shown(servers, id); server != nil {
			return server, nil
		}
		return r.Servers.GetServer(ctx, id)
	}
	server, err := r.Servers.GetServer(ctx, id)
	if errors.Is(err, nova.ErrServerNotFound) { // one of several API servers may have answered wrongly
		server, err = r.Servers.GetServer(ctx, id)
	}
	return server, err
}

// describe returns a server from the list of the round. It returns nil if the server must be read
// individually: there are few nodes, it is not in the list, or listing is forbidden. initialized
// returns the number of nodes that the node controller has initialized.
func (r *fleet) describe(ctx context.Context, id string, initialized func() int) *nova.Server {
	if !r.begin(&r.described, id, initialized) {
		return nil
	}
	servers, err := r.list(ctx, &r.described)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot list servers, asking for each", "region", r.Name, "err", err)
		return nil
	}
	return shown(servers, id)
}

// shown returns a server of a list if the list contains enough of it, else nil.
func shown(servers map[string]*nova.Server, id string) *nova.Server {
	if server := servers[id]; server != nil && server.Status != nova.ServerUnknown && !gone(server) {
		return server
	}
	return nil
}

// begin reports whether the round has enough nodes for a list. A second request for the same server
// starts a new round.
func (r *fleet) begin(current *round, id string, nodes func() int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if current.asked == nil || current.asked[id] || !now.Before(current.begun.Add(roundAge)) {
		count := nodes()
		*current = round{
			begun: now, asked: map[string]bool{}, listed: r.newList(),
			many: count > fewNodes && count*serversPerGet > r.size,
		}
	}
	current.asked[id] = true
	return current.many
}

// list returns the servers of the region by ID, from the round's list.
func (r *fleet) list(ctx context.Context, current *round) (map[string]*nova.Server, error) {
	r.mu.Lock()
	listed := current.listed
	r.mu.Unlock()
	found, err := listed.get(ctx, "", func(ctx context.Context) (listing, error) {
		servers, err := r.Servers.Servers(ctx)
		if ctx.Err() != nil { // the caller has gone, which proves nothing about Nova
			return listing{}, ctx.Err()
		}
		if err != nil {
			return listing{err: err}, nil //nolint:nilerr // the listing keeps the error
		}
		byID := make(map[string]*nova.Server, len(servers))
		for n := range servers {
			byID[servers[n].ID] = &servers[n]
		}
		r.mu.Lock()
		r.size = len(servers)
		r.mu.Unlock()
		return listing{servers: byID}, nil
	})
	return found.servers, errors.Join(err, found.err)
}

// regionsOf returns the regions that a node may be in. named is the region in its provider ID, or
// "". If the cluster may span several regions, the region label counts too; without either, the
// node may be in any of them. The error is for a node of a region that this process does not serve.
func (i *Instances) regionsOf(node *v1.Node, named string) ([]*fleet, error) {
	labeled := node.Labels[v1.LabelTopologyRegion]
	if !i.regional {
		labeled = ""
	}
	var found []*fleet
	for _, r := range i.regions {
		if (named == "" || named == r.Name) && (labeled == "" || labeled == labelValue(r.Name)) {
			found = append(found, r)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	why := fmt.Sprintf("its label %s is %q", v1.LabelTopologyRegion, labeled)
	if named != "" && (labeled == "" || labeled == labelValue(named)) {
		why = fmt.Sprintf("provider ID %q is of region %q", node.Spec.ProviderID, named)
	}
	return nil, fmt.Errorf("node %s: %s, and this cloud-controller-manager serves region %s", node.Name, why, i.served())
}

// served returns the names of the regions, for errors.
func (i *Instances) served() string {
	var names []string
	for _, r := range i.regions {
		names = append(names, strconv.Quote(r.Name))
	}
	return strings.Join(names, ", ")
}
