package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// LoadBalancer is a load balancer with all its parts. IDs, statuses and UpdatedAt are the cloud's:
// a desired one has none.
type LoadBalancer struct {
	ID               string
	Name             string
	Description      string
	Tags             []string
	Provider         string
	FlavorID         string
	AvailabilityZone string
	VIP              VIP
	// AdminDown is set if admin_state_up is false, also in listener, pool and monitor. It is never
	// desired.
	AdminDown bool
	Listeners []Listener
	// Orphans are pools of ours that no listener uses. A desired load balancer
	// has none.
	Orphans []Pool
	// Foreign are the listeners and pools of other owners: with any, we must not delete the load
	// balancer.
	Foreign []Foreign
	// Adopted is set if another controller created the Service's objects.
	Adopted bool
	// Shared is set if the load balancer was not created for the Service: then only its own
	// listeners and pools are the Service's.
	Shared *Shared
	// ReplacementHash is that of the settings for which it was created to replace another one, ""
	// if it was not. See plan.ReplacementHash.
	ReplacementHash string
	// FloatingIP is nil if none is wanted, or none exists.
	FloatingIP *FloatingIP
	// NextHops are the addresses of the nodes to which a router sends the packets for the VIP, sorted.
	// Only load balancers of the providers router and port-forwarding have any; they have no listeners.
	// Barred are those with ports that do not admit these packets.
	NextHops, Barred []string `json:",omitempty"`
	// Forwardings are those of the floating IP that the Service has there, sorted. Only load balancers of
	// provider port-forwarding have any; they have no VIP, and the ID of their floating IP.
	Forwardings []Forwarding `json:",omitempty"`
	Status      Status
	// UpdatedAt moves with every change through the API in the load balancer, in seconds.
	UpdatedAt time.Time
}

// Ends reports whether a load balancer is deleted with the Service: it has no other owner
// and it was created for the Service or, if it was created for another Service of the
// cluster, the Service is the last on it.
func (lb *LoadBalancer) Ends() bool {
	return len(lb.Foreign) == 0 && (lb.Shared == nil || lb.Shared.Removable && (lb.Shared.Left || lb.Holds()))
}

// Holds reports whether a listener or a pool of ours is on the load balancer.
func (lb *LoadBalancer) Holds() bool { return len(lb.Listeners)+len(lb.Orphans) > 0 }

// CountMembers returns the number of members of its listeners.
func (lb *LoadBalancer) CountMembers() int {
	n := 0
	for _, l := range lb.Listeners {
		n += l.Pool.Members.Len()
	}
	return n
}

// Unmonitored reports whether another controller created the load balancer, and the Service
// has no health monitor on it.
func (lb *LoadBalancer) Unmonitored() bool {
	return lb.Adopted && !slices.ContainsFunc(lb.Listeners, func(l Listener) bool { return l.Pool.Monitor != nil })
}

// OwnFloatingIP returns the floating IP on the VIP, unless the load balancer is shared: then it is
// the owner's.
func (lb *LoadBalancer) OwnFloatingIP() *FloatingIP {
	if lb.Shared != nil {
		return nil
	}
	return lb.FloatingIP
}

// VIP is the address of a load balancer. The cloud chooses the empty values of a desired one.
type VIP struct {
	NetworkID string
	SubnetID  string
	PortID    string
	Address   string
	// Additional are the VIPs besides this one, in subnets of the same network. Most load balancers have
	// none. Family is then the IP family of this one, if Address is "".
	Additional []AdditionalVIP `json:",omitempty"`
	Family     string          `json:",omitempty"`
	VIPSettings
}

// Listener is a port on which a load balancer accepts traffic, with its pool.
type Listener struct {
	ID       string
	Name     string
	Protocol Protocol
	Port     int
	Tags     []string
	// AllowedCIDRs are the clients that may connect, sorted; none means all.
	AllowedCIDRs []string
	Limits       Limits
	// InsertHeaders are the headers that are added to requests, sorted.
	InsertHeaders []string
	// TLSContainerRef is the certificate; "" if the listener does not terminate TLS.
	TLSContainerRef string
	AdminDown       bool
	Pool            Pool
	Status          Status
}

// Pool is a set of members and the distribution of traffic over them.
type Pool struct {
	ID          string
	Name        string
	Protocol    Protocol
	Algorithm   string
	Persistence Persistence
	Tags        []string
	AdminDown   bool
	Members     Members
	// Held is set in a desired pool to which no member may be added: existing ones that are among
	// Members stay, or all existing ones if none is. A new pool has no members.
	Held    bool
	Monitor *Monitor
	Status  Status
}

// Persistence is the session persistence of a pool. The zero value is none.
type Persistence struct {
	// Type is SOURCE_IP, HTTP_COOKIE or APP_COOKIE. CookieName is that of an APP_COOKIE.
	Type, CookieName string
	// Timeout is how long an idle client keeps its member, in seconds; 0 is the provider's default.
	// Only pools of UDP and SCTP have one.
	Timeout int
}

