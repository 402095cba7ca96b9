package apply

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// loadBalancerOpts returns the body of a full creation.
func loadBalancerOpts(lb *model.LoadBalancer) octavia.LoadBalancer {
	vip := lb.VIP.Settled()
	opts := octavia.LoadBalancer{
		Name:                lb.Name,
		Description:         lb.Description,
		Tags:                lb.Tags,
		Provider:            lb.Provider,
		FlavorID:            lb.FlavorID,
		AvailabilityZone:    lb.AvailabilityZone,
		VIPSubnetID:         lb.VIP.SubnetID,
		VIPNetworkID:        lb.VIP.NetworkID,
		VIPPortID:           lb.VIP.PortID,
		VIPAddress:          lb.VIP.Address,
		VIPQoSPolicyID:      vip.QoSPolicyID,
		VIPSecurityGroupIDs: vip.SecurityGroupIDs,
	}
	for _, vip := range lb.VIP.Additional {
		opts.AdditionalVIPs = append(opts.AdditionalVIPs, octavia.AdditionalVIP{SubnetID: vip.SubnetID, Address: vip.Address})
	}
	for _, l := range lb.Listeners {
		listener := listenerOpts(l)
		if l.Protocol.HasPool() {
			listener.DefaultPool = &octavia.NewPool{Pool: poolOpts(l.Pool), Members: membersOpts(l.Pool.Members)}
		}
		opts.Listeners = append(opts.Listeners, listener)
	}
	return opts
}

// vipUpdate returns the settings that differ. Null removes the QoS policy, an empty list the security
// groups.
func vipUpdate(s plan.UpdateLoadBalancer) octavia.Changes {
	from, to, changes := s.From, s.To, octavia.Changes{}
	if s.SwitchOn {
		changes["admin_state_up"] = true
	}
	if from.QoSPolicyID != to.QoSPolicyID {
		changes["vip_qos_policy_id"] = orNull(to.QoSPolicyID)
	}
	if !slices.Equal(from.SecurityGroupIDs, to.SecurityGroupIDs) {
		changes["vip_sg_ids"] = append([]string{}, to.SecurityGroupIDs...)
	}
	return changes
}

// orNull returns a value, or nil if it is zero.
func orNull[T comparable](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}

// poolOpts returns the body of a pool's creation, without members.
func poolOpts(p model.Pool) octavia.Pool {
	opts := octavia.Pool{Name: p.Name, Protocol: string(p.Protocol), Algorithm: p.Algorithm, Tags: p.Tags}
	opts.Persistence = octavia.SessionPersistence{Type: p.Persistence.Type, CookieName: p.Persistence.CookieName, Timeout: p.Persistence.Timeout}
	if p.Monitor != nil {
		monitor := monitorOpts(*p.Monitor)
		opts.Monitor = &monitor
	}
	return opts
}

// switched adds the administrative state if it changes.
func switched(changes octavia.Changes, fromDown, toDown bool) {
	if fromDown != toDown {
		changes["admin_state_up"] = !toDown
	}
}

// poolUpdate returns the settings that differ; none, if the update only repairs the pool.
func poolUpdate(from, to model.Pool) octavia.Changes {
	changes := octavia.Changes{}
	switched(changes, from.AdminDown, to.AdminDown)
	if from.Algorithm != to.Algorithm {
		changes["lb_algorithm"] = to.Algorithm
	}
	if from.Persistence != to.Persistence {
		changes["session_persistence"] = persistenceUpdate(from.Persistence, to.Persistence)
	}
	return changes
}

// persistenceUpdate returns the session persistence for an update, nil for none. Octavia keeps what
// is missing: a cookie name or a timeout that is no longer wanted is null.
func persistenceUpdate(from, to model.Persistence) any {
	if to == (model.Persistence{}) {
		return nil
	}
	update := octavia.Changes{"type": to.Type}
	if from.Timeout != to.Timeout {
		update["persistence_timeout"] = orNull(to.Timeout)
	}
	if from.CookieName != to.CookieName {
		update["cookie_name"] = orNull(to.CookieName)
	}
	return update
}

func membersOpts(members model.Members) []octavia.Member {
	opts := make([]octavia.Member, 0, members.Len())
	for _, m := range members.All() {
		opts = append(opts, memberOpts(m))
	}
	return opts
}

// memberOpts omits backup, and weight and administrative state with Octavia's defaults, which are also
// those of a batch.
func memberOpts(m model.Member) octavia.Member {
	opts := octavia.Member{Name: m.Name, Address: m.Address, Port: m.Port, SubnetID: m.SubnetID, MonitorPort: m.MonitorPort}
	if weight := m.EffectiveWeight(); weight != 1 {
		opts.Weight = &weight
	}
	if m.AdminDown {
		opts.AdminStateUp = new(false)
	}
	return opts
}

// memberUpdate returns the change of one member, equal to its part of a batch. Null monitors the
// member at its own port and address.
func memberUpdate(from, to model.Member) octavia.Changes {
	changes := octavia.Changes{"weight": to.EffectiveWeight(), "backup": false, "admin_state_up": !to.AdminDown, "monitor_port": orNull(to.MonitorPort)}
	if from.Unasked != "" {
		changes["monitor_address"] = nil
	}
	return changes
}

func monitorOpts(m model.Monitor) octavia.HealthMonitor {
	return octavia.HealthMonitor{
		Name:           m.Name,
		Type:           m.Type,
		Delay:          m.Delay,
		Timeout:        m.Timeout,
		MaxRetries:     m.MaxRetries,
		MaxRetriesDown: m.MaxRetriesDown,
		HTTPMethod:     m.HTTPMethod,
		URLPath:        m.URLPath,
		ExpectedCodes:  m.ExpectedCodes,
		HTTPVersion:    number(m.HTTPVersion),
		DomainName:     m.DomainName,
		Tags:           m.Tags,
	}
}

// number returns a version of HTTP as a number, 0 for none.
func number(version string) float64 {
	n, _ := strconv.ParseFloat(version, 64) // package settings accepts only "1.0" and "1.1"
	return n
}

// monitorUpdate returns the change of a monitor. Null is Octavia's default. Older releases have no
// http_version and domain_name: both are sent only if the monitor has or had them.
func monitorUpdate(from, to model.Monitor) octavia.Changes {
	changes := octavia.Changes{
		"delay": to.Delay, "timeout": to.Timeout, "max_retries": to.MaxRetries, "max_retries_down": to.MaxRetriesDown,
	}
	switched(changes, from.AdminDown, to.AdminDown)
	for name, value := range map[string]string{"http_method": to.HTTPMethod, "url_path": to.URLPath, "expected_codes": to.ExpectedCodes} {
		if value != "" {
			changes[name] = value
		}
	}
	if from.HTTPVersion != "" || to.HTTPVersion != "" {
		changes["http_version"] = orNull(number(to.HTTPVersion))
	}
	if from.DomainName != "" || to.DomainName != "" {
		changes["domain_name"] = orNull(to.DomainName)
	}
	return changes
}

// size returns the length of a value as JSON.
func size(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		return 0 // the client will report the error
	}
	return len(text)
}
