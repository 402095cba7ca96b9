// Package garbage finds and removes orphaned objects in the cloud: those of a deleted cluster
// (Run), and those that belong to no Service of an existing cluster (Collector).
//
// The name, description and tags of an object identify its owner (package ownership): by the ID of
// a cluster or, without one, as on objects of cloud-provider-openstack and of the provider inside
// of Kubernetes, by the name of a cluster. List is pure. No decision is stored: the next run
// continues an interrupted one.
//
// # A deleted cluster
//
// Run has no Services, and so no desired state and no plan: List decides by the identity of the cluster
// alone, from one list of each kind of object, and every removal repeats that decision for its load
// balancer, because others may use it by then. For a second run to come to the same decisions, the
// strongest proof is removed last: a floating IP before its load balancer, without which it could not be
// distinguished from a kept one.
//
// # An existing cluster
//
// List gets the Services, and only objects of none of them count as the cluster's; Services has the table
// of the objects that they use, for any owner. The cloud is listed before the Services, and these from the
// API server: so no object is listed without its Service, unless the Service is gone. A second search an
// interval later leaves time for running operations. created_at is not needed: garbage for an interval is
// at least as old, regardless of the cloud's clock. A new process starts with its first search.
//
// Removals hold the lock of the load balancer, which every round of a Service holds, and decide again under
// it, with the Services listed anew. The strongest proof, and the object by which the rest is found, is
// removed last, for the next process: a floating IP before its load balancer, a pool before its listener.
package garbage