// Monitored returns the transport of a pool with a health monitor that the provider has received,
// else "".
func (p Pool) Monitored() Protocol {
	if p.Monitor == nil || p.Monitor.Status.Provisioning == "PENDING_CREATE" {
		return ""
	}
	return p.Protocol.Transport()
}

// Member is a member of a pool, such as a NodePort of a node. Address and Port are its key.
type Member struct {
	ID       string
	Name     string
	Address  string
	Port     int
	SubnetID string
	// MonitorPort is the port of health checks; 0 means Port.
	MonitorPort int
	// SubnetUnknown is set if the subnet of an existing member was not read: SubnetID is empty
	// then. It is never set in a desired member.
	SubnetUnknown bool
	// Weight is the weight of a member that is not Drained; 0 means Octavia's default, 1.
	Weight int
	// Drained is set if the member's weight is 0: its endpoints end (settings.MemberSettings.Drains), or
	// an operator has taken it out of service permanently (plan keeps that). AdminDown is set if
	// admin_state_up is false, which only an operator requests.
	Drained, AdminDown bool
	// Leaving is set in a desired member if its endpoints terminate beside ready ones: it stays if it exists, and is not
	// added.
	Leaving bool `json:",omitempty"`
	// Backup is set if it gets traffic only when all others are down. It is never desired.
	Backup bool
	// Unasked are further settings that no Service can request, such as a monitor_address; "" for none. A
	// desired member has none.
	Unasked string
	Status  Status
}

// Monitor is a health monitor. Delay and Timeout are in seconds.
type Monitor struct {
	ID             string
	Name           string
	Type           string
	Delay          int
	Timeout        int
	MaxRetries     int
	MaxRetriesDown int
	HTTPMethod     string
	URLPath        string
	ExpectedCodes  string
	// HTTPVersion is "1.0" or "1.1", empty for Octavia's default; DomainName is the host of
	// requests with HTTP/1.1.
	HTTPVersion string
	DomainName  string
	Tags        []string
	AdminDown   bool
	Status      Status
}

// FloatingIP is a floating IP on the VIP. A desired one without ID, Address and Tag can be any.
type FloatingIP struct {
	ID        string
	NetworkID string
	// SubnetIDs are those for a new one: the first with a free address is used; none means any in
	// the network.
	SubnetIDs   []string
	Address     string
	Description string
	PortID      string
	// Tag is the required tag of the desired one; Tags are those of an existing one.
	Tag  string
	Tags []string
	// Revision counts the changes of an existing one; nil if it is unknown.
	Revision *int
	// Owned is set if it was created for this Service, so that it may be deleted.
	Owned bool
	// Retained is set if it was created for a deleted Service of the same name, and kept.
	Retained bool
	// Forwards is set if it has port forwardings: then it is on no port.
	Forwards bool `json:",omitempty"`
}

// Asked reports whether a desired floating IP must be a certain one, or one of several.
func (f FloatingIP) Asked() bool { return f.ID != "" || f.Address != "" || f.Tag != "" }

// Fits reports whether an existing floating IP satisfies the desired one.
func (f FloatingIP) Fits(there FloatingIP) bool {
	return (f.ID == "" || f.ID == there.ID) &&
		(f.Address == "" || f.Address == there.Address) &&
		(f.Tag == "" || slices.Contains(there.Tags, f.Tag))
}

// Foreign identifies a listener or pool of another owner.
type Foreign struct {
	Kind string // "listener" or "pool"
	ID   string
	Name string
	// Key is the port of a foreign listener.
	Key ListenerKey
	// Service is the one of a foreign listener, "" if it is unknown.
	Service string
	// ServiceUID is the UID in the tags of a listener or pool, "" for none.
	ServiceUID string
	// Monitored is the transport of its pool, if that has a health monitor.
	Monitored Protocol
}

// String returns its name, and its Service if that is known.
func (f Foreign) String() string {
	if f.Service != "" {
		return fmt.Sprintf("%s %s of %s", f.Kind, f.ID, f.Service)
	}
	return fmt.Sprintf("%s %s, which was not created for this Service", f.Kind, f.ID)
}

// Shared describes a load balancer that was created for another owner.
type Shared struct {
	// Owner describes the owner in words.
	Owner string
	// Removable is set when it is deleted with the last Service on it.
	Removable bool
	// Left is set when the Service has just left it.
	Left bool
	// Orphaned is set if it is Removable, and its owner has no more objects on it.
	Orphaned bool
}

// Protocol is a protocol of a listener or pool, in Octavia's spelling.
type Protocol string

// The protocols that listeners and pools can have.
const (
	TCP             Protocol = "TCP"
	UDP             Protocol = "UDP"
	SCTP            Protocol = "SCTP"
	HTTP            Protocol = "HTTP"
	HTTPS           Protocol = "HTTPS"
	TerminatedHTTPS Protocol = "TERMINATED_HTTPS"
	Prometheus      Protocol = "PROMETHEUS" // of listeners with the load balancer's metrics
	Proxy           Protocol = "PROXY"      // of pools only
	ProxyV2         Protocol = "PROXYV2"    // of pools only
)

