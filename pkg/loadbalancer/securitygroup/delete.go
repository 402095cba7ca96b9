package securitygroup

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Delete takes a security group off all ports, and deletes it with its rules. It needs
// nothing but the cloud, and leaves every other group of the ports as it is.
func Delete(ctx context.Context, neutronAPI Neutron, id string) error {
	return New(neutronAPI, noFacts{}, nil, nil, "").deleteGroup(ctx, id)
}

// noFacts knows no port. Nothing else is asked of it where a group is deleted.
type noFacts struct{ Facts }

// KnownPort implements Facts.
func (noFacts) KnownPort(string) (neutron.Port, bool) { return neutron.Port{}, false }

// KeepPort implements Facts.
func (noFacts) KeepPort(neutron.Port) {}
