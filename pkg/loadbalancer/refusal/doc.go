// Package refusal classifies the reasons why Services are refused: the request is impossible until
// the Service, the configuration or the cloud changes. It also composes the error that the service
// controller reports, and decides when to retry.
//
// # What a refused Service keeps
//
// A Service keeps its load balancer in operation after every refusal, of the controller and of the cloud.
// After a refusal before the first write, the goal is the last settings that were applied completely. If
// these are unknown, as after a restart, or are refused as well, it is goal.Kept: the load balancer as it
// is, with the current nodes. Planning, security groups, drift and state therefore work as usual; later
// drift is measured against the first observed state.
//
// After a refusal by OpenStack, in the middle of a plan, the goal is goal.Kept immediately: the next
// attempt would undo a return to the previous settings, at the cost of a PENDING cycle each time. The last
// good settings are not persisted for the next process: after a switch from another controller none exist,
// so the observed state must suffice anyway.
//
// Kube-proxy follows the live Service, refused or not. So NodePorts, healthCheckNodePort and
// externalTrafficPolicy always come from the live Service: lastGood (pkg/loadbalancer) puts them into the
// accepted Service, desire.Follow into the observed load balancer. Annotations and the set of ports are
// kept.
package refusal
