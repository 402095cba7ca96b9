package status

import (
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Status is Octavia's status of an object.
type Status struct {
	Provisioning string `json:"provisioningStatus,omitempty"`
	Operating    string `json:"operatingStatus,omitempty"`
	// Down is set if it is disabled (admin_state_up is false).
	Down bool `json:"adminStateDown,omitempty"`
}

// pending reports whether Octavia is changing the object, failed whether its last change failed.
func (s Status) pending() bool { return strings.HasPrefix(s.Provisioning, "PENDING_") }
func (s Status) failed() bool  { return s.Provisioning == model.StatusError }

// silent reports whether it does not answer its health monitor.
func (s Status) silent() bool { return s.Operating == "ERROR" }

// LoadBalancer is a Service's load balancer. Of a shared one, Listeners are its own.
type LoadBalancer struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Provider string `json:"provider,omitempty"`
	Status
	Ownership
	Tags []string `json:"tags,omitempty"`
	// ChangedAt is the time of the last change, or of the creation.
	ChangedAt   time.Time    `json:"changedAt"`
	VIP         VIP          `json:"vip"`
	FloatingIPs []FloatingIP `json:"floatingIPs,omitempty"`
	// NextHops are those of the routes to the VIP, of provider router, or of the port forwardings.
	NextHops []NextHop `json:"nextHops,omitempty"`
	// ForwardedPorts are those of the floating IP, such as TCP/80, of provider port-forwarding.
	ForwardedPorts []string   `json:"forwardedPorts,omitempty"`
	Listeners      []Listener `json:"listeners"`
	// Traffic is that of the whole load balancer, nil if Octavia does not report it.
	Traffic *Traffic `json:"traffic,omitempty"`
}

// Traffic are Octavia's figures.
type Traffic struct {
	ActiveConnections int64 `json:"activeConnections"`
	TotalConnections  int64 `json:"totalConnections"`
	BytesIn           int64 `json:"bytesIn"`
	BytesOut          int64 `json:"bytesOut"`
	RequestErrors     int64 `json:"requestErrors"`
}

// Ownership describes the owner of a load balancer.
type Ownership struct {
	// Adopted is set if another controller created it for the Service, TakenOver if this one serves
	// the Service on it.
	Adopted   bool `json:"adopted,omitempty"`
	TakenOver bool `json:"takenOver,omitempty"`
	// Owner is the one for which it was created, if that is not the Service; SharedWith are the
	// other Services on it.
	Owner      string   `json:"owner,omitempty"`
	SharedWith []string `json:"sharedWith,omitempty"`
}

// VIP is the address of a load balancer.
type VIP struct {
	Address   string `json:"address"`
	SubnetID  string `json:"subnetID,omitempty"`
	NetworkID string `json:"networkID,omitempty"`
	PortID    string `json:"portID,omitempty"`
	// Additional are the addresses of further VIPs.
	Additional []string `json:"additional,omitempty"`
	// SecurityGroupIDs are the user's own groups on the port.
	SecurityGroupIDs []string `json:"securityGroupIDs,omitempty"`
}

// FloatingIP is one on the VIP.
type FloatingIP struct {
	ID      string `json:"id"`
	Address string `json:"address"`
	Status  string `json:"status,omitempty"`
}

