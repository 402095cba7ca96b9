// Package routes connects the pod networks through a Neutron router: each pod CIDR of a node
// becomes a route with the node as next hop. It implements cloudprovider.Routes for the route
// controller of k8s.io/cloud-provider.
//
// Routes have no tags, and several clusters may share a router. A route is ours only with proof:
//
//	it leads to a pod CIDR of a Node, through an address of that same Node   ours
//	it is in our record (a ConfigMap): we made it, or it once was the above  ours
//	anything else                                                            never touched
//
// A route of ours that leads to no Node is reported as a blackhole, and the route controller
// deletes it. A pod CIDR with a route of another client to another next hop is an error.
//
// A Table also leads the VIPs of provider router to nodes (Lead), with a route for each next hop. A VIP is
// proven by its port, so that these routes are not in the record. One Table is the only writer of its
// router in this process: all operations go through the same batches.
//
// The package needs no model: targets determines which pairs lead to our Nodes, the record which other
// pairs are ours, and one batch executes all calls of the route controller that arrive within a tenth of a
// second. The record is written before the router. A route is added before its allowed address pair and
// removed after it, so that the next CreateRoute completes a route that is incomplete after a crash.
package routes
