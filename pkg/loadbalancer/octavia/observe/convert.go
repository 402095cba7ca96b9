package observe

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Model returns a model of the parts, with those of other owners in Foreign.
func (p Parts) Model(id ownership.Identity) *model.LoadBalancer {
	lb := &model.LoadBalancer{
		ID:               p.LoadBalancer.ID,
		Name:             p.LoadBalancer.Name,
		Description:      p.LoadBalancer.Description,
		Tags:             p.LoadBalancer.Tags,
		Provider:         p.LoadBalancer.Provider,
		FlavorID:         p.LoadBalancer.FlavorID,
		AvailabilityZone: p.LoadBalancer.AvailabilityZone,
		AdminDown:        !p.LoadBalancer.AdminStateUp,
		VIP: model.VIP{
			NetworkID: p.LoadBalancer.VIPNetworkID,
			SubnetID:  p.LoadBalancer.VIPSubnetID,
			PortID:    p.LoadBalancer.VIPPortID,
			Address:   p.LoadBalancer.VIPAddress,

			Additional: AdditionalVIPs(p.LoadBalancer.AdditionalVIPs),

			VIPSettings: model.VIPSettings{
				QoSPolicyID:      p.LoadBalancer.VIPQoSPolicyID,
				SecurityGroupIDs: slices.Sorted(slices.Values(p.LoadBalancer.VIPSecurityGroupIDs)),
			},
		},
		Status:    model.Status{Provisioning: p.LoadBalancer.ProvisioningStatus, Operating: p.LoadBalancer.OperatingStatus},
		UpdatedAt: p.LoadBalancer.UpdatedAt.Time,
	}
	if id.Sharing.Is {
		lb.Shared = &model.Shared{Owner: id.Sharing.Owner.String(), Removable: id.Sharing.Removable}
	}
	if id.Sharing.Is && id.Sharing.Removable {
		lb.Shared.Orphaned = !p.has(id.Sharing.Owner)
	}
	_, lb.ReplacementHash = ownership.Replaces(p.LoadBalancer.Tags)
	used := map[string]bool{}
	for _, l := range p.Listeners {
		converted := p.listener(l, id)
		if l.DefaultPoolID != "" {
			used[l.DefaultPoolID] = true
		}
		if id.OwnsChild(l.Name, l.Tags) {
			lb.Listeners = append(lb.Listeners, converted)
		} else {
			lb.Foreign = append(lb.Foreign, model.Foreign{
				Kind: "listener", ID: l.ID, Name: l.Name, Key: converted.Key(),
				Service: ownership.SharerOf(l.Name, l.Tags), ServiceUID: ownership.ServiceUIDOf(l.Tags), Monitored: converted.Pool.Monitored(),
			})
		}
	}
	p.unused(lb, id, used)
	lb.Adopted = p.adopted(id)
	lb.Sort()
	return lb
}

// unused adds the pools that no listener uses to a load balancer.
func (p Parts) unused(lb *model.LoadBalancer, id ownership.Identity, used map[string]bool) {
	for _, pool := range p.Pools {
		switch {
		case used[pool.ID]:
		case id.OwnsChild(pool.Name, pool.Tags):
			lb.Orphans = append(lb.Orphans, p.pool(pool))
		default:
			theirs := p.pool(pool)
			lb.Foreign = append(lb.Foreign, model.Foreign{
				Kind: "pool", ID: pool.ID, Name: pool.Name, ServiceUID: ownership.ServiceUIDOf(pool.Tags), Monitored: theirs.Monitored(),
			})
		}
	}
}

// AdditionalVIPs returns models of the VIPs that have an address: some drivers accept others and ignore them.
func AdditionalVIPs(all []octavia.AdditionalVIP) []model.AdditionalVIP {
	var vips []model.AdditionalVIP
	for _, vip := range all {
		if vip.Address != "" {
			vips = append(vips, model.AdditionalVIP{Family: model.FamilyOf(vip.Address), SubnetID: vip.SubnetID, Address: vip.Address})
		}
	}
	return vips
}

// dualStack reports whether the VIPs are of both IP families.
func (p Parts) dualStack() bool {
	return model.VIP{Address: p.LoadBalancer.VIPAddress, Additional: AdditionalVIPs(p.LoadBalancer.AdditionalVIPs)}.DualStack()
}

