// Package datapath carries the traffic of simulated load balancers. Every VIP and floating
// IP is an address in 127.0.0.0/8 on which it really listens; what comes in goes to a real
// socket at a member's address and port, chosen as Octavia's providers choose, and health
// monitors are real probes. It knows no OpenStack API: a Source says what there is, a Sink
// hears what the probes find.
package datapath
