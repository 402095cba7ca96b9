// Package datapath carries the traffic of simulated load balancers. It listens on every VIP and
// floating IP, which are addresses in 127.0.0.0/8 or ::1, and forwards connections to the address and port
// of a member, selected as Octavia's providers select it. Health monitors send real probes. The
// package does not depend on an API of OpenStack: a Source has the configuration, a Sink gets the
// results of the probes, and Certificates reads certificates by reference.
//
// # Listeners
//
//	protocol           behaviour
//	TCP, HTTPS         bytes are copied both ways; TLS passes through
//	HTTP               members answer request by request, over HTTP/1.1
//	TERMINATED_HTTPS   the same behind TLS (and HTTP/2 if alpn_protocols has it)
//	UDP                datagrams; a client's address and port keep their member
//	PROMETHEUS         an HTTP listener without a pool: 503
//	SCTP               not supported: Go has no sockets for it
//
// A listener's connection limit counts over all addresses of its load balancer. Further connections
// wait until they are accepted, as with haproxy. For UDP the limit is the number of clients of each
// member, as with keepalived.
//
// timeout_client_data and timeout_member_data limit the wait for a side that must send. A client
// that waits for an answer need not send, nor does a member that waits for the rest of a request.
// If the member exceeds its timeout, an HTTP client gets 504. timeout_member_connect limits one
// connection attempt. timeout_tcp_inspect has no effect, as in an amphora, where no content is
// inspected.
//
// # HTTP
//
// Requests are forwarded unchanged, with the listener's insert_headers: X-Forwarded-For is appended
// to an existing header, X-Forwarded-Port, X-Forwarded-Proto and the X-SSL-Client headers replace
// it. L7 policies apply in haproxy's order: REJECT (403) before redirections to a URL or prefix
// before redirections to a pool, each by position. A policy without an enabled rule, or to a pool
// that is disabled, does not apply. HOST_NAME rules ignore case and the port.
//
// The load balancer itself answers 503 if no member is up or accepts the connection, 502 if a
// member closes the connection, and 504 if it sends nothing. Requests, not connections, are
// balanced. An open connection uses a changed configuration from its next request on; after its
// listener is deleted, it gets one more answer and is closed.
//
// # TLS
//
// TERMINATED_HTTPS presents the certificate of default_tls_container_ref, or the one of
// sni_container_refs that matches the name. Client authentication, versions, ALPN and HSTS follow
// the listener; cipher strings and revocation lists have no effect. Unreadable certificates of a
// listener are reported and read again later; a listener that already serves keeps its
// certificates. Certificates are read once per reference.
//
// A pool with TLS encrypts connections to its members. With a CA it verifies their certificates,
// but not their names, and with a certificate it presents that one. HTTP listeners use HTTP/1.1 to
// members.
//
// # Members
//
// A pool of protocol PROXY or PROXYV2 sends members the client's address and port, and the VIP as
// the destination, also for connections to a floating IP.
//
// A member gets new clients if it and its pool are enabled, its weight is above 0, and its
// operating status permits it; backup members only if no other member can. With weight 0 a member
// keeps the clients that are bound to it by persistence, as with haproxy. Members serve VIPs of both IP
// families, except for UDP and with the provider ovn, which translate addresses.
//
//	persistence    identity of a client               lifetime of the binding
//	SOURCE_IP      its address, or its network by     the pool's timeout since its last use
//	               persistence_granularity
//	HTTP_COOKIE    the cookie SRV, which the load     that of the cookie
//	               balancer sets
//	APP_COOKIE     the value of a cookie that a       the pool's timeout since its last use
//	               member has set
//
// # Probes
//
// TCP, HTTP, HTTPS, TLS-HELLO and UDP-CONNECT are real. HTTP requests are 1.0 without a host unless
// the monitor has another version. If a probe has no other address or port, it begins like the
// connections of the pool: with a PROXY header, which has no client, and with TLS. PING always
// succeeds.
//
// # Changes
//
// Connections survive changes of members, pools, listeners and allowed CIDRs. They end with the
// load balancer, or with their address. Connections to a member that fails are not closed.
//
// # Statistics
//
// [Plane.Statistics] counts connections and bytes of each listener since it was first served.
// Request errors are not counted.
//
// # Clocks
//
// Probes, persistence, idle UDP clients and the data timeouts use Options.Clock; connection
// attempts, TLS handshakes and the timeouts of probes use the real clock, as sockets do.
package datapath
