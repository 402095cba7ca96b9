package garbage

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Nova is the part of the compute service that this package uses.
type Nova interface {
	Servers(ctx context.Context) ([]nova.Server, error)
}

// activeServer is the status of a running server.
const activeServer = "ACTIVE"

// heed leaves all objects alone if the cluster still runs: its controller would create the removed
// objects again, with other addresses. A cluster runs if a member of one of its load balancers, a next hop to
// one of its VIPs, or a target of its port forwardings has the address of an ACTIVE server.
func heed(ctx context.Context, o Options, items []Item) error {
	checked := func(i Item) bool { return i.State == Found && (o.Octavia != nil || i.Kind == VIP || i.forwards) }
	if o.Nova == nil || !slices.ContainsFunc(items, checked) {
		return nil
	}
	running, err := runningMember(ctx, o, items)
	if err != nil || running == "" {
		return err
	}
	for i := range items {
		if items[i].State == Found {
			items[i].State, items[i].Unclear, items[i].Why = LeftAlone, true, "the cluster still runs: "+running
		}
	}
	return nil
}

// runningMember describes a member of one of the cluster's load balancers, a next hop to one of its VIPs, or a target of
// its port forwardings, that is a running server; "" if there is none.
func runningMember(ctx context.Context, o Options, items []Item) (string, error) {
	o.say("Reading the servers of the project")
	servers, err := o.Nova.Servers(ctx)
	if err != nil {
		return "", fmt.Errorf("find out whether servers of the cluster still run (--force does not look): %w", err)
	}
	byAddress := map[netip.Addr]nova.Server{}
	for _, server := range servers {
		for _, address := range server.Addresses {
			if at, err := netip.ParseAddr(address.Address); err == nil && server.Status == activeServer {
				byAddress[at.Unmap()] = server
			}
		}
	}
	if len(byAddress) == 0 {
		return "", nil
	}
	o.say("Reading the members of the load balancers")
	members := make([][]octavia.MemberStatus, len(items))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(atOnce)
	for i, item := range items {
		if item.State == Found && (item.Kind == LoadBalancer || item.Kind == VIP || item.forwards) {
			reads.Go(func() (err error) {
				members[i], err = o.membersOf(ctx, item)
				return err
			})
		}
	}
	if err := reads.Wait(); err != nil {
		return "", err
	}
	for i, of := range members {
		for _, member := range of {
			at, err := netip.ParseAddr(member.Address)
			if server, runs := byAddress[at.Unmap()]; err == nil && runs {
				return fmt.Sprintf("member %s (%s) of %s is server %s (%s), which is ACTIVE; delete the cluster's servers first, or use --force",
					strings.TrimSpace(member.Name), member.Address, items[i].thing(), server.ID, server.Name), nil
			}
		}
	}
	return "", nil
}

// thing returns the name of a load balancer, VIP or floating IP for a message.
func (i Item) thing() string {
	if i.Kind == VIP {
		return "VIP " + i.Name
	}
	if i.Kind == FloatingIP {
		return "floating IP " + i.Name
	}
	return "load balancer " + i.ID
}

// membersOf reads the members of a load balancer, the next hops to a VIP, or the targets of port forwardings.
func (o Options) membersOf(ctx context.Context, item Item) (all []octavia.MemberStatus, err error) {
	if item.forwards {
		forwardings, err := o.Neutron.Forwardings(ctx, item.ID)
		for _, f := range forwardings {
			all = append(all, octavia.MemberStatus{NodeStatus: octavia.NodeStatus{Name: "target"}, Address: f.InternalIPAddress})
		}
		return all, apierror.IgnoreNotFound(err)
	}
	if item.Kind == VIP {
		leading, err := routesTo(ctx, o.Neutron, item.vip)
		for _, of := range leading {
			for _, route := range of {
				all = append(all, octavia.MemberStatus{NodeStatus: octavia.NodeStatus{Name: "next hop"}, Address: route.NextHop})
			}
		}
		return all, err
	}
	tree, err := o.Octavia.StatusTree(ctx, item.ID)
	return membersOf(tree), apierror.IgnoreNotFound(err)
}

func membersOf(tree *octavia.StatusTree) (all []octavia.MemberStatus) {
	if tree == nil {
		return nil
	}
	for _, listener := range tree.Listeners {
		for _, pool := range listener.Pools {
			all = append(all, pool.Members...)
		}
	}
	return all
}
