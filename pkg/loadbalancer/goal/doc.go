// Package goal has the stages of a round of reconciliation, for each goal of a Service: its desired
// state (Asked), its load balancer as it is while its settings are refused (Kept), or no objects (Gone).
// The providers router and port-forwarding have goals of their own: Routed, Forwarded and RoutedGone. The stages
// are the same for all:
//
//	Recall ──▶ Observe ──▶ Desire ──▶ Plan ──(apply)──▶ … ──▶ Commit
//
// A stage reads its input from the Round that the stages before have filled. What goals share of a stage
// is a small type with only the dependencies that it uses:
//
//	Finder, observer   find and read load balancers and floating IPs
//	Candidates         nodes and endpoints for the members
//	Providers          find out which providers serve a Service, or may
//	routedReader       reads VIPs of provider router, and port forwardings
//	claims             ports of nodes that Services of provider router open
//	recaller           compares the desired state with the one applied last
//	planner            desired state, and options of plans
//	groups             security groups of nodes
//	reporter           changes of another client that are only reported
//	checks             refusals before the first step
//	Changes            records of changes, and features that the provider lacks
//	leaver             removal from load balancers that a Service leaves
//	sharers            Services that share a load balancer by name
//	rollouts           how long members stay when their pods stop
//	results            the state after a round
//	Troubles           events for what only others can end
//
// Engine holds one of each. They have no state: the progress of a round is in its goal and its Round,
// the failovers of load balancers are in Failovers, and everything else is in Memory.
//
// # Leak-proof deletion
//
// GetLoadBalancer reports that the load balancer exists until it, its floating IP and its security groups
// are gone (Gone.Exists). A creation without a response may take effect later: for three minutes Get
// reports that it exists, and a deletion waits for it to appear. A previous process may have sent one too:
// a Service without an address that existed when this process started is assumed to have such a creation.
//
// A load balancer is deleted as a whole only as long as everything in it is ours. If time has passed since
// it was read, as at the end of a replacement or after a 409, one request reads its contents again.
//
// A load balancer is only recreated after the API server itself has confirmed that the Service still
// exists. While a round of the Service runs, Get reports that the load balancer exists, so that a
// concurrent deletion finds the new objects.
//
// # Waits
//
// A round that waits keeps the progress of each stage: reading.Search and reading.Progress of a read,
// departure of a removal.
//
// # Failover and troubles
//
// Failovers bounds the failovers of each load balancer, and records that the role for a failover is missing.
// The step is never repeated: an answer that the load balancer is locked means that it is no longer in
// ERROR, and it is read again.
//
// Troubles that only others can end (ERROR, PENDING, a quota) go through Troubles.Report. It emits one event
// as long as the trouble is the same. The error keeps its first text, with the request ID, so that Kubernetes
// counts one event instead of adding others. Quotas are read (lookup.Quotas) after a refusal, never before a
// creation: in most clouds that request would be wasted. Octavia answers 500 if Neutron's quota has no room
// for the port of a VIP. Such a 500 quotes Neutron's error. It counts as a quota, and nothing was created.
//
// # Rehearsals
//
// Engine.Rehearsing replaces the writers of an engine for previews: plans are executed on the model
// (apply.Rehearsal, as plan.Advance does after each answer), security groups and events are recorded, and
// the state of the Service is a fork of the store. So all plans of a round are known, including those for a
// refused Service, and no second implementation can differ. A random test compares the steps with those of
// the following round.
package goal
