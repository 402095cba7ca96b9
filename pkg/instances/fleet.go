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

// Region is a region that has servers of nodes.
type Region struct {
	Name    string
	Servers Servers
	// Subports of trunks, whose addresses a node has as well; nil: not looked for.
	Subports Subports
}

const (
	// roundAge is how long a round can last, and its list be believed.
	roundAge = 30 * time.Second
	// fewNodes are asked about one by one, and more of them as long as the region has
	// serversPerGet times as many servers: a list of so many costs Nova about as much as a
	// request for one.
	fewNodes, serversPerGet = 10, 50
)

// fleet reads the servers of a Region. Two controllers ask about many nodes in turn, again and
// again: the node lifecycle controller about each that is not ready, and the node controller
// about each that it has initialized. Such a round costs a list of all servers where there are
// many of these nodes. The list only shows what is there: a server that it lacks is asked for on
// its own, because only Nova's 404 for its ID is proof.
type fleet struct {
	Region
	clock clock.PassiveClock

	mu sync.Mutex
	// monitored is the round of the node lifecycle controller, described that of the node
	// controller.
	monitored, described round
	// size is the number of servers in the last list.
	size int
}

// round is what a controller has asked for since it began with its nodes.
type round struct {
	begun time.Time
	// asked are the servers that were asked for, and listed has the list of all.
	asked  map[string]bool
	listed *cache[listing]
	// many is whether it has so many nodes to ask about that a list is worthwhile.
	many bool
}

// listing are the servers of a region by ID, or why they could not be listed, which holds for
// the round: each further attempt of it would only take as long.
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

// get returns a server, from the list of the round if there is one. notReady counts the nodes
// that are not ready.
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
	if errors.Is(err, nova.ErrServerNotFound) { // perhaps from one of several API servers only
		server, err = r.Servers.GetServer(ctx, id)
	}
	return server, err
}

// describe returns a server from the list of the round, nil if it has to be asked for on its own:
// there are few nodes, it is not in the list, or whoever may read servers may not list them.
// initialized counts the nodes that the node controller has initialized.
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

// shown returns a server of a list of which the list says enough.
func shown(servers map[string]*nova.Server, id string) *nova.Server {
	if server := servers[id]; server != nil && server.Status != nova.ServerUnknown && !gone(server) {
		return server
	}
	return nil
}

// begin reports whether the round has so many nodes to ask about that a list is worthwhile.
// Who asks for a server again begins another round.
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

// list returns the servers of the region by ID, as the round has them.
func (r *fleet) list(ctx context.Context, current *round) (map[string]*nova.Server, error) {
	r.mu.Lock()
	listed := current.listed
	r.mu.Unlock()
	found, err := listed.get(ctx, "", func(ctx context.Context) (listing, error) {
		servers, err := r.Servers.Servers(ctx)
		if ctx.Err() != nil { // whoever asked has left, which says nothing about Nova
			return listing{}, ctx.Err()
		}
		if err != nil {
			return listing{err: err}, nil //nolint:nilerr // the failure is what is kept
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

// regionsOf returns the regions that a node may be in, given the one that its provider ID
// names, which may be "". Its label counts where the cluster may be in several regions, and
// none without either is left out. The error is for a node of a region that is none of ours.
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
	says := fmt.Sprintf("its label %s is %q", v1.LabelTopologyRegion, labeled)
	if named != "" && (labeled == "" || labeled == labelValue(named)) {
		says = fmt.Sprintf("provider ID %q is of region %q", node.Spec.ProviderID, named)
	}
	return nil, fmt.Errorf("node %s: %s, and this cloud-controller-manager serves region %s", node.Name, says, i.served())
}

// served names the regions for an error.
func (i *Instances) served() string {
	var names []string
	for _, r := range i.regions {
		names = append(names, strconv.Quote(r.Name))
	}
	return strings.Join(names, ", ")
}
