package securitygroup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// portsAtOnce is the number of ports of one Service that are changed concurrently.
const portsAtOnce = 8

func (g *Groups) changePorts(ctx context.Context, t *Task, which []NodePort, member bool) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(portsAtOnce)
	for _, port := range which {
		group.Go(func() error {
			there, err := g.changePort(ctx, port.ID, nil, t.state.GroupID, member, t.current)
			if err != nil {
				return err
			}
			if member {
				g.shared.use(t.state.GroupID, port.ID, there)
			}
			mu.Lock()
			defer mu.Unlock()
			t.state.Ports = with(t.state.Ports, port.ID, member && there)
			return nil
		})
	}
	return group.Wait()
}

// takeOff removes a group from ports that were just read.
func (g *Groups) takeOff(ctx context.Context, groupID string, using []neutron.Port) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(portsAtOnce)
	for _, port := range using {
		group.Go(func() error {
			_, err := g.changePort(ctx, port.ID, &port, groupID, false, nil)
			return err
		})
	}
	return group.Wait()
}

// changePort adds a group to a port or removes it, and keeps every other group of the port: it
// writes the complete list, but only if the port is unchanged since it was read. It returns false
// if the port does not exist. The shared group is kept on the port if current returns false: see
// Request.NodesCurrent.
func (g *Groups) changePort(ctx context.Context, portID string, read *neutron.Port, groupID string, member bool, current func() bool) (there bool, err error) {
	unlock, err := g.ports.LockInPlace(ctx, portID)
	if err != nil {
		return false, err
	}
	defer unlock()
	if g.shared.is(groupID) {
		if g.shared.has(groupID, portID) == member || !member && !g.shared.leave(groupID, portID, current) {
			return true, nil // another Service was faster
		}
	}
	if known, ok := g.facts.KnownPort(portID); ok && read == nil && known.UsesGroup(groupID) != member {
		read = &known
	}
	if read != nil && read.Revision == nil {
		read = nil // Neutron would not refuse an outdated list
	}
	const tries = 5
	for try := 1; ; try++ {
		if read == nil {
			if read, err = g.readPort(ctx, portID, groupID, member); read == nil || err != nil {
				return false, err
			}
		}
		if read.UsesGroup(groupID) == member {
			g.facts.KeepPort(*read)
			return true, nil
		}
		if read.SecurityGroups == nil {
			return false, fmt.Errorf("the network service does not report the security groups of port %s", portID)
		}
		changed, err := g.neutron.SetPortGroups(ctx, *read, list(read.SecurityGroups, groupID, member))
		switch {
		case err == nil:
			g.facts.KeepPort(*changed)
			return true, nil
		case outdated(err, groupID) && try < tries:
			read = nil
		case apierror.NeutronType(err) == "PortNotFound":
			return false, nil
		default:
			return false, err
		}
	}
}

// outdated reports whether a port has changed since it was read. Neutron looks for the groups of a request before it compares
// revisions: 404 for another group than the one that is added shows that this group was taken off the port and deleted.
func outdated(err error, groupID string) bool {
	return apierror.IsStale(err) || apierror.IsUnknownGroup(err) && !strings.Contains(apierror.Message(err), groupID)
}

// readPort returns a port with its server, nil if it does not exist. For a port that must leave the
// group, a 404 counts only if the list of the group's ports lacks it too, because it would not be
// read again.
func (g *Groups) readPort(ctx context.Context, portID, groupID string, member bool) (*neutron.Port, error) {
	port, err := g.neutron.Port(ctx, portID)
	if err == nil || !apierror.IsNotFound(err) {
		return port, err
	}
	if member {
		return nil, nil
	}
	using, err := g.neutron.PortsInGroup(ctx, groupID)
	i := slices.IndexFunc(using, func(p neutron.Port) bool { return p.ID == portID })
	if err != nil || i < 0 {
		return nil, err
	}
	return &using[i], nil
}

// list returns the groups of a port with one more, or one less.
func list(groups []string, groupID string, member bool) []string {
	others := slices.DeleteFunc(slices.Clone(groups), func(id string) bool { return id == groupID })
	if member {
		return append(others, groupID)
	}
	return others
}
