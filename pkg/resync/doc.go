// Package resync is the controller for everything that changes the load balancer of a
// Service without a change of the Service itself: nodes that come, go, are excluded or
// get other addresses; labels of nodes, where a Service selects its members by them; and
// drift, which is what another client changes in the cloud. It also writes ID and address
// of load balancers into the annotations of their Services.
//
// The service controller of k8s.io/cloud-provider handles nodes with a single worker,
// which waits for one Service after the other, and knows no drift.
//
// # Node changes
//
// Nodes that are added, removed, excluded or get other addresses or provider IDs, and changes of labels
// that a Service selects by, queue the Services that have the service controller's finalizer. They are
// collected for 100 ms when a node is removed or it is the first change for a minute, else for 5 s. Load
// balancers of other implementations, such as MetalLB, are not touched.
//
// The controller only runs with the service controller: it starts when that requests our load balancers.
//
// # Annotations of load balancers
//
// The annotations load-balancer-id and load-balancer-address, which cloud-provider-openstack writes as
// well, and written-for, which reveals a copy of the Service, are written once in the life of a load
// balancer: with its first conditions, in one patch of the status, which takes metadata as well (the
// finalizer of the service controller is written so too). That patch waits a second for the service
// controller to publish the address, so that the two do not conflict. After a conflict or another failure,
// or without a right to the status, the rest follows in a patch of its own.
package resync
