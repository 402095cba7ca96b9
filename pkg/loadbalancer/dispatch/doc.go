// Package dispatch is the queue of rounds: one at a time for each Service, begun with its newest state,
// and shared by the callers that request the same. A round that waits for the cloud is a value in the
// queue: it has no goroutine, and holds no worker.
//
// # Rounds
//
// Ensure, Repair and Delete queue requests, which are served one after the other, because package resync
// works beside the service controller. Requests that are still queued are merged. A round begins with the
// Service and its nodes as the informers have them; a state older than one that was served is ignored. A
// Repair asks Request.MayCreate right before it creates an object, because it may run after the deletion of
// the Service. One lock per load balancer serializes the rounds of Services that share it.
//
// A function that has to wait for the cloud, a lock or the clock returns async.ErrWaiting up to the queue.
// Its state is in the round: pursuit in pkg/loadbalancer/reconcile.go, apply.Run, reading.Search and
// reading.Progress, and look and departures in package goal. When the condition of the wait holds, the queue calls the round again, and
// every function continues where it waited. A Service that waits takes at most 8 KiB more than one that
// is done, and no goroutine.
//
// A hundred workers work on the rounds of the service controller's calls, and a hundred on repairs, so that
// neither delays the other. Only a request blocks one of them, which tests/checks/layers checks. A round counts as
// one more for every three hundred members. This bounds the memory of answers that are being decoded, and of
// load balancers that are being compared.
//
// A round may take 15 minutes, without the time in which it waits for its turn, because five thousand load
// balancers take Octavia more than an hour. A round that has waited that long ends if the Service requests
// another state by now, or is deleted.
//
// # Calls of the service controller
//
// A call waits for ten seconds at most. If at most a tenth of the workers of the service
// controller (--concurrent-service-syncs) is free, a call returns as soon as its round waits. The round goes on. At
// its end, the handler of the service controller for new Services is called (serviceinformers.go in cmd),
// and the next call returns the result. So a single worker of the service controller suffices for any
// number of load balancers.
//
// For a new Service, the first call ends with ImplementedElsewhere, after which the service controller
// neither reports nor repeats: a thousand Services that wait for Octavia cost two calls each. For retries,
// changes and deletions the call ends with an api.RetryError, because the service controller has to
// remember the delays of retries. It emits a Warning event SyncLoadBalancerFailed for it, which its client
// does not write.
//
// Get returns at once: while an operation for a Service is running, it reports that the load balancer
// exists.
package dispatch
