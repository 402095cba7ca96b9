package garbage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

const (
	// atOnce is the number of load balancers, or security groups, that are removed concurrently.
	atOnce = 8
	// deletions is the maximum number of delete requests for a load balancer, or a part of one.
	deletions = 3
)

// remover removes items.
type remover struct {
	Options
	target   Target
	deadline time.Time
	// floatingIPs are the listed ones.
	floatingIPs []floatingips.FloatingIP
}

// remove removes the found items, and records the results. A failure stops only the removal of the
// load balancer of a floating IP, without which the floating IP would look like one to keep, and of
// listeners, without which the next look would not read a pool.
func (r *remover) remove(ctx context.Context, items []Item) {
	chains, groups, leading := map[string][]*Item{}, []*Item(nil), []*Item(nil)
	for i := range items {
		item := &items[i]
		of := item.onLoadBalancer()
		switch {
		case item.State != Found:
			continue
		case item.Kind == SecurityGroup:
			groups = append(groups, item)
			continue
		case item.Kind == Route:
			leading = append(leading, item)
			continue
		case of == "":
			of = item.ID
		}
		chains[of] = append(chains[of], item)
	}
	var all [][]*Item
	for _, chain := range chains {
		all = append(all, chain)
	}
	r.each(ctx, all)
	all = nil
	for _, group := range groups { // no more traffic needs them
		all = append(all, []*Item{group})
	}
	r.each(ctx, all)
	r.removeRoutes(ctx, leading)
}

// each removes chains of items concurrently, and the items of a chain in order.
func (r *remover) each(ctx context.Context, chains [][]*Item) {
	var all errgroup.Group
	all.SetLimit(atOnce)
	for _, chain := range chains {
		all.Go(func() error {
			r.chain(ctx, chain)
			return nil
		})
	}
	_ = all.Wait() // no function returns an error
}

// chain removes the items of a load balancer while it is locked, or another item.
func (r *remover) chain(ctx context.Context, items []*Item) {
	if id := items[0].onLoadBalancer(); id != "" && r.Lock != nil {
		unlock, err := r.Lock(ctx, id)
		if err != nil {
			for _, item := range items {
				item.State, item.Why = Failed, err.Error()
			}
			return
		}
		defer unlock()
	}
	var failed *Item
	for _, item := range items {
		if ctx.Err() != nil {
			item.Why = "not removed: interrupted"
			continue
		}
		if first := mustGoFirst(item, failed); first != "" {
			item.State, item.Why = Failed, fmt.Sprintf("it waits for %s, which could not be removed", first)
			continue
		}
		if err := r.one(ctx, item); err != nil {
			item.State, item.Why, failed = Failed, err.Error(), item
		} else {
			item.State = Removed
		}
		r.say(strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", item.State, item.Kind, item.ID, item.Name, item.Why)))
	}
}

// mustGoFirst returns the object that could not be removed, if the next look would not find it without the item, and ""
// if the item may be removed.
func mustGoFirst(item, failed *Item) string {
	switch {
	case failed == nil:
		return ""
	case item.Kind == LoadBalancer || item.Kind == VIP:
		return "floating IP " + failed.ID
	case item.Kind == Listener && failed.Kind == Pool:
		return "pool " + failed.ID
	default:
		return ""
	}
}

// one removes an item that is unchanged since it was listed.
func (r *remover) one(ctx context.Context, item *Item) error {
	switch item.Kind {
	case FloatingIP:
		return r.floatingIP(ctx, item)
	case SecurityGroup:
		return securitygroup.Delete(ctx, r.Neutron, item.ID)
	case VIP:
		return r.vip(ctx, item)
	default:
		return r.octavia(ctx, item)
	}
}

// floatingIP deletes a floating IP if it and its load balancer are unchanged since they were
// listed.
func (r *remover) floatingIP(ctx context.Context, item *Item) error {
	if item.LoadBalancer != "" {
		on, _, err := r.look(ctx, &Item{Kind: item.on, ID: item.LoadBalancer}, true)
		if err != nil {
			return err
		}
		if on != nil && on.State != Found {
			return r.changed(on.Why)
		}
	}
	now, err := r.Neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{IDs: []string{item.ID}})
	if err != nil {
		return err
	}
	for _, fip := range now {
		if fip.ID == item.ID && (fip.PortID != item.portID || fip.Description != item.description || neutron.Forwards(fip) != item.forwards) {
			return r.changed("")
		}
	}
	if item.forwards {
		if err := r.forwardedOnlyByOwner(ctx, item); err != nil {
			return err
		}
	}
	return r.Neutron.DeleteFloatingIP(ctx, item.ID)
}

