// Package resync is the controller for changes of a load balancer without a change of its Service:
// nodes that come, go, are excluded or get other addresses; labels of nodes, if a Service selects
// members by them; and drift, which is a change by another client of the cloud. It also writes ID
// and address of load balancers into annotations of their Services.
//
// The service controller of k8s.io/cloud-provider handles nodes with a single worker that waits for
// one Service after the other, and does not detect drift. This controller runs only together with it:
// it starts when the service controller requests the load balancer interface.
//
// # Node changes
//
// A change of nodes queues all Services that have the service controller's finalizer: a node is
// added, removed, or excluded, or gets another address or provider ID. A change of any label queues
// the Services that select their nodes by labels. Changes are collected for 100 ms if a node is removed,
// or if it is the first change for a minute; otherwise for 5 s. Load balancers of other
// implementations, such as MetalLB, are not touched.
//
// # Endpoint changes
//
// EndpointSlices are watched in the same way, for Services with members that may follow their endpoints. The
// right to list and watch them is optional: without it, Endpoints reports that, and the watch is tried
// again each minute.
//
// Endpoints that terminate may keep their member for a while, which Engine.Stay returns. stop.go finds out when each has
// to leave, and queues the Service then.
//
// # Annotations of load balancers
//
// The annotations load-balancer-id and load-balancer-address, which cloud-provider-openstack writes
// as well, and written-for, which reveals a copy of a Service, are written once for each load
// balancer. They are written with its first conditions, in one patch of the status, which accepts
// metadata as well (the service controller writes its finalizer in the same way). That patch waits
// one second for the service controller to publish the address, so that the two do not conflict.
// After a failure, such as a conflict or a missing right to the status, the annotations are written
// in a separate patch.
package resync
