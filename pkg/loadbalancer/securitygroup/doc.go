// Package securitygroup admits load balancers, or their clients, to the NodePorts of the nodes. It
// has the structure of the engine: the request of a Service (spec.go) becomes the wanted state, the
// cloud is read into a State (observe.go), Diff (plan.go) compares the two and is pure, and only a
// change (change.go) writes. Spec.Rules has the table of rules; the names, tags and descriptions of groups and
// rules are in package ownership (securitygroup.go), because they prove which Service they belong to.
//
// There are two modes: a security group for each Service on the ports of its nodes, as in
// cloud-provider-openstack, or one for the cluster on the ports of all nodes, with the rules of all
// Services.
//
// The knowledge about one Service (Entry) is in the Store of the caller. Groups itself holds the
// knowledge about the project and the cluster: the shared group with its ports, its rules as last
// listed, and the groups of all names, which few requests return for all Services.
//
// # Lifetime
//
// Security groups are not part of the load balancer's model: they have a lifetime of their own, all
// Services may share one, and they are never PENDING. The wanted groups are derived from the desired load
// balancer without a read of the cloud (they are part of the digest). Their state is read once, and then
// remembered as this process leaves it. Open runs before the steps of the load balancer, Close after them;
// steps that restrict access are in Open. Both are planned before any write. After a start, the groups of
// all Services are read together, including those of load balancers that need no other read.
//
// The group of a cluster (security-group-mode=shared) is on the ports of all nodes, and rounds of different
// Services change it at the same time. A round uses the nodes that it began with, and may wait for its load
// balancer for hours. So it adds ports for its own nodes, but removes ports only while no round has begun
// with later nodes (package dispatch): those bring every Service another round anyway.
package securitygroup
