// Package router leads the VIPs of Services to nodes with routes of a Neutron router, without Octavia and
// without an agent on the nodes. A port in a network of its own reserves the VIP, the router has a route
// from the VIP to a node, and kube-proxy on that node distributes the connections.
//
// choose.go selects the next hops, and is pure. Ports reads, creates and deletes ports, and changes routes
// through routes.Table, the only writer of a router.
//
// Forwardings are those of provider port-forwarding, a variant without VIP and routes: a floating IP forwards the ports
// of a Service to the NodePorts of one node. The description of a forwarding proves which Service it belongs to.
//
// The port is created first and deleted last, and has the tags of cluster and Service. It proves that the
// routes to its address are the Service's, also after a crash. After a start, one list of ports and one read
// of the router are sufficient for all Services.
package router
