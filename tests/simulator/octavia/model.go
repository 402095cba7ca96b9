package octavia

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Provisioning statuses.
const (
	Active        = "ACTIVE"
	Error         = "ERROR"
	Deleted       = "DELETED"
	PendingCreate = "PENDING_CREATE"
	PendingUpdate = "PENDING_UPDATE"
	PendingDelete = "PENDING_DELETE"
)

// Operating statuses.
const (
	Online    = "ONLINE"
	Offline   = "OFFLINE"
	Degraded  = "DEGRADED"
	Draining  = "DRAINING"
	NoMonitor = "NO_MONITOR"
)

// Meta is what every object has.
type Meta struct {
	ID, Name, ProjectID string
	// ProvisioningStatus is one of Active, Error, Pending* or Deleted.
	ProvisioningStatus string
	// OperatingStatus is one of Online, Offline, Degraded, Draining, NoMonitor, Error.
	OperatingStatus string
	AdminStateUp    bool
	Tags            []string
	CreatedAt       time.Time
	UpdatedAt       time.Time // zero before the first update
}

func (m *Meta) meta() *Meta { return m }

// object is any of the resources, seen as what they have in common.
type object interface{ meta() *Meta }

// VIP is where a load balancer listens.
type VIP struct {
	Address, PortID, SubnetID, NetworkID, QoSPolicyID string
	// OwnPort is set if Octavia created the port and deletes it with the load
	// balancer.
	OwnPort bool
	// SecurityGroupIDs are the caller's own groups for the VIP port.
	SecurityGroupIDs []string
}

// AdditionalVIP is a further address of a load balancer.
type AdditionalVIP struct{ Address, PortID, SubnetID string }

// LoadBalancer with all its children. Pools know their members and monitors,
// listeners their default pool by ID.
type LoadBalancer struct {
	Meta
	Description, Provider, FlavorID, AvailabilityZone string

	VIP            VIP
	AdditionalVIPs []AdditionalVIP
	Listeners      []*Listener
	Pools          []*Pool
	// Amphorae of a load balancer that the amphora provider built.
	Amphorae []*Amphora

	// NotFloating are the floating IPs that do not serve the listeners of a protocol, by the protocol. OVN has a load
	// balancer for each protocol. One that is created while another gets a floating IP does not get it.
	NotFloating map[string]string

	described bool            // a description was given, be it empty
	checks    []check         // that OVN has, with the driver of Zed
	blind     map[string]bool // protocols with checks that have no effect
}

// Listener of a load balancer.
type Listener struct {
	Meta
	Description, Protocol, DefaultPoolID string
	LoadBalancerID                       string
	ProtocolPort, ConnectionLimit        int
	TimeoutClientData                    int // milliseconds, as the other timeouts
	TimeoutMemberConnect                 int
	TimeoutMemberData                    int
	TimeoutTCPInspect                    int
	peerPort                             int // by which amphorae share their stick tables
	AllowedCIDRs                         []string
	InsertHeaders                        map[string]string
	TLS                                  ListenerTLS
	Policies                             []*L7Policy // by position, from 1
}

// L7Policy of a listener. What its action does not use is empty.
type L7Policy struct {
	Meta
	Description, ListenerID, LoadBalancerID string
	Action, RedirectPoolID                  string
	RedirectURL, RedirectPrefix             string
	RedirectHTTPCode, Position              int
	Rules                                   []*L7Rule
}

// L7Rule of a policy. It has no name.
type L7Rule struct {
	Meta
	Type, CompareType, Key, Value string
	Invert                        bool
	PolicyID, LoadBalancerID      string
	emptyKey                      bool // "" was given, which is not null
}

// Amphora is a virtual machine of a load balancer.
type Amphora struct {
	ID, LoadBalancerID, ComputeID, Role, Status string
	ManagementAddress                           string // lb_network_ip
	VRRPAddress, VRRPPortID                     string
	CreatedAt, UpdatedAt                        time.Time
}

// ListenerTLS holds what only TERMINATED_HTTPS listeners use.
type ListenerTLS struct {
	DefaultContainerRef, ClientCAContainerRef, ClientAuthentication, ClientCRLContainerRef string
	SNIContainerRefs, Versions, ALPNProtocols                                              []string
	Ciphers                                                                                string
	HSTSMaxAge                                                                             *int
	HSTSIncludeSubdomains, HSTSPreload                                                     bool
}

// Pool of a load balancer.
type Pool struct {
	Meta
	Description, Protocol, Algorithm string
	LoadBalancerID                   string
	Persistence                      *SessionPersistence
	Members                          []*Member
	Monitor                          *Monitor
	TLS                              PoolTLS
	// Serving are the members, by address and port, that the driver has really brought to
	// the data path, in a copy of a pool with a driver that may be behind Octavia's API
	// (Quirks.QueuedOVN); nil in others.
	Serving []string

	inOVN []*Member // that OVN has, with the driver of 2025.1
}

// PoolTLS holds what only pools with TLS to the members use.
type PoolTLS struct {
	Enabled                              bool
	ContainerRef, CAContainerRef, CRLRef string
	Ciphers                              string
	Versions, ALPNProtocols              []string
}

