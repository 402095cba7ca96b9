package datapath

import (
	"net/netip"
	"time"
)

// Source tells which load balancers there are. It is asked again after each notification.
type Source interface {
	// LoadBalancers returns a copy of all load balancers that are not deleted.
	LoadBalancers() []LoadBalancer
	// Subscribe has notify called after anything that LoadBalancers reports may have
	// changed, until cancel. notify never blocks.
	Subscribe(notify func()) (cancel func())
}

// Sink is told what the health monitors find.
type Sink interface {
	// SetMemberOperatingStatus records one of the Status values of the member. It may be
	// called for a member that was removed a moment ago.
	SetMemberOperatingStatus(memberID, status string)
}

// Operating statuses of a member that matter to the data path.
const (
	StatusOnline    = "ONLINE"
	StatusError     = "ERROR"
	StatusDraining  = "DRAINING"
	StatusNoMonitor = "NO_MONITOR"
)

// Protocols of a listener that are carried as datagrams; all others are carried over TCP.
const protocolUDP = "UDP"

// Balancing algorithms, as Octavia names them.
const (
	AlgorithmRoundRobin       = "ROUND_ROBIN"
	AlgorithmLeastConnections = "LEAST_CONNECTIONS"
	AlgorithmSourceIP         = "SOURCE_IP"
	AlgorithmSourceIPPort     = "SOURCE_IP_PORT"
)

// PersistenceSourceIP keeps a client's address on one member.
const PersistenceSourceIP = "SOURCE_IP"

// Types of health monitors, as Octavia names them.
const (
	MonitorTCP        = "TCP"
	MonitorHTTP       = "HTTP"
	MonitorHTTPS      = "HTTPS"
	MonitorTLSHello   = "TLS-HELLO"
	MonitorUDPConnect = "UDP-CONNECT"
	MonitorPing       = "PING"
)

// LoadBalancer is one load balancer with all that its data path needs to know.
type LoadBalancer struct {
	ID string
	// Settled is true when the provider has applied what the API says (ACTIVE). While it
	// is false the configuration that was last settled stays in force; only Addresses and
	// the members' Status are taken from here.
	Settled bool
	AdminUp bool
	// KeepClientAddress makes members see the client's address (provider ovn) instead of
	// the load balancer's first address (provider amphora).
	KeepClientAddress bool
	// Addresses are the VIP, the additional VIPs and the floating IPs, the VIP first.
	Addresses []netip.Addr
	Listeners []Listener
	Pools     []Pool
}

// Listener is a port of a load balancer.
type Listener struct {
	ID       string
	Protocol string
	Port     uint16
	AdminUp  bool
	// AllowedCIDRs limits who may connect; empty means everyone.
	AllowedCIDRs []netip.Prefix
	// PoolID names the default pool; empty means that connections are closed at once.
	PoolID string
}

// Pool is a set of members and how to choose among them.
type Pool struct {
	ID        string
	Algorithm string
	AdminUp   bool
	// Persistence is the session persistence type; only PersistenceSourceIP has an effect.
	Persistence string
	// PersistenceTimeout ends a client's binding after it was idle for so long; 0 means
	// the default of haproxy's table, 30 minutes.
	PersistenceTimeout time.Duration
	Members            []Member
	// Monitor is nil when the pool has no health monitor.
	Monitor *Monitor
}

// Member is one backend of a pool.
type Member struct {
	ID      string
	Address netip.Addr
	Port    uint16
	// Weight is the member's share; with 0 it gets no new connection.
	Weight  int
	AdminUp bool
	// Backup members serve only when no other member can.
	Backup bool
	// MonitorAddress and MonitorPort say where to probe; when unset, Address and Port.
	MonitorAddress netip.Addr
	MonitorPort    uint16
	// Status is the operating status that the API shows now.
	Status string
}

// Monitor is a pool's health monitor.
type Monitor struct {
	Type    string
	AdminUp bool
	Delay   time.Duration
	Timeout time.Duration
	// MaxRetries successes in a row bring a member back, MaxRetriesDown failures in a row
	// take it out.
	MaxRetries     int
	MaxRetriesDown int
	// Method, Path, ExpectedCodes and DomainName matter to HTTP and HTTPS only.
	// ExpectedCodes is "200", a list "200,202" or a range "200-204".
	Method        string
	Path          string
	ExpectedCodes string
	DomainName    string
}