// has reports whether a listener or a pool belongs to an owner.
func (p Parts) has(owner ownership.Owner) bool {
	return slices.ContainsFunc(p.Listeners, func(l octavia.Listener) bool { return owner.Has(l.Name, l.Tags) }) ||
		slices.ContainsFunc(p.Pools, func(pool octavia.Pool) bool { return owner.Has(pool.Name, pool.Tags) })
}

// adopted reports whether another controller created the Service's load balancer or, on a shared
// one, any of its listeners. The tags prove it, because they never change.
func (p Parts) adopted(id ownership.Identity) bool {
	if !id.Sharing.Is {
		return id.Claim(p.LoadBalancer.Tags, p.LoadBalancer.Description) != ownership.Ours
	}
	return slices.ContainsFunc(p.Listeners, func(l octavia.Listener) bool {
		return id.OwnsChild(l.Name, l.Tags) && !slices.Contains(l.Tags, id.ServiceTag())
	})
}

func (p Parts) listener(l octavia.Listener, id ownership.Identity) model.Listener {
	converted := model.Listener{
		ID:              l.ID,
		Name:            l.Name,
		Protocol:        model.Protocol(l.Protocol),
		Port:            l.Port,
		Tags:            l.Tags,
		AllowedCIDRs:    model.CanonicalCIDRs(l.AllowedCIDRs, p.dualStack()),
		Limits:          p.limits(l, id),
		InsertHeaders:   insertedHeaders(l.InsertHeaders),
		TLSContainerRef: l.TLSContainerRef,
		AdminDown:       !l.AdminStateUp,
		Status:          model.Status{Provisioning: l.ProvisioningStatus, Operating: l.OperatingStatus},
	}
	if i := slices.IndexFunc(p.Pools, func(pool octavia.Pool) bool { return pool.ID == l.DefaultPoolID }); i >= 0 {
		converted.Pool = p.pool(p.Pools[i])
	}
	return converted
}

// limits returns the limits of a listener, and those that were requested.
//
//	listener                                   requested
//	its description lists some                 those
//	created by us, its description lists none  none
//	created by cloud-provider-openstack        all that differ from Octavia's defaults: it always sends all
//	any, if the driver ignores them            none: they are never changed
func (p Parts) limits(l octavia.Listener, id ownership.Identity) model.Limits {
	var limits model.Limits
	LimitValues(&limits, &l)
	if driver.QuirksOf(p.LoadBalancer.Provider).IgnoresLimits {
		return limits
	}
	ours := slices.Contains(l.Tags, id.ServiceTag()) || id.Claim(p.LoadBalancer.Tags, p.LoadBalancer.Description) == ownership.Ours
	if !limits.ReadMark(l.Description) && !ours {
		limits.AskUnlessStock()
	}
	return limits
}

// LimitValues sets the current values of the limits of a listener.
func LimitValues(limits *model.Limits, l *octavia.Listener) {
	limits.ConnectionLimit.Value = ptr.Deref(l.ConnectionLimit, 0)
	limits.TimeoutClientData.Value = ptr.Deref(l.TimeoutClientData, 0)
	limits.TimeoutMemberConnect.Value = ptr.Deref(l.TimeoutMemberConnect, 0)
	limits.TimeoutMemberData.Value = ptr.Deref(l.TimeoutMemberData, 0)
	limits.TimeoutTCPInspect.Value = ptr.Deref(l.TimeoutTCPInspect, 0)
}

// insertedHeaders returns the enabled headers, sorted.
func insertedHeaders(all map[string]string) []string {
	var on []string
	for name, value := range all {
		if strings.EqualFold(value, "true") {
			on = append(on, name)
		}
	}
	slices.Sort(on)
	return on
}

func (p Parts) pool(pool octavia.Pool) model.Pool {
	converted := model.Pool{
		ID:          pool.ID,
		Name:        pool.Name,
		Protocol:    model.Protocol(pool.Protocol),
		Algorithm:   pool.Algorithm,
		Persistence: model.Persistence{Type: pool.Persistence.Type, CookieName: pool.Persistence.CookieName, Timeout: pool.Persistence.Timeout},
		Tags:        pool.Tags,
		AdminDown:   !pool.AdminStateUp,
		Status:      model.Status{Provisioning: pool.ProvisioningStatus, Operating: pool.OperatingStatus},
	}
	converted.Members = p.members(pool.ID)
	if m, ok := p.Monitors[pool.MonitorID]; ok {
		converted.Monitor = monitor(m)
	}
	return converted
}