// SessionPersistence of a pool. Empty and zero fields were not given.
type SessionPersistence struct {
	Type, CookieName string
	Timeout          *int // seconds
	Granularity      string
	// Ignored: the driver does not keep clients at their members, in a copy of a pool.
	Ignored bool
}

// Member of a pool.
type Member struct {
	Meta
	Address, SubnetID      string
	ProtocolPort, Weight   int
	Backup                 bool
	MonitorAddress         string
	MonitorPort            int // 0 means the protocol port
	PoolID, LoadBalancerID string

	reported string // by SetMemberOperatingStatus
	driven   string // by the ovn driver of Zed
	leaving  bool   // its removal is in the queue of the ovn driver of 2025.1
}

// Serves reports whether a member of a copy of the pool gets traffic as far as the driver knows,
// whatever its weight and its health are.
func (p *Pool) Serves(m *Member) bool {
	if p.Serving == nil {
		return m.AdminStateUp && m.ProvisioningStatus != PendingDelete
	}
	return slices.Contains(p.Serving, m.at())
}

// HasExactly returns an error unless a copy of a pool with Serving has members at these addresses and no others, in
// Octavia and in OVN.
func (p *Pool) HasExactly(addresses []string) error {
	var shown, served []string
	for _, m := range p.Members {
		shown = append(shown, m.Address)
	}
	for _, at := range p.Serving {
		address, _, _ := strings.Cut(at, ":")
		served = append(served, address)
	}
	want := slices.Sorted(slices.Values(addresses))
	slices.Sort(shown)
	slices.Sort(served)
	if !slices.Equal(shown, want) || !slices.Equal(served, want) {
		return fmt.Errorf("pool %s has %v, OVN has %v; want %v", p.Name, shown, served, want)
	}
	return nil
}

// at returns the address and port of a member.
func (m *Member) at() string { return fmt.Sprintf("%s:%d", m.Address, m.ProtocolPort) }

// Monitor is the health monitor of a pool.
type Monitor struct {
	Meta
	Type                               string
	Delay, Timeout                     int // seconds
	MaxRetries, MaxRetriesDown         int
	HTTPMethod, URLPath, ExpectedCodes string
	HTTPVersion                        string
	DomainName                         string
	PoolID, LoadBalancerID             string
}

func (o *Octavia) newMeta(kind string, given body, project string) Meta {
	return Meta{
		ID:                 o.newID(kind, given),
		Name:               given.text("name"),
		ProjectID:          project,
		ProvisioningStatus: PendingCreate,
		OperatingStatus:    Offline,
		AdminStateUp:       given.boolean("admin_state_up", true),
		Tags:               given.texts("tags"),
		CreatedAt:          o.now(),
	}
}

// clone copies a load balancer with everything below it.
func (lb *LoadBalancer) clone() *LoadBalancer {
	copied := *lb
	copied.Tags = slices.Clone(lb.Tags)
	copied.VIP.SecurityGroupIDs = slices.Clone(lb.VIP.SecurityGroupIDs)
	copied.AdditionalVIPs = slices.Clone(lb.AdditionalVIPs)
	copied.Listeners = make([]*Listener, len(lb.Listeners))
	for i, listener := range lb.Listeners {
		copied.Listeners[i] = listener.clone()
	}
	copied.Amphorae = make([]*Amphora, len(lb.Amphorae))
	for i, amphora := range lb.Amphorae {
		a := *amphora
		copied.Amphorae[i] = &a
	}
	copied.Pools = make([]*Pool, len(lb.Pools))
	for i, pool := range lb.Pools {
		copied.Pools[i] = pool.clone()
	}
	return &copied
}

func (l *Listener) clone() *Listener {
	copied := *l
	copied.Tags = slices.Clone(l.Tags)
	copied.AllowedCIDRs = slices.Clone(l.AllowedCIDRs)
	copied.Policies = make([]*L7Policy, len(l.Policies))
	for i, policy := range l.Policies {
		copied.Policies[i] = policy.clone()
	}
	return &copied
}

func (p *L7Policy) clone() *L7Policy {
	copied := *p
	copied.Tags = slices.Clone(p.Tags)
	copied.Rules = make([]*L7Rule, len(p.Rules))
	for i, rule := range p.Rules {
		r := *rule
		r.Tags = slices.Clone(rule.Tags)
		copied.Rules[i] = &r
	}
	return &copied
}

func (p *Pool) clone() *Pool {
	copied := *p
	copied.inOVN = nil
	copied.Tags = slices.Clone(p.Tags)
	if p.Persistence != nil {
		persistence := *p.Persistence
		copied.Persistence = &persistence
	}
	copied.Members = make([]*Member, len(p.Members))
	for i, member := range p.Members {
		m := *member
		m.Tags = slices.Clone(member.Tags)
		copied.Members[i] = &m
	}
	if p.Monitor != nil {
		monitor := *p.Monitor
		monitor.Tags = slices.Clone(p.Monitor.Tags)
		copied.Monitor = &monitor
	}
	return &copied
}
