package octavia

import (
	"net/http"
	"slices"
	"time"
)

// boot gives a load balancer of the amphora provider its virtual machine, once
// it is built.
func (o *Octavia) boot(lb *LoadBalancer) {
	if !isAmphora(lb.Provider) {
		return
	}
	now := o.now()
	lb.Amphorae = []*Amphora{{
		ID: o.newID("amphora", nil), LoadBalancerID: lb.ID, ComputeID: randomID(), Role: "STANDALONE", Status: "ALLOCATED",
		ManagementAddress: "192.0.2.1", VRRPAddress: "192.0.2.2", VRRPPortID: randomID(),
		CreatedAt: now, UpdatedAt: now,
	}}
}

// amphorae are for administrators only, below /v2.0/octavia.
func (o *Octavia) amphorae() resource {
	return resource{
		list: o.listAmphorae, show: o.showAmphora, remove: o.deleteAmphora,
		parts: map[string]resource{
			"stats": {list: o.amphoraStatistics}, "failover": {batch: o.failAmphoraOver}, "config": {batch: o.configureAmphora},
		},
	}
}

func (o *Octavia) listAmphorae(c *call) (response, *apiError) {
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	var rows []row
	for _, lb := range o.balancers {
		for _, amphora := range lb.Amphorae {
			rows = append(rows, row{thing: amphora, id: amphora.ID, show: func() view { return amphora.view(lb) }})
		}
	}
	return o.list(c, o.tables["amphorae"], rows)
}

func (o *Octavia) amphora(id string) (*LoadBalancer, *Amphora, *apiError) {
	for _, lb := range o.balancers {
		for _, amphora := range lb.Amphorae {
			if amphora.ID == id {
				return lb, amphora, nil
			}
		}
	}
	return nil, nil, notFound("Amphora", id)
}

func (o *Octavia) showAmphora(c *call) (response, *apiError) {
	lb, amphora, failure := o.amphora(c.id)
	if failure != nil {
		return response{}, failure
	}
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, view{"amphora": amphora.view(lb).only(c.fields)}}, nil
}

func (o *Octavia) amphoraStatistics(c *call) (response, *apiError) {
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	lb, amphora, failure := o.amphora(c.id)
	if failure != nil || len(lb.Listeners) == 0 {
		return response{}, notFound("Amphora stats for", c.id)
	}
	shown := make([]view, len(lb.Listeners))
	for i, listener := range lb.Listeners {
		shown[i] = o.statistics(listener).view().with(view{
			"loadbalancer_id": lb.ID, "listener_id": listener.ID, "id": amphora.ID,
		})
	}
	return response{http.StatusOK, view{"amphora_stats": shown}}, nil
}

func (o *Octavia) failAmphoraOver(c *call) (response, *apiError) {
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	lb, _, failure := o.amphora(c.id)
	if failure != nil {
		return response{}, failure
	}
	if lb.ProvisioningStatus != Active && lb.ProvisioningStatus != Error {
		return response{}, invalidState(lb)
	}
	o.lock(lb, PendingUpdate)
	o.rebuild(lb, OperationFailover)
	return response{status: http.StatusAccepted}, nil
}

func (o *Octavia) configureAmphora(c *call) (response, *apiError) {
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	if _, _, failure := o.amphora(c.id); failure != nil {
		return response{}, failure
	}
	return response{status: http.StatusAccepted}, nil
}

// deleteAmphora is for machines that no load balancer uses, which the
// simulator never has.
func (o *Octavia) deleteAmphora(c *call) (response, *apiError) {
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	if _, _, failure := o.amphora(c.id); failure != nil {
		return response{}, failure
	}
	return response{}, immutable("Amphora", c.id)
}

// certificateLife is how long the certificate of an amphora lasts.
const certificateLife = 30 * 24 * time.Hour

func (a *Amphora) view(lb *LoadBalancer) view {
	return view{
		"id": a.ID, "loadbalancer_id": a.LoadBalancerID, "compute_id": a.ComputeID, "role": a.Role, "status": a.Status,
		"lb_network_ip": a.ManagementAddress, "vrrp_ip": a.VRRPAddress, "vrrp_port_id": a.VRRPPortID,
		"ha_ip": lb.VIP.Address, "ha_port_id": lb.VIP.PortID, "cert_expiration": timestamp(a.CreatedAt.Add(certificateLife)),
		"cert_busy": false, "vrrp_interface": nil, "vrrp_id": 1, "vrrp_priority": nil, "cached_zone": nil,
		"image_id": nil, "compute_flavor": nil,
		"created_at": timestamp(a.CreatedAt), "updated_at": timestamp(a.UpdatedAt),
	}
}

// statistics returns the counters of a listener from Options.Statistics; zero without.
func (o *Octavia) statistics(listener *Listener) Statistics {
	if o.options.Statistics == nil {
		return Statistics{}
	}
	return o.options.Statistics(listener.ID)
}

func (s Statistics) view() view {
	return view{
		"bytes_in": s.BytesIn, "bytes_out": s.BytesOut, "active_connections": s.ActiveConnections,
		"total_connections": s.TotalConnections, "request_errors": s.RequestErrors,
	}
}

func (s Statistics) plus(other Statistics) Statistics {
	s.BytesIn += other.BytesIn
	s.BytesOut += other.BytesOut
	s.ActiveConnections += other.ActiveConnections
	s.TotalConnections += other.TotalConnections
	s.RequestErrors += other.RequestErrors
	return s
}

func (o *Octavia) balancerStatistics(c *call) (response, *apiError) {
	lb, failure := o.readableBalancer(c)
	if failure != nil {
		return response{}, failure
	}
	if failure := strict(c); failure != nil {
		return response{}, failure
	}
	var sum Statistics
	for _, listener := range lb.Listeners {
		sum = sum.plus(o.statistics(listener))
	}
	return response{http.StatusOK, view{"stats": sum.view()}}, nil
}

func (o *Octavia) listenerStatistics(c *call) (response, *apiError) {
	lb, listener, failure := o.listener(c.id)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.mayRead(c.caller, lb.ProjectID); failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, view{"stats": o.statistics(listener).view()}}, nil
}

// strict refuses all arguments, where the real API takes none.
func strict(c *call) *apiError {
	var names []string
	for name := range c.query {
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return refuse(http.StatusBadRequest, "Unknown argument: %q", names[0])
}
