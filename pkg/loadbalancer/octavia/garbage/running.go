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
// objects again, with other addresses. A cluster runs if a member of one of its load balancers has
// the address of an ACTIVE server.
func heed(ctx context.Context, o Options, items []Item) error {
	if o.Nova == nil || o.Octavia == nil || !slices.ContainsFunc(items, func(i Item) bool { return i.State == Found }) {
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

// runningMember describes a member of one of the cluster's load balancers that is a running server;
// "" if there is none.
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
	trees := make([]*octavia.StatusTree, len(items))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(atOnce)
	for i, item := range items {
		if item.Kind != LoadBalancer || item.State != Found {
			continue
		}
		reads.Go(func() (err error) {
			trees[i], err = o.Octavia.StatusTree(ctx, item.ID)
			return apierror.IgnoreNotFound(err)
		})
	}
	if err := reads.Wait(); err != nil {
		return "", err
	}
	for i, tree := range trees {
		for _, member := range membersOf(tree) {
			at, err := netip.ParseAddr(member.Address)
			if server, runs := byAddress[at.Unmap()]; err == nil && runs {
				return fmt.Sprintf("member %s (%s) of load balancer %s is server %s (%s), which is ACTIVE; delete the cluster's servers first, or use --force",
					strings.TrimSpace(member.Name), member.Address, items[i].ID, server.ID, server.Name), nil
			}
		}
	}
	return "", nil
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
