package securitygroup

import (
	"context"
	"fmt"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// openToAll returns an error for source ranges that another group on the ports of the members makes
// ineffective, because the rules of all groups of a port are combined.
func openToAll(ctx context.Context, neutronAPI Neutron, t *Task) error {
	var ids []string
	for id, member := range t.beside {
		if member && id != t.state.GroupID && !slices.Contains(t.state.Obsolete, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	groups, err := neutronAPI.SecurityGroups(ctx, ids)
	if err != nil {
		return err
	}
	for _, group := range groups {
		for _, r := range group.Rules {
			for _, own := range t.desired.Own {
				if letsEverybodyIn(r, own) {
					return &UnenforcedError{why: fmt.Sprintf("security group %s (%s), which is on their ports too, lets everybody reach %s",
						group.Name, group.ID, own.Opening)}
				}
			}
		}
	}
	return nil
}

// letsEverybodyIn reports whether a rule admits all clients to a port for which our rule admits
// some.
func letsEverybodyIn(r neutron.SecurityGroupRule, own Rule) bool {
	prefix, ok := canonicalPrefix(r)
	if r.Direction != "ingress" || r.EtherType != own.EtherType() || r.RemoteGroupID != "" || r.RemoteAddressGroupID != "" ||
		!ok || prefix != everybody(own.EtherType() == "IPv6") {
		return false
	}
	protocol, known := protocolName(r.Protocol)
	if r.Protocol != "" && (!known || protocol != own.Protocol) {
		return false
	}
	return (r.PortRangeMin == nil || *r.PortRangeMin <= own.Port) && (r.PortRangeMax == nil || *r.PortRangeMax >= own.Port)
}