// members returns models of the members of a pool.
func (p Parts) members(poolID string) model.Members {
	members := make([]model.Member, 0, len(p.Members[poolID]))
	for i, m := range p.Members[poolID] {
		member := Member(m)
		if p.Depth == model.Settings || i > 0 && p.Sampled[poolID] {
			member.SubnetID, member.SubnetUnknown = "", true
		}
		members = append(members, member)
	}
	return model.MembersOf(members...)
}

// Member returns the model of a member.
func Member(m octavia.Member) model.Member {
	weight := ptr.Deref(m.Weight, 0)
	if weight == 1 {
		weight = 0
	}
	return model.Member{
		ID:          m.ID,
		Name:        m.Name,
		Address:     m.Address,
		Port:        m.Port,
		SubnetID:    m.SubnetID,
		MonitorPort: m.MonitorPort,
		Weight:      weight,
		Drained:     ptr.Deref(m.Weight, 0) == 0,
		AdminDown:   !ptr.Deref(m.AdminStateUp, false),
		Backup:      m.Backup,
		Unasked:     unasked(m),
		Status:      model.Status{Provisioning: m.ProvisioningStatus, Operating: m.OperatingStatus},
	}
}

// unasked formats the settings of a member that no Service can request.
func unasked(m octavia.Member) string {
	if m.MonitorAddress == "" {
		return ""
	}
	return "monitor_address " + m.MonitorAddress
}

func monitor(m octavia.HealthMonitor) *model.Monitor {
	made := &model.Monitor{
		ID:             m.ID,
		Name:           m.Name,
		Type:           m.Type,
		Delay:          m.Delay,
		Timeout:        m.Timeout,
		MaxRetries:     m.MaxRetries,
		MaxRetriesDown: m.MaxRetriesDown,
		HTTPMethod:     m.HTTPMethod,
		URLPath:        m.URLPath,
		ExpectedCodes:  m.ExpectedCodes,
		DomainName:     m.DomainName,
		Tags:           m.Tags,
		AdminDown:      !m.AdminStateUp,
		Status:         model.Status{Provisioning: m.ProvisioningStatus, Operating: m.OperatingStatus},
	}
	if m.HTTPVersion != 0 {
		made.HTTPVersion = strconv.FormatFloat(m.HTTPVersion, 'f', 1, 64)
	}
	return made
}

// Statuses updates a model from the status tree: all statuses, and the IDs of members, which a
// batch does not return, and of monitors, which a fully populated create does not return on all
// releases.
func Statuses(lb *model.LoadBalancer, tree *octavia.StatusTree) {
	lb.Status = status(tree.NodeStatus)
	for _, listener := range tree.Listeners {
		i := slices.IndexFunc(lb.Listeners, func(l model.Listener) bool { return l.ID == listener.ID })
		if i < 0 {
			continue // another's
		}
		lb.Listeners[i].Status = status(listener.NodeStatus)
		for _, pool := range listener.Pools {
			if pool.ID == lb.Listeners[i].Pool.ID {
				poolStatuses(&lb.Listeners[i].Pool, pool)
			}
		}
	}
}

func poolStatuses(pool *model.Pool, tree octavia.PoolStatus) {
	pool.Status = status(tree.NodeStatus)
	if m := pool.Monitor; m != nil && (m.ID == "" || m.ID == tree.Monitor.ID) {
		m.ID, m.Status = strings.Clone(tree.Monitor.ID), status(tree.Monitor.NodeStatus) // the IDs share the memory of the response
	}
	there := membersInTree(tree, func(*octavia.MemberStatus) bool { return true })
	pool.Members = pool.Members.Map(func(_ int, m model.Member) model.Member {
		if found := there.find(m.Key()); found != nil {
			m.ID, m.Status = found.ID, status(found.NodeStatus)
		}
		return m
	})
}

func status(n octavia.NodeStatus) model.Status {
	return model.Status{Provisioning: n.ProvisioningStatus, Operating: n.OperatingStatus}
}
