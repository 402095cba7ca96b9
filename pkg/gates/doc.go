// Package gates opens the readiness gates of pods after their load balancers have followed them.
// Without a gate, a rollout replaces the next pod when the last one is ready for Kubernetes, perhaps
// before any load balancer has it.
//
// # The pods
//
// Only pods with Label are watched. An admission policy of manifests/readiness-gates adds the gate to
// them; a template of pods may have it as well. While the gate is the only reason why such a pod is
// not ready, the EndpointSlices have it neither as ready nor as serving. Its addresses count as ready
// nevertheless, so that it becomes a member: see members.Endpoints.WithReady. This ends some time
// after the gate was opened, when the slices have it as ready.
//
// # When a gate opens
//
//	no Service with a published load balancer that      at once
//	may follow endpoints selects the pod
//	such Services select it                             after a round of each of them that began with
//	                                                    the pod has ended
//	such a round does not end                           after patience
//
// The result of the round does not matter: a gate never stops a rollout because of a failure of the
// controller or the cloud. An open gate is never closed.
package gates
