package datapath

import (
	"net/netip"
	"time"
)

// Source has the load balancers. It is read again after each notification.
type Source interface {
	// LoadBalancers returns a copy of all load balancers that are not deleted.
	LoadBalancers() []LoadBalancer
	// Subscribe has notify called after anything that LoadBalancers reports may have
	// changed, until cancel. notify never blocks.
	Subscribe(notify func()) (cancel func())
}

// Sink gets the results of the health monitors.
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

// Protocols of listeners and pools that the data path treats in a way of their own. All
// others (TCP, and HTTPS, which is passed through) are carried as bytes over TCP.
const (
	ProtocolUDP             = "UDP"
	ProtocolSCTP            = "SCTP" // not carried
	ProtocolHTTP            = "HTTP"
	ProtocolTerminatedHTTPS = "TERMINATED_HTTPS"
	ProtocolPrometheus      = "PROMETHEUS" // an HTTP listener without a pool
	ProtocolProxy           = "PROXY"
	ProtocolProxyV2         = "PROXYV2"
)

// Balancing algorithms, as Octavia names them.
const (
	AlgorithmRoundRobin       = "ROUND_ROBIN"
	AlgorithmLeastConnections = "LEAST_CONNECTIONS"
	AlgorithmSourceIP         = "SOURCE_IP"
	AlgorithmSourceIPPort     = "SOURCE_IP_PORT"
)

// Types of session persistence, as Octavia names them. The cookies work on HTTP listeners
// only.
const (
	// PersistenceSourceIP keeps a client's address on one member.
	PersistenceSourceIP = "SOURCE_IP"
	// PersistenceHTTPCookie has the load balancer set a cookie that names the member.
	PersistenceHTTPCookie = "HTTP_COOKIE"
	// PersistenceAppCookie follows a cookie that the members set.
	PersistenceAppCookie = "APP_COOKIE"
)

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
	// Settled is true if the provider has applied the state of the API (ACTIVE). While it is false,
	// the last settled configuration stays in force; only Addresses and the members' Status are
	// taken from here.
	Settled bool
	AdminUp bool
	// KeepClientAddress makes members see the client's address (provider ovn) instead of
	// the load balancer's first address (provider amphora).
	KeepClientAddress bool
	// Addresses are the VIP, the additional VIPs and the floating IPs, the VIP first.
	Addresses []netip.Addr
	// Fixed are the VIPs that floating IPs stand for: what a PROXY header names as the
	// destination.
	Fixed map[netip.Addr]netip.Addr
	// FloatingUnchecked gives members that are in ERROR their share of what arrives at
	// floating IPs, without a retry at other members (provider ovn of Zed).
	FloatingUnchecked bool
	Listeners         []Listener
	Pools             []Pool
}

// Listener is a port of a load balancer.
type Listener struct {
	ID       string
	Protocol string
	Port     uint16
	AdminUp  bool
	// NotFloating is the floating IP that does not lead to the listener (provider ovn).
	NotFloating netip.Addr
	// AllowedCIDRs limits who may connect; empty means everyone.
	AllowedCIDRs []netip.Prefix
	// PoolID names the default pool; empty means that connections are closed at once, and
	// HTTP requests answered with 503.
	PoolID string
	// ConnectionLimit is how many connections are carried at one time; further ones wait
	// to be accepted. For UDP it limits the clients of each member. 0 and below mean no
	// limit.
	ConnectionLimit int
	Timeouts        Timeouts
	// Policies, InsertHeaders and TLS matter to HTTP and TERMINATED_HTTPS only.
	Policies []Policy
	// InsertHeaders are insert_headers of the API: the names of headers, each "true" or
	// "false".
	InsertHeaders map[string]string
	// TLS is for TERMINATED_HTTPS.
	TLS ListenerTLS
}

// Timeouts of a listener, as haproxy takes them. 0 means none, for MemberConnect that of
// Options. timeout_tcp_inspect has no counterpart: it delays only the inspection of content,
// of which haproxy does none for Octavia.
type Timeouts struct {
	// ClientData is the maximum time that a connection waits for the client to send.
	ClientData time.Duration
	// MemberConnect bounds one try to connect to a member.
	MemberConnect time.Duration
	// MemberData is the maximum time that a connection waits for the member to send; an HTTP client
	// then gets 504.
	MemberData time.Duration
}

// ListenerTLS is how a TERMINATED_HTTPS listener ends TLS. References are read through
// Options.Certificates.
type ListenerTLS struct {
	// DefaultRef is the certificate for clients that name no server or an unknown one.
	DefaultRef string
	SNIRefs    []string
	// ClientAuthentication is NONE, OPTIONAL or MANDATORY.
	ClientAuthentication string
	// ClientCARef is who must have signed the clients' certificates.
	ClientCARef string
	// Versions are names such as "TLSv1.2"; empty means what Go's TLS offers.
	Versions []string
	// ALPN are names such as "h2" and "http/1.1", the preferred one first.
	ALPN []string
	// HSTS is the value of the header Strict-Transport-Security, "" for none.
	HSTS string
}

// Pool is a set of members and how to choose among them.
type Pool struct {
	ID string
	// Protocol determines whether members get a PROXY header.
	Protocol  string
	Algorithm string
	AdminUp   bool
	// Persistence is the session persistence type, "" for none.
	Persistence string
	// CookieName is the members' cookie, for PersistenceAppCookie.
	CookieName string
	// PersistenceTimeout ends a client's binding after it was idle for so long; 0 means
	// 30 minutes.
	PersistenceTimeout time.Duration
	// PersistenceBits is how many leading bits of an address make one client, for
	// PersistenceSourceIP; 0 means all.
	PersistenceBits int
	TLS             PoolTLS
	Members         []Member
	// Monitor is nil when the pool has no health monitor.
	Monitor *Monitor
}

// PoolTLS is how a pool encrypts towards its members. References are read through
// Options.Certificates.
type PoolTLS struct {
	Enabled bool
	// CertificateRef is the certificate that members may ask for, CARef who must have
	// signed theirs; without it they are not verified. Host names never are.
	CertificateRef, CARef string
	Versions              []string
	ALPN                  []string
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
	// HTTPVersion is "1.0" or "1.1"; empty means 1.1 when there is a DomainName, else 1.0.
	HTTPVersion string
}
