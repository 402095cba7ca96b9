package goal

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Finder finds and reads the load balancers of Services.
type Finder struct {
	Config  *config.Config
	Cluster Cluster
	Lookup  *lookup.Reader
	// Reader needs only its Observer for Find and Claimed.
	Reader reading.Reader
	Memory Memory
}

// Find returns the load balancers of a Service like a round that knows only the records. Named is
// the one that the Service names, "" for none. It only reads, takes no lock and does not wait.
// Found.As is always set. Errors are those of observe.Observer.Find.
func (f *Finder) Find(ctx context.Context, svc *v1.Service, named string) (observe.Found, error) {
	version, err := f.Lookup.Version(ctx)
	if err != nil {
		return observe.Found{}, err
	}
	id := f.Cluster.Identity(settings.OwnerOf(svc), version)
	found, err := f.Reader.Observer.Find(ctx, id, f.hints(svc.UID, PublishedOf(svc), named))
	if len(found.LoadBalancers) == 0 {
		found.As = id
	}
	return found, err
}

func (f *Finder) find(ctx context.Context, in Inputs, named string) (observe.Found, error) {
	return f.Reader.Observer.Find(ctx, in.ID, f.hints(in.Owner.UID, in.Published, named))
}

// Claimed reports whether a load balancer carries the identity of a Service.
func (f *Finder) Claimed(ctx context.Context, owner model.Owner) (bool, error) {
	version, err := f.Lookup.Version(ctx)
	if err != nil {
		return false, err
	}
	found, err := f.Reader.Observer.Claimed(ctx, f.Cluster.Identity(owner, version))
	return len(found) > 0, err
}

// hints returns how to find a Service's load balancer, given the one that the Service names.
func (f *Finder) hints(owner types.UID, published Published, named string) observe.Hints {
	made := f.Memory.Store.Get(owner).Made
	hints := observe.Hints{
		LoadBalancerID: named,
		Remembered:     made.LoadBalancerID,
		ServedOn:       made.ServedOn,
		Addresses:      published.addresses(),
		NamedAddresses: published.named(),
		Recorded:       published.Place,
		Place:          f.place,
	}
	if written, ok := f.Memory.record(owner); ok {
		hints.Written = written.LoadBalancerID
	}
	return hints
}

// place returns the subnets and networks in which load balancers of this cluster can be.
func (f *Finder) place(ctx context.Context) (ownership.Place, error) {
	conf := f.Config
	place := ownership.Place{Subnets: []string{conf.LoadBalancer.SubnetID}, Networks: []string{conf.LoadBalancer.NetworkID}}
	for _, class := range conf.LoadBalancerClass {
		place.Subnets, place.Networks = append(place.Subnets, class.SubnetID), append(place.Networks, class.NetworkID)
	}
	if f.Cluster.Nodes == nil {
		return place, nil
	}
	nodes, err := f.Cluster.Nodes(ctx)
	if err != nil {
		return place, fmt.Errorf("list nodes: %w", err)
	}
	var servers []string
	for _, node := range nodes {
		if server := cluster.ServerID(node.Spec.ProviderID); server != "" {
			servers = append(servers, server)
		}
	}
	subnets, err := f.Lookup.NodeSubnets(ctx, servers)
	place.Subnets = append(place.Subnets, subnets...)
	return place, err
}

// read finds and reads the load balancers of a Service, which may name one, and remembers them.
func (f *Finder) read(ctx context.Context, in Inputs, named string, scope reading.Scope, lock *async.Guard, at *reading.Search) (Observation, error) {
	found, err := f.Reader.Read(ctx, in.ID, f.hints(in.Owner.UID, in.Published, named), scope, lock, at)
	if err != nil {
		return Observation{}, err
	}
	switch {
	case found.ID == "":
	case !found.As.Sharing.Is:
		f.Memory.Store.Update(in.Owner.UID, func(e *state.Entry) { e.Made.LoadBalancerID = found.ID })
	case found.As.Sharing.Served:
		f.Memory.Store.Update(in.Owner.UID, func(e *state.Entry) { e.Made.ServedOn = found.ID })
	}
	return Observation{Observed: found.Observed, As: found.As, Knowledge: model.Knowledge{Confirmed: true}}, nil
}

// elsewhere finds remains of a Service on load balancers other than its current one, which may be
// nil.
func (f *Finder) elsewhere(ctx context.Context, in Inputs, lb *model.LoadBalancer) ([]observe.Found, error) {
	joined := lb == nil && in.Settings.LoadBalancer.Share != "" // by a process that has ended, perhaps
	if settledOn(lb, in) && !joined {
		return nil, nil
	}
	except := ""
	if lb != nil {
		except = lb.ID
	}
	hints := f.hints(in.Owner.UID, in.Published, "")
	hints.Before = slices.Concat(in.Previous, in.Entered)
	return f.Reader.Observer.Elsewhere(ctx, in.ID, hints, except)
}

// recall locks the load balancer of the last applied state, and returns the state: the previous
// holder of the lock may have changed it. Observed is nil if the load balancer must be read.
// Changes is set if the round will probably change it: then a request checks now that it is
// unchanged.
func (f *Finder) recall(ctx context.Context, in Inputs, applied *state.Applied, changes bool, lock *async.Guard) (Observation, error) {
	have := Observation{As: in.ID}
	if applied == nil {
		return have, nil
	}
	if _, err := lock.Acquire(ctx, f.Reader.Locks, applied.LoadBalancer.ID); err != nil {
		return have, err
	}
	if now := f.Memory.Store.Get(in.Owner.UID).Applied; now != nil {
		applied = now
	}
	shared := applied.LoadBalancer.Shared != nil
	have.As.Sharing.Is = shared
	if asksForSubnet := in.Settings.Members.SubnetID != ""; applied.Depth == model.Listed || applied.Depth == model.Settings && asksForSubnet {
		return have, nil
	}
	have.Knowledge = model.Knowledge{Depth: applied.Depth, Source: model.Memory}
	if changes {
		var err error
		if have.Confirmed, err = f.Reader.Unchanged(ctx, applied.LoadBalancer.ID, applied.LoadBalancer.Provider, applied.Contents.UpdatedAt); err != nil || !have.Confirmed {
			return have, err
		}
	}
	have.As = applied.Identity
	have.As.Sharing.Is = shared
	if shared && have.As.Sharing.Served {
		f.Memory.Store.Update(in.Owner.UID, func(e *state.Entry) { e.Made.ServedOn = applied.LoadBalancer.ID })
	}
	have.Observed = &model.Observed{LoadBalancer: applied.Contents.Clone()}
	return have, nil
}

// nothing returns the observation of a Service without load balancer.
func nothing(id ownership.Identity) Observation {
	return Observation{Observed: &model.Observed{}, As: id, Knowledge: model.Knowledge{Confirmed: true}}
}

// leaving returns the scope for a load balancer to be deleted; known are its known contents, nil for
// none.
func leaving(conf *config.Config, known *model.LoadBalancer) reading.Scope {
	return reading.Scope{Leaving: true, Cascade: conf.LoadBalancer.CascadeDelete, Known: known}
}
