package apply

import (
	"encoding/json"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// loadBalancerOpts returns the body of a full creation.
func loadBalancerOpts(lb *model.LoadBalancer) octavia.LoadBalancerCreate {
	opts := octavia.LoadBalancerCreate{PersistenceTimeouts: map[string]int{}}
	opts.CreateOpts = loadbalancers.CreateOpts{
		Name:             lb.Name,
		Description:      lb.Description,
		Tags:             lb.Tags,
		Provider:         lb.Provider,
		FlavorID:         lb.FlavorID,
		AvailabilityZone: lb.AvailabilityZone,
		VipSubnetID:      lb.VIP.SubnetID,
		VipNetworkID:     lb.VIP.NetworkID,
		VipPortID:        lb.VIP.PortID,
		VipAddress:       lb.VIP.Address,
		VipQosPolicyID:   lb.VIP.Settled().QoSPolicyID,
	}
	opts.VIPSecurityGroupIDs = lb.VIP.Settled().SecurityGroupIDs
	for _, l := range lb.Listeners {
		listener := listenerOpts(l)
		pool := poolOpts(l.Pool)
		listener.DefaultPool = &pool.CreateOpts
		opts.PersistenceTimeouts[l.Pool.Name] = pool.PersistenceTimeout
		opts.Listeners = append(opts.Listeners, listener)
	}
	return opts
}

// vipUpdate returns the settings that differ.
func vipUpdate(s plan.UpdateLoadBalancer) (opts octavia.VIPUpdate) {
	from, to := s.From, s.To
	opts.SwitchOn = s.SwitchOn
	if from.QoSPolicyID != to.QoSPolicyID {
		opts.QoSPolicyID = &to.QoSPolicyID
	}
	if !slices.Equal(from.SecurityGroupIDs, to.SecurityGroupIDs) {
		opts.SecurityGroupIDs = &to.SecurityGroupIDs
	}
	return opts
}

func poolOpts(p model.Pool) octavia.PoolCreate {
	opts := octavia.PoolCreate{PersistenceTimeout: p.PersistenceTimeout}
	opts.CreateOpts = pools.CreateOpts{
		Name:        p.Name,
		Protocol:    pools.Protocol(p.Protocol),
		LBMethod:    pools.LBMethod(p.Algorithm),
		Persistence: persistence(p),
		Tags:        p.Tags,
		Members:     membersOpts(p.Members),
	}
	if p.Monitor != nil {
		opts.Monitor = monitorOpts(*p.Monitor)
	}
	return opts
}

func persistence(p model.Pool) *pools.SessionPersistence {
	if p.Persistence == "" {
		return nil
	}
	return &pools.SessionPersistence{Type: p.Persistence}
}

// switched returns the administrative state to send; nil if it stays.
func switched(from, to bool) *bool {
	if from == to {
		return nil
	}
	up := !to
	return &up
}

// poolUpdate returns the settings that differ; none, if the update only repairs the pool.
func poolUpdate(from, to model.Pool) octavia.PoolUpdate {
	var opts octavia.PoolUpdate
	opts.AdminStateUp = switched(from.AdminDown, to.AdminDown)
	if from.Algorithm != to.Algorithm {
		opts.LBMethod = pools.LBMethod(to.Algorithm)
	}
	if from.Persistence != to.Persistence || from.PersistenceTimeout != to.PersistenceTimeout {
		opts.Persistence = &pools.SessionPersistence{Type: to.Persistence} // empty clears it
		opts.PersistenceTimeout = to.PersistenceTimeout
		opts.ClearTimeout = to.PersistenceTimeout == 0 && from.PersistenceTimeout != 0
	}
	return opts
}

func membersOpts(members model.Members) []pools.CreateMemberOpts {
	opts := make([]pools.CreateMemberOpts, 0, members.Len())
	for _, m := range members.All() {
		opts = append(opts, memberOpts(m))
	}
	return opts
}

// memberOpts omits weight, backup and administrative state, unless another client has taken the
// member out of service: Octavia's defaults, also in a batch, are the desired values.
func memberOpts(m model.Member) pools.CreateMemberOpts {
	opts := pools.CreateMemberOpts{
		Name:         m.Name,
		Address:      m.Address,
		ProtocolPort: m.Port,
		SubnetID:     m.SubnetID,
	}
	if port := m.MonitorPort; port != 0 { // a pointer to m's field would copy each member to the heap
		opts.MonitorPort = &port
	}
	if m.Drained {
		opts.Weight = new(int)
	}
	if m.AdminDown {
		opts.AdminStateUp = new(bool)
	}
	return opts
}

// memberUpdate is the change of one member, equal to its part of a batch.
type memberUpdate struct{ from, to model.Member }

// ToMemberUpdateMap implements pools.UpdateMemberOptsBuilder. Null monitors the member at its own
// port.
func (u memberUpdate) ToMemberUpdateMap() (map[string]any, error) {
	var monitorPort *int
	if u.to.MonitorPort != 0 {
		monitorPort = &u.to.MonitorPort
	}
	weight := 1
	if u.to.Drained {
		weight = 0
	}
	settings := map[string]any{"weight": weight, "backup": false, "admin_state_up": !u.to.AdminDown, "monitor_port": monitorPort}
	if u.from.Unasked != "" {
		settings["monitor_address"] = nil
	}
	return map[string]any{"member": settings}, nil
}

func monitorOpts(m model.Monitor) monitors.CreateOpts {
	return monitors.CreateOpts{
		Name:           m.Name,
		Type:           m.Type,
		Delay:          m.Delay,
		Timeout:        m.Timeout,
		MaxRetries:     m.MaxRetries,
		MaxRetriesDown: m.MaxRetriesDown,
		HTTPMethod:     m.HTTPMethod,
		URLPath:        m.URLPath,
		ExpectedCodes:  m.ExpectedCodes,
		HTTPVersion:    m.HTTPVersion,
		DomainName:     m.DomainName,
		Tags:           m.Tags,
	}
}

// monitorUpdate is the change of a monitor.
type monitorUpdate struct{ from, to model.Monitor }

// ToMonitorUpdateMap implements monitors.UpdateOptsBuilder. Null is Octavia's default; older
// releases do not know all settings, so only those that change are sent.
func (u monitorUpdate) ToMonitorUpdateMap() (map[string]any, error) {
	settings := map[string]any{
		"delay": u.to.Delay, "timeout": u.to.Timeout, "max_retries": u.to.MaxRetries, "max_retries_down": u.to.MaxRetriesDown,
	}
	if up := switched(u.from.AdminDown, u.to.AdminDown); up != nil {
		settings["admin_state_up"] = *up
	}
	for key, value := range map[string]string{
		"http_method": u.to.HTTPMethod, "url_path": u.to.URLPath, "expected_codes": u.to.ExpectedCodes,
	} {
		if value != "" {
			settings[key] = value
		}
	}
	for key, change := range map[string][2]string{
		"http_version": {u.from.HTTPVersion, u.to.HTTPVersion}, "domain_name": {u.from.DomainName, u.to.DomainName},
	} {
		switch {
		case change[1] != "":
			settings[key] = change[1]
		case change[0] != "":
			settings[key] = nil
		}
	}
	return map[string]any{"healthmonitor": settings}, nil
}

// size returns the length of a value as JSON.
func size(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		return 0 // the client will report the error
	}
	return len(text)
}
