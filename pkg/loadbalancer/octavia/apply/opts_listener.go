package apply

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// listenerOpts omits limits that are not requested: the cloud's operator has chosen them.
func listenerOpts(l model.Listener) octavia.Listener {
	var mark string
	if l.Limits.Any() {
		mark = l.Limits.Mark()
	}
	return octavia.Listener{
		Name:                 l.Name,
		Description:          mark,
		Protocol:             string(l.Protocol),
		Port:                 l.Port,
		Tags:                 l.Tags,
		AllowedCIDRs:         l.AllowedCIDRs,
		ConnectionLimit:      asked(l.Limits.ConnectionLimit),
		TimeoutClientData:    asked(l.Limits.TimeoutClientData),
		TimeoutMemberConnect: asked(l.Limits.TimeoutMemberConnect),
		TimeoutMemberData:    asked(l.Limits.TimeoutMemberData),
		TimeoutTCPInspect:    asked(l.Limits.TimeoutTCPInspect),
		InsertHeaders:        headers(l.InsertHeaders),
		TLSContainerRef:      l.TLSContainerRef,
	}
}

func asked(limit model.Limit) *int {
	if !limit.Asked {
		return nil
	}
	return &limit.Value
}

// headers returns headers in Octavia's form.
func headers(names []string) map[string]string {
	wanted := make(map[string]string, len(names))
	for _, name := range names {
		wanted[name] = "true"
	}
	return wanted
}

// listenerUpdate returns the settings that differ, without the pool; none, if the update only
// repairs the listener. Limits that are no longer requested are reset to those of the cloud's
// operator; the description records the requested ones.
func listenerUpdate(s plan.UpdateListener) octavia.Changes {
	from, to, changes := s.From, s.To, octavia.Changes{}
	switched(changes, from.AdminDown, to.AdminDown)
	if !slices.Equal(from.AllowedCIDRs, to.AllowedCIDRs) {
		changes["allowed_cidrs"] = append([]string{}, to.AllowedCIDRs...) // not null: an empty list allows all clients
	}
	if !slices.Equal(from.InsertHeaders, to.InsertHeaders) {
		changes["insert_headers"] = headers(to.InsertHeaders) // null would keep them
	}
	if from.TLSContainerRef != to.TLSContainerRef {
		changes["default_tls_container_ref"] = to.TLSContainerRef
	}
	for _, limit := range model.LimitChanges(from.Limits, to.Limits) {
		changes[limit.Name] = asked(limit.To)
		changes["description"] = to.Limits.Mark()
	}
	return changes
}
