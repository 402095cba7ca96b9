// Command openstack-cloud-controller-manager connects a Kubernetes cluster to the OpenStack that it
// runs on: Services of type LoadBalancer get Octavia load balancers, and nodes their addresses,
// flavor, zone and region.
//
// # The service controller receives no node events
//
// At every start, and whenever a node comes or goes, the service controller of k8s.io/cloud-provider
// compares all nodes of all Services for each node in its queue: 45 CPU seconds for a start with 200
// Services and 1,000 nodes, hours with 5,000 of both. Its informer of nodes has no events (nodeevents.go),
// so it never calls UpdateLoadBalancer. Its lister returns one Node as long as any node can be a member:
// otherwise it would keep an old copy of every Node for each Service. EnsureLoadBalancer takes the nodes
// from the informer of pkg/resync.
//
// It also receives no event for annotations that this controller writes (serviceinformers.go): it would
// call EnsureLoadBalancer once more for each new load balancer, with a second event EnsuredLoadBalancer.
//
// # Events
//
// The program and the service controller each have a broadcaster of client-go. Both write into one queue
// (events.go), because a broadcaster has room for a thousand events and a change of nodes emits one for each
// Service. Events of the service controller that contain no information are dropped before
// (serviceevents.go).
//
// The service controller is started once the service catalog has Octavia, because it checks only once. With
// leader migration the controllers are started twice; the second start finds the state of the first.
//
// # Callers
//
//	caller                  call                                 when
//	service controller      Ensure                               a Service is new or changed; after a restart
//	                        Get, Delete                          a Service is deleted
//	route controller        ListRoutes, CreateRoute, DeleteRoute every ten seconds; the latter two for differences
//	pkg/resync              Repair                               nodes are added, removed or excluded; their
//	                                                             addresses or selected labels change; drift
//
// # Verbs
//
// The verbs of the program (verbs) share their flags for the output and for the cluster, exit codes and
// signals (pkg/cli). With the name kubectl-openstack_lb the program has only its verbs (docs/commands.md).
package main
