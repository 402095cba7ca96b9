package control

import (
	"net/http"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// statuses are the statuses of any object of Octavia.
type statuses struct {
	ID                 string `json:"id"`
	Name               string `json:"name"`
	ProvisioningStatus string `json:"provisioning_status"`
	OperatingStatus    string `json:"operating_status"`
	AdminStateUp       bool   `json:"admin_state_up"`
}

type loadBalancerView struct {
	statuses
	Provider   string         `json:"provider"`
	VIPAddress string         `json:"vip_address"`
	Listeners  []listenerView `json:"listeners"`
	Pools      []poolView     `json:"pools"`
}

type listenerView struct {
	statuses
	Protocol      string   `json:"protocol"`
	ProtocolPort  int      `json:"protocol_port"`
	DefaultPoolID string   `json:"default_pool_id"`
	AllowedCIDRs  []string `json:"allowed_cidrs"`
}

type poolView struct {
	statuses
	Protocol    string       `json:"protocol"`
	LBAlgorithm string       `json:"lb_algorithm"`
	Members     []memberView `json:"members"`
	Monitor     *monitorView `json:"healthmonitor"`
}

type memberView struct {
	statuses
	Address      string `json:"address"`
	ProtocolPort int    `json:"protocol_port"`
	Weight       int    `json:"weight"`
	MonitorPort  int    `json:"monitor_port,omitempty"`
}

type monitorView struct {
	statuses
	Type string `json:"type"`
}

func (c *control) listLoadBalancers(*http.Request) (answer, error) {
	views := []loadBalancerView{}
	for _, lb := range c.parts.Octavia.Snapshot() {
		views = append(views, viewLoadBalancer(lb))
	}
	return answer{http.StatusOK, map[string]any{"loadbalancers": views}}, nil
}

func viewStatuses(meta octavia.Meta) statuses {
	return statuses{
		ID: meta.ID, Name: meta.Name, AdminStateUp: meta.AdminStateUp,
		ProvisioningStatus: meta.ProvisioningStatus, OperatingStatus: meta.OperatingStatus,
	}
}

func viewLoadBalancer(lb octavia.LoadBalancer) loadBalancerView {
	view := loadBalancerView{
		statuses: viewStatuses(lb.Meta), Provider: lb.Provider, VIPAddress: lb.VIP.Address,
		Listeners: []listenerView{}, Pools: []poolView{},
	}
	for _, l := range lb.Listeners {
		view.Listeners = append(view.Listeners, listenerView{
			statuses: viewStatuses(l.Meta), Protocol: l.Protocol, ProtocolPort: l.ProtocolPort,
			DefaultPoolID: l.DefaultPoolID, AllowedCIDRs: l.AllowedCIDRs,
		})
	}
	for _, p := range lb.Pools {
		view.Pools = append(view.Pools, viewPool(p))
	}
	return view
}

func viewPool(p *octavia.Pool) poolView {
	view := poolView{
		statuses: viewStatuses(p.Meta), Protocol: p.Protocol, LBAlgorithm: p.Algorithm, Members: []memberView{},
	}
	for _, m := range p.Members {
		view.Members = append(view.Members, memberView{
			statuses: viewStatuses(m.Meta), Address: m.Address, ProtocolPort: m.ProtocolPort,
			Weight: m.Weight, MonitorPort: m.MonitorPort,
		})
	}
	if p.Monitor != nil {
		view.Monitor = &monitorView{statuses: viewStatuses(p.Monitor.Meta), Type: p.Monitor.Type}
	}
	return view
}

// setLoadBalancerStatus sets the status of a load balancer, as of a provider that fails or gets
// stuck.
func (c *control) setLoadBalancerStatus(r *http.Request) (answer, error) {
	return setStatus(r, c.parts.Octavia.SetProvisioningStatus)
}

// setStatus sets the status of the object in the path to that in the body.
func setStatus(r *http.Request, set func(id, status string) error) (answer, error) {
	var wanted struct {
		ProvisioningStatus string `json:"provisioning_status"`
	}
	if err := read(r, &wanted); err != nil {
		return answer{}, err
	}
	if err := checkStatus(wanted.ProvisioningStatus); err != nil {
		return answer{}, err
	}
	return done(set(r.PathValue("id"), wanted.ProvisioningStatus))
}

func checkStatus(wanted string) error {
	allowed := []string{
		octavia.Active, octavia.Error, octavia.PendingCreate, octavia.PendingUpdate, octavia.PendingDelete,
	}
	if !slices.Contains(allowed, wanted) {
		return refuse(http.StatusBadRequest, "provisioning_status %q is none of %q", wanted, allowed)
	}
	return nil
}

// deleteLoadBalancer deletes a load balancer as another client would.
func (c *control) deleteLoadBalancer(r *http.Request) (answer, error) {
	return done(c.parts.Octavia.Remove(r.PathValue("id")))
}

// done returns the answer for a change. The only possible error is that the object does not exist.
func done(err error) (answer, error) {
	if err != nil {
		return answer{}, refuse(http.StatusNotFound, "%v", err)
	}
	return answer{status: http.StatusNoContent}, nil
}

// setMemberStatus sets the status of a member as the provider's health monitor would.
func (c *control) setMemberStatus(r *http.Request) (answer, error) {
	var wanted struct {
		OperatingStatus string `json:"operating_status"`
	}
	if err := read(r, &wanted); err != nil {
		return answer{}, err
	}
	allowed := []string{octavia.Online, octavia.Offline, octavia.Error, octavia.Draining, octavia.NoMonitor}
	if !slices.Contains(allowed, wanted.OperatingStatus) {
		return answer{}, refuse(http.StatusBadRequest, "operating_status %q is none of %q", wanted.OperatingStatus, allowed)
	}
	return done(c.parts.Octavia.SetMemberOperatingStatus(r.PathValue("id"), wanted.OperatingStatus))
}
