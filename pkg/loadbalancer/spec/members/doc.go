// Package members selects the nodes or pods that become members of the pools of a Service. It is
// pure.
//
// An Ensure without a change does no work per member. Selector keeps the list of hosts for as long as the
// list of nodes holds the same objects of the informer, which are replaced and never changed, and all
// Services that select alike share it. Package desire takes it as it is, unless members are in different
// subnets, and a list of hosts is hashed once for all digests. Facts about the cloud are read from their
// caches on every call.
//
// If the members follow the endpoints of a Service, Follow selects from those hosts for each port. If pods are the
// members, Pods selects them.
//
// # When pods stop
//
// With most drivers, a member leaves when its pods begin to terminate. A driver with the quirk CutsRemoved (ovn) cuts
// the connections of a removed member, so that it stays until shortly before they stop:
//
//	Grace             how long pods serve after their deletion, by their preStop hooks
//	Rollout.Stay      how long members then stay (rollout.go)
//	goal/rollout.go   measures removals, reads the hooks of a pod, and stores the result in package state
//	resync/stop.go    queues the Service when a member has to leave, and marks its endpoints (WithStopping)
//	Follow, Pods      leave out members of which all endpoints are marked
//
// # Nodes
//
// A cluster without nodes is an error, never a reason to drain. Pools are emptied only if all nodes are
// excluded, or if the node selector matches none. Health monitors decide about the readiness of nodes.
package members