// Listener is a port of the Service.
type Listener struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	Port     int    `json:"port"`
	Status
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`
	// Pool is nil if it was not read, or there is none.
	Pool *Pool `json:"pool,omitempty"`
}

// Pool is the pool of a listener.
type Pool struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Protocol    string `json:"protocol"`
	Algorithm   string `json:"algorithm"`
	Persistence string `json:"persistence,omitempty"`
	Status
	Monitor *Monitor `json:"healthMonitor,omitempty"`
	Members []Member `json:"members"`
}

// Monitor is the health monitor of a pool.
type Monitor struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// Delay and Timeout are in seconds.
	Delay      int    `json:"delay"`
	Timeout    int    `json:"timeout"`
	MaxRetries int    `json:"maxRetries"`
	URLPath    string `json:"urlPath,omitempty"`
	Status
}

// Member is a NodePort of a node, or a pod.
type Member struct {
	ID string `json:"id"`
	// Node is the one with the address, "" for none.
	Node    string `json:"node,omitempty"`
	Name    string `json:"name,omitempty"`
	Address string `json:"address"`
	Port    int    `json:"port"`
	// Weight is nil if it is 1, or was not read: that of Services that request weights is. A drained member has 0.
	Weight *int `json:"weight,omitempty"`
	Status
}

// drained reports whether the member gets no new connections.
func (m Member) drained() bool { return m.Weight != nil && *m.Weight == 0 }

// key returns the name of a listener, such as TCP/443.
func (l Listener) key() string { return keyOf(l).String() }

func keyOf(l Listener) model.ListenerKey {
	return model.ListenerKey{Transport: model.Protocol(l.Protocol).Transport(), Port: l.Port}
}

func loadBalancerOf(lb *model.LoadBalancer, created time.Time, floating []floatingips.FloatingIP) *LoadBalancer {
	described := &LoadBalancer{
		ID: lb.ID, Name: lb.Name, Provider: lb.Provider, Status: statusOf(lb.Status, lb.AdminDown), ChangedAt: lb.UpdatedAt.UTC(), Tags: lb.Tags,
		VIP: VIP{
			Address: lb.VIP.Address, SubnetID: lb.VIP.SubnetID, NetworkID: lb.VIP.NetworkID, PortID: lb.VIP.PortID,
			Additional: lb.VIP.Addresses()[1:], SecurityGroupIDs: lb.VIP.SecurityGroupIDs,
		},
		Ownership: Ownership{Adopted: lb.Adopted && lb.Shared == nil, SharedWith: sharing.Sharers(lb)},
		Listeners: []Listener{},
	}
	if lb.UpdatedAt.IsZero() {
		described.ChangedAt = created.UTC()
	}
	if lb.Shared != nil {
		described.Owner = lb.Shared.Owner
	}
	for _, fip := range floating {
		described.FloatingIPs = append(described.FloatingIPs, FloatingIP{ID: fip.ID, Address: fip.FloatingIP, Status: fip.Status})
	}
	for _, l := range lb.Listeners {
		described.Listeners = append(described.Listeners, listenerOf(l))
	}
	for _, f := range lb.Forwardings {
		described.ForwardedPorts = append(described.ForwardedPorts, f.Key.String())
	}
	return described
}

func listenerOf(l model.Listener) Listener {
	described := Listener{
		ID: l.ID, Name: l.Name, Protocol: string(l.Protocol), Port: l.Port, Status: statusOf(l.Status, l.AdminDown), AllowedCIDRs: l.AllowedCIDRs,
	}
	if p := l.Pool; p.ID != "" {
		described.Pool = &Pool{
			ID: p.ID, Name: p.Name, Protocol: string(p.Protocol), Algorithm: p.Algorithm, Persistence: p.Persistence.Type,
			Status: statusOf(p.Status, p.AdminDown), Members: []Member{},
		}
		if m := p.Monitor; m != nil {
			described.Pool.Monitor = &Monitor{
				ID: m.ID, Type: m.Type, Delay: m.Delay, Timeout: m.Timeout, MaxRetries: m.MaxRetries, URLPath: m.URLPath,
				Status: statusOf(m.Status, m.AdminDown),
			}
		}
	}
	return described
}

func statusOf(s model.Status, down bool) Status {
	return Status{Provisioning: s.Provisioning, Operating: s.Operating, Down: down}
}

// fill updates statuses from the status tree, and adds the members, which only the tree has. Nodes
// are the names of nodes by address, weights those of members by ID that have another one than 1.
func (lb *LoadBalancer) fill(tree *octavia.StatusTree, nodes map[string]string, weights map[string]int) {
	lb.update(tree.NodeStatus)
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		at := slices.IndexFunc(tree.Listeners, func(s octavia.ListenerStatus) bool { return s.ID == l.ID })
		if at < 0 {
			continue // it was deleted meanwhile
		}
		l.update(tree.Listeners[at].NodeStatus)
		for _, pool := range tree.Listeners[at].Pools {
			if l.Pool != nil && pool.ID == l.Pool.ID {
				l.Pool.fill(pool, nodes, weights)
			}
		}
	}
}

func (p *Pool) fill(tree octavia.PoolStatus, nodes map[string]string, weights map[string]int) {
	p.update(tree.NodeStatus)
	if p.Monitor != nil && p.Monitor.ID == tree.Monitor.ID {
		p.Monitor.update(tree.Monitor.NodeStatus)
	}
	for _, m := range tree.Members {
		member := Member{ID: m.ID, Node: nodes[m.Address], Name: m.Name, Address: m.Address, Port: m.Port}
		if weight, other := weights[m.ID]; other {
			member.Weight = &weight
		}
		member.update(m.NodeStatus)
		p.Members = append(p.Members, member)
	}
	slices.SortFunc(p.Members, func(a, b Member) int { return strings.Compare(a.title()+a.Address, b.title()+b.Address) })
}

func (s *Status) update(from octavia.NodeStatus) {
	s.Provisioning, s.Operating = from.ProvisioningStatus, from.OperatingStatus
}

// title returns the name of a member: its node, or its name at its creation.
func (m Member) title() string {
	switch {
	case m.Node != "":
		return m.Node
	case m.Name != "":
		return m.Name
	}
	return m.Address
}
