// Package datapath carries the traffic of simulated load balancers. Every VIP and floating
// IP is an address in 127.0.0.0/8 on which it really listens; what comes in goes to a real
// socket at a member's address and port, chosen as Octavia's providers choose, and health
// monitors are real probes. It knows no OpenStack API: a Source says what there is, a Sink
// hears what the probes find, Certificates reads what references lead to.
//
// # Listeners
//
//	protocol           what is done
//	TCP, HTTPS         bytes are copied both ways; TLS passes through
//	HTTP               requests are answered by members, one by one, over HTTP/1.1
//	TERMINATED_HTTPS   the same behind TLS (and HTTP/2 if alpn_protocols say so)
//	UDP                datagrams; a client's address and port keep their member
//	PROMETHEUS         an HTTP listener that has no pool: 503
//	SCTP               not carried: Go has no sockets for it
//
// A listener's connection limit counts over all addresses of its load balancer. What is
// beyond it waits to be accepted, as in front of haproxy. For UDP it is the number of clients
// that each member may have, as with keepalived.
//
// timeout_client_data and timeout_member_data end what is silent for so long when it is its
// turn. An HTTP client that waits for an answer is not silent, nor is a member that waits for
// the rest of a request. A silent member is told to HTTP clients as 504.
// timeout_member_connect bounds one try to connect. timeout_tcp_inspect changes nothing, nor
// does it in an amphora, where nothing inspects content.
//
// # HTTP
//
// What the client sends is passed on as it is, with the listener's insert_headers:
// X-Forwarded-For is added to what there is already, X-Forwarded-Port, X-Forwarded-Proto and
// the X-SSL-Client headers replace it. L7 policies act in haproxy's order: REJECT (403)
// before redirections to a URL or prefix before redirections to a pool, each by position; a
// policy without an enabled rule, or to a pool that is down, does not act. HOST_NAME rules
// ignore case and leave the port out.
//
// The load balancer itself answers 503 when no member is up or can be connected to, 502 when
// a member hangs up, 504 when it is silent. Requests, not connections, are balanced. An open
// connection follows changes of the configuration from its next request on; when its
// listener is gone it is answered once more and closed.
//
// # TLS
//
// TERMINATED_HTTPS shows the certificate behind default_tls_container_ref, or the one behind
// one of sni_container_refs that fits the name. Client authentication, versions, ALPN and
// HSTS are the listener's; cipher strings and revocation lists have no effect. A listener
// whose certificates cannot be read is reported and tried again; one that serves already
// keeps what it has. Certificates are read once per reference.
//
// A pool with TLS encrypts towards its members, verifies them if it has a CA, never by name,
// and shows them its certificate if it has one; HTTP listeners speak HTTP/1.1 to them.
//
// # Members
//
// A pool of protocol PROXY or PROXYV2 tells members the client's address and port, and the
// VIP as the destination, also of what came by a floating IP.
//
// A member gets new clients when it and its pool are up, its weight is above 0, and its
// operating status lets it; backup members when no other can. Weight 0 keeps the clients that
// are bound to the member by persistence, as haproxy does.
//
//	persistence    a client is                        bound for
//	SOURCE_IP      an address, or its network by      the pool's timeout since it was last seen
//	               persistence_granularity
//	HTTP_COOKIE    who sends the cookie SRV, which    as long as it sends it
//	               the load balancer sets
//	APP_COOKIE     who sends a value of the cookie    the pool's timeout since it was last seen
//	               that a member has set
//
// # Probes
//
// TCP, HTTP, HTTPS, TLS-HELLO and UDP-CONNECT are real. HTTP requests are 1.0 without a host
// unless the monitor says otherwise. Where no other address or port is probed, a probe begins
// as the pool's connections do: with a PROXY header that names nobody, and with TLS. PING
// always succeeds.
//
// # Changes
//
// Connections survive changes of members, pools, listeners and allowed CIDRs. They end with
// the load balancer, or with the address by which they came. Established clients of a member
// that fails are not cut off.
//
// # Statistics
//
// [Plane.Statistics] counts connections and bytes of each listener, from when it was first
// served. Request errors are not counted.
//
// # Clocks
//
// Probes, persistence, idle UDP clients and the data timeouts follow Options.Clock; connecting,
// TLS handshakes and what a probe waits for follow the real one, as sockets do.
package datapath
