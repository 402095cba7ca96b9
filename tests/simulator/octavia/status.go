package octavia

import (
	"net/http"
	"slices"
)

// statusTree shows the pools that listeners lead to, one that is shared once
// for each listener, and no others.
func (o *Octavia) statusTree(c *call) (response, *apiError) {
	lb, failure := o.readableBalancer(c)
	if failure != nil {
		return response{}, failure
	}
	if failure := strict(c); failure != nil {
		return response{}, failure
	}
	listeners := make([]view, len(lb.Listeners))
	for i, listener := range lb.Listeners {
		pools := []view{}
		for _, pool := range lb.Pools {
			leads := func(policy *L7Policy) bool { return policy.RedirectPoolID == pool.ID && policy.serves() }
			if pool.ID == listener.DefaultPoolID || slices.ContainsFunc(listener.Policies, leads) {
				pools = append(pools, pool.status())
			}
		}
		listeners[i] = listener.status().with(view{"pools": pools})
	}
	tree := lb.status().with(view{"listeners": listeners})
	return response{http.StatusOK, view{"statuses": view{"loadbalancer": tree}}}, nil
}

func (m *Meta) status() view {
	return view{
		"id": m.ID, "name": m.Name,
		"operating_status": m.OperatingStatus, "provisioning_status": m.ProvisioningStatus,
	}
}

func (p *Pool) status() view {
	members := make([]view, len(p.Members))
	for i, member := range p.Members {
		members[i] = member.Meta.status().with(view{"address": member.Address, "protocol_port": member.ProtocolPort})
	}
	shown := p.Meta.status().with(view{"members": members})
	if p.Monitor != nil {
		shown["health_monitor"] = p.Monitor.status().with(view{"type": p.Monitor.Type})
	}
	return shown
}