// Transport returns the transport protocol that a listener of this protocol binds:
// two listeners of one load balancer cannot share transport and port.
func (p Protocol) Transport() Protocol {
	switch p {
	case UDP, SCTP:
		return p
	default:
		return TCP
	}
}

// HasPool reports whether listeners of this protocol have a pool.
func (p Protocol) HasPool() bool { return p != Prometheus }

// ReadsHTTP reports whether listeners of this protocol read the requests of clients.
func (p Protocol) ReadsHTTP() bool { return p == HTTP || p == TerminatedHTTPS }

// The types of health monitors and of session persistence in use.
const (
	MonitorTCP        = "TCP"
	MonitorHTTP       = "HTTP"
	MonitorHTTPS      = "HTTPS"
	MonitorTLSHello   = "TLS-HELLO"
	MonitorPing       = "PING"
	MonitorUDPConnect = "UDP-CONNECT"
	MonitorSCTP       = "SCTP"
	SourceIP          = "SOURCE_IP"
	AppCookie         = "APP_COOKIE"
)

// ListenerKey identifies a listener in a load balancer.
type ListenerKey struct {
	Transport Protocol
	Port      int
}

// String returns a key as in "TCP/443".
func (k ListenerKey) String() string { return fmt.Sprintf("%s/%d", k.Transport, k.Port) }

// Key returns the key of a listener.
func (l Listener) Key() ListenerKey { return ListenerKey{l.Protocol.Transport(), l.Port} }

// MemberKey identifies a member in a pool. Octavia compares addresses as text: another spelling of
// an IPv6 address is another member.
type MemberKey struct {
	Address string
	Port    int
}

// Compare orders keys by address, then port.
func (k MemberKey) Compare(other MemberKey) int {
	return cmp.Or(strings.Compare(k.Address, other.Address), cmp.Compare(k.Port, other.Port))
}

// EffectiveWeight returns the weight in Octavia: 0 to 256.
func (m Member) EffectiveWeight() int {
	if m.Drained {
		return 0
	}
	return cmp.Or(m.Weight, 1)
}

// Key returns the key of a member.
func (m Member) Key() MemberKey { return MemberKey{m.Address, m.Port} }

// Listener returns the listener with a key, or nil.
func (lb *LoadBalancer) Listener(key ListenerKey) *Listener {
	for i := range lb.Listeners {
		if lb.Listeners[i].Key() == key {
			return &lb.Listeners[i]
		}
	}
	return nil
}

// Has reports whether a load balancer is one of those that were observed.
func (o *Observed) Has(id string) bool {
	return o.LoadBalancer != nil && o.LoadBalancer.ID == id || o.Outgoing != nil && o.Outgoing.ID == id ||
		slices.ContainsFunc(o.Duplicates, func(lb LoadBalancer) bool { return lb.ID == id })
}

// Sort sorts listeners, pools, CIDRs and headers, so that equal load balancers are equal values.
func (lb *LoadBalancer) Sort() {
	slices.SortFunc(lb.Listeners, func(a, b Listener) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
	for i := range lb.Listeners {
		slices.Sort(lb.Listeners[i].AllowedCIDRs)
		slices.Sort(lb.Listeners[i].InsertHeaders)
	}
	slices.SortFunc(lb.Orphans, func(a, b Pool) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
}

// CanonicalCIDRs returns CIDRs sorted, each once. A list that admits all clients becomes the empty
// list, which is equivalent. With VIPs of both IP families, it must admit all of both.
func CanonicalCIDRs(cidrs []string, dualStack bool) []string {
	v4, v6 := slices.Contains(cidrs, "0.0.0.0/0"), slices.Contains(cidrs, "::/0")
	if v4 && v6 || !dualStack && (v4 || v6) {
		return nil
	}
	sorted := slices.Clone(cidrs)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// Observed is the state of the cloud for a Service.
type Observed struct {
	// LoadBalancer is nil if there is none. Its FloatingIP is the one on its VIP.
	LoadBalancer *LoadBalancer
	// Outgoing is the load balancer that LoadBalancer is to replace: it serves until the
	// floating IP is moved.
	Outgoing *LoadBalancer
	// Duplicates are further load balancers of the Service, of concurrent creations. The one in
	// LoadBalancer is kept. Each has the floating IP on its VIP.
	Duplicates []LoadBalancer
	// UnattachedFloatingIPs are floating IPs that the Service can have: its own, left over from an
	// interrupted creation or an earlier load balancer; those that a Service of its name has kept;
	// and the requested one. They are on no port, or on the port for the VIP.
	UnattachedFloatingIPs []FloatingIP
	// Contended is set if another client changed the load balancer during a plan: it may have
	// unread settings.
	Contended bool
}
