package apply

import (
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// listenerOpts omits limits that are not requested: the cloud's operator has chosen them.
func listenerOpts(l model.Listener) listeners.CreateOpts {
	var mark string
	if l.Limits.Any() {
		mark = l.Limits.Mark()
	}
	return listeners.CreateOpts{
		Name:                   l.Name,
		Description:            mark,
		Protocol:               listeners.Protocol(l.Protocol),
		ProtocolPort:           l.Port,
		Tags:                   l.Tags,
		AllowedCIDRs:           l.AllowedCIDRs,
		ConnLimit:              asked(l.Limits.ConnectionLimit),
		TimeoutClientData:      asked(l.Limits.TimeoutClientData),
		TimeoutMemberConnect:   asked(l.Limits.TimeoutMemberConnect),
		TimeoutMemberData:      asked(l.Limits.TimeoutMemberData),
		TimeoutTCPInspect:      asked(l.Limits.TimeoutTCPInspect),
		InsertHeaders:          headers(l.InsertHeaders),
		DefaultTlsContainerRef: l.TLSContainerRef,
	}
}

func asked(limit model.Limit) *int {
	if !limit.Asked {
		return nil
	}
	return &limit.Value
}

// headers returns headers in Octavia's form; nil for none.
func headers(names []string) map[string]string {
	if len(names) == 0 {
		return nil
	}
	wanted := make(map[string]string, len(names))
	for _, name := range names {
		wanted[name] = "true"
	}
	return wanted
}

// listenerUpdate returns the settings that differ, without the pool; none, if the update only
// repairs the listener.
func listenerUpdate(s plan.UpdateListener) octavia.ListenerUpdate {
	var opts octavia.ListenerUpdate
	from, to := s.From, s.To
	opts.AdminStateUp = switched(from.AdminDown, to.AdminDown)
	if !slices.Equal(from.AllowedCIDRs, to.AllowedCIDRs) {
		cidrs := append([]string{}, to.AllowedCIDRs...) // not null: an empty list allows all clients
		opts.AllowedCIDRs = &cidrs
	}
	if !slices.Equal(from.InsertHeaders, to.InsertHeaders) {
		wanted := headers(to.InsertHeaders)
		if wanted == nil {
			wanted = map[string]string{} // null would keep them
		}
		opts.InsertHeaders = &wanted
	}
	if from.TLSContainerRef != to.TLSContainerRef {
		opts.DefaultTlsContainerRef = &to.TLSContainerRef
	}
	limits(&opts, from.Limits, to.Limits)
	return opts
}

// limits adds the limits that differ, and the mark that records the requested ones. Limits that are
// no longer requested are reset to those of the cloud's operator.
func limits(opts *octavia.ListenerUpdate, from, to model.Limits) {
	changes := model.LimitChanges(from, to)
	at := map[string]**int{
		model.ConnectionLimit:      &opts.ConnLimit,
		model.TimeoutClientData:    &opts.TimeoutClientData,
		model.TimeoutMemberConnect: &opts.TimeoutMemberConnect,
		model.TimeoutMemberData:    &opts.TimeoutMemberData,
		model.TimeoutTCPInspect:    &opts.TimeoutTCPInspect,
	}
	for _, change := range changes {
		if change.To.Asked {
			*at[change.Name] = &change.To.Value
		} else {
			opts.Reset = append(opts.Reset, change.Name)
		}
	}
	if len(changes) > 0 {
		mark := to.Mark()
		opts.Description = &mark
	}
}
