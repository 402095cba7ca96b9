package securitygroup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// portsAtOnce is the number of ports of one Service that are changed concurrently.
const portsAtOnce = 8

// portGroups changes the groups of ports. It is safe for concurrent use.
type portGroups struct {
	neutron Neutron
	facts   Facts
	shared  *sharedGroup
	// locks serializes the changes of a port, by its ID, because rounds are concurrent. They are held during
	// requests, so that a wait must end with its context.
	locks async.Locks
}

// takeOff removes a group from ports that were just read.
func (p *portGroups) takeOff(ctx context.Context, groupID string, using []neutron.Port) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(portsAtOnce)
	for _, port := range using {
		group.Go(func() error {
			_, err := p.change(ctx, port.ID, &port, groupID, false, nil)
			return err
		})
	}
	return group.Wait()
}

// change adds a group to a port or removes it, and keeps every other group of the port: it
// writes the complete list, but only if the port is unchanged since it was read. It returns false
// if the port does not exist. The shared group is kept on the port if current returns false: see
// Request.NodesCurrent.
func (p *portGroups) change(ctx context.Context, portID string, read *neutron.Port, groupID string, member bool, current func() bool) (there bool, err error) {
	unlock, err := p.locks.LockInPlace(ctx, portID)
	if err != nil {
		return false, err
	}
	defer unlock()
	if p.shared.is(groupID) {
		if p.shared.has(groupID, portID) == member || !member && !p.shared.leave(groupID, portID, current) {
			return true, nil // another Service was faster
		}
	}
	if known, ok := p.facts.KnownPort(portID); ok && read == nil && known.UsesGroup(groupID) != member {
		read = &known
	}
	if read != nil && read.Revision == nil {
		read = nil // Neutron would not refuse an outdated list
	}
	const tries = 5
	for try := 1; ; try++ {
		if read == nil {
			if read, err = p.read(ctx, portID, groupID, member); read == nil || err != nil {
				return false, err
			}
		}
		if read.UsesGroup(groupID) == member {
			p.facts.KeepPort(*read)
			return true, nil
		}
		if read.SecurityGroups == nil {
			return false, fmt.Errorf("the network service does not report the security groups of port %s", portID)
		}
		changed, err := p.neutron.SetPortGroups(ctx, *read, list(read.SecurityGroups, groupID, member))
		switch {
		case err == nil:
			p.facts.KeepPort(*changed)
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

// read returns a port with its server, nil if it does not exist. For a port that must leave the
// group, a 404 counts only if the list of the group's ports lacks it too, because it would not be
// read again.
func (p *portGroups) read(ctx context.Context, portID, groupID string, member bool) (*neutron.Port, error) {
	port, err := p.neutron.Port(ctx, portID)
	if err == nil || !apierror.IsNotFound(err) {
		return port, err
	}
	if member {
		return nil, nil
	}
	using, err := p.neutron.PortsInGroup(ctx, groupID)
	i := slices.IndexFunc(using, func(port neutron.Port) bool { return port.ID == portID })
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

// portsUsing returns the IDs of the ports that use a group, sorted. It caches their state.
func portsUsing(ctx context.Context, neutronAPI Neutron, facts Facts, groupID string) ([]string, error) {
	ports, err := neutronAPI.PortsInGroup(ctx, groupID)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(ports))
	for _, port := range ports {
		facts.KeepPort(port)
		ids = append(ids, port.ID)
	}
	slices.Sort(ids)
	return ids, nil
}
