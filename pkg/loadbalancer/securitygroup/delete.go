package securitygroup

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Delete removes a security group from all ports, and deletes it with its rules. It uses only the
// cloud, and keeps all other groups of the ports.
func Delete(ctx context.Context, neutronAPI Neutron, id string) error {
	return New(neutronAPI, noFacts{}, nil, nil, "").deleteGroup(ctx, id)
}

// noFacts caches no ports. A deletion needs no other facts.
type noFacts struct{ Facts }

// KnownPort implements Facts.
func (noFacts) KnownPort(string) (neutron.Port, bool) { return neutron.Port{}, false }

// KeepPort implements Facts.
func (noFacts) KeepPort(neutron.Port) {}
