package securitygroup

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Delete removes a security group from all ports, and deletes it with its rules. It uses only the
// cloud, and keeps all other groups of the ports.
func Delete(ctx context.Context, neutronAPI Neutron, id string) error {
	ports := portGroups{neutron: neutronAPI, facts: noFacts{}, shared: &sharedGroup{}}
	return ports.deleteGroup(ctx, id)
}

// deleteGroup removes a group from all ports, including those of other clients, and deletes it.
func (p *portGroups) deleteGroup(ctx context.Context, id string) error {
	const tries = 3
	for try := 1; ; try++ {
		using, err := p.neutron.PortsInGroup(ctx, id)
		if err != nil {
			return err
		}
		if err := p.takeOff(ctx, id, using); err != nil {
			return err
		}
		err = p.neutron.DeleteSecurityGroup(ctx, id)
		if !apierror.IsInUse(err) || try == tries {
			return err
		}
	}
}

// noFacts caches no ports. A deletion needs no other facts.
type noFacts struct{ Facts }

// KnownPort implements Facts.
func (noFacts) KnownPort(string) (neutron.Port, bool) { return neutron.Port{}, false }

// KeepPort implements Facts.
func (noFacts) KeepPort(neutron.Port) {}