// forwardedOnlyByOwner returns an error if a floating IP has port forwardings of another owner than its own, as one that
// a Service kept and a person uses now.
func (r *remover) forwardedOnlyByOwner(ctx context.Context, item *Item) error {
	all, err := r.Neutron.Forwardings(ctx, item.ID)
	_, uids := ownership.CutProof(item.description)
	for _, f := range all {
		owned := func(uid string) bool { return ownership.Identity{ServiceUID: uid}.ProvenBy(f.Description) }
		if !slices.ContainsFunc(uids, owned) {
			return errors.New("it is not removed, as it has port forwardings of another owner")
		}
	}
	return apierror.IgnoreNotFound(err)
}

// octavia deletes a load balancer with all its parts, or a part of one, and waits until it is gone.
// It reads the load balancer before, because others may have started to use it, and waits while it
// is PENDING.
func (r *remover) octavia(ctx context.Context, item *Item) error {
	for asked := 0; ; {
		now, status, err := r.look(ctx, item, false)
		switch {
		case err != nil:
			return err
		case now == nil:
			return nil
		case now.State != Found:
			return r.changed(now.Why)
		case status != model.StatusActive && status != model.StatusError: // PENDING
		case status == model.StatusError && item.Kind != LoadBalancer:
			return fmt.Errorf("load balancer %s is in ERROR: Octavia deletes no part of it, only all of it", item.LoadBalancer)
		case asked == deletions:
			return fmt.Errorf("it still exists after %[2]d delete requests, and its load balancer is %[1]s", status, asked)
		default:
			if err = r.delete(ctx, item); err == nil || apierror.IsUnsure(err) {
				asked++
			} else if !apierror.IsLocked(err) {
				return err
			}
		}
		if err := r.wait(ctx, status); err != nil {
			return err
		}
	}
}

func (r *remover) delete(ctx context.Context, item *Item) error {
	switch item.Kind {
	case Listener:
		return r.Octavia.DeleteListener(ctx, item.ID)
	case Pool:
		return r.Octavia.DeletePool(ctx, item.ID)
	default:
		return r.Octavia.DeleteLoadBalancer(ctx, item.ID, true)
	}
}

// look lists the objects on the load balancer of an item again, and returns the item as List does
// now: nil if it is gone. While the load balancer is PENDING it returns the item itself, unless
// pending is set. It also returns the provisioning status.
func (r *remover) look(ctx context.Context, item *Item, pending bool) (*Item, string, error) {
	if item.Kind == VIP {
		now, err := r.lookVIP(ctx, item.ID)
		return now, model.StatusActive, err
	}
	id := item.onLoadBalancer()
	lb, err := r.Octavia.LoadBalancer(ctx, id)
	switch {
	case apierror.IsNotFound(err):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	case lb.ProvisioningStatus == model.StatusDeleted:
		return nil, "", nil
	case !pending && lb.ProvisioningStatus != model.StatusActive && lb.ProvisioningStatus != model.StatusError:
		return item, lb.ProvisioningStatus, nil
	}
	inventory := Inventory{LoadBalancers: []octavia.LoadBalancer{*lb}, FloatingIPs: r.floatingIPs}
	if inventory.Listeners, err = r.Octavia.Listeners(ctx, id); err != nil {
		return nil, "", err
	}
	if inventory.Pools, err = r.Octavia.PoolOwners(ctx, id); err != nil {
		return nil, "", err
	}
	query, err := r.queryNow(ctx)
	if err != nil {
		return nil, "", err
	}
	l := newLister(inventory, query, r.target)
	l.loadBalancer(*lb, inventory.parts()[id])
	for i := range l.items {
		if l.items[i].Kind == item.Kind && l.items[i].ID == item.ID {
			return &l.items[i], lb.ProvisioningStatus, nil
		}
	}
	there := func(p part) bool { return p.kind == item.Kind && p.id == item.ID }
	if item.Kind != LoadBalancer && !slices.ContainsFunc(inventory.parts()[id], there) {
		return nil, "", nil
	}
	return &Item{State: LeftAlone}, lb.ProvisioningStatus, nil
}

// queryNow returns the query with the present Services of a live cluster.
func (r *remover) queryNow(ctx context.Context) (query Query, err error) {
	query = r.Query
	if r.Living != nil {
		query.Services, err = r.Living(ctx)
	}
	return query, err
}

// wait waits for the next look.
func (r *remover) wait(ctx context.Context, status string) error {
	if !r.Clock.Now().Before(r.deadline) {
		return fmt.Errorf("its load balancer is still %s after %v: %s", status, r.Timeout, r.advice())
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.Clock.After(r.Poll):
		return nil
	}
}

// advice returns the advice for an object that is left for now.
func (r *remover) advice() string {
	if r.Living != nil {
		return "the next look decides"
	}
	return "run the command again"
}

// changed returns an error that an object has changed since it was listed.
func (r *remover) changed(why string) error {
	text := "it is not removed, as it was changed since it was listed: " + r.advice()
	if why != "" {
		text += " (" + why + ")"
	}
	return errors.New(text)
}
