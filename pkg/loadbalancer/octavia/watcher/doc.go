// Package watcher polls the load balancers that operations wait for, with one request for all of
// them.
//
// # Pace
//
// The first poll of a wait is shortly before the time that the fastest of the last nine similar operations
// took. The interval then grows to three seconds; if ten or more wait, it begins to grow after ten seconds.
// When an operation of a kind ends, the other waits for that kind are shortened, and the load balancers
// that the same answer shows PENDING set a lower bound of the duration. If ten or more creations wait, a
// poll may be delayed by a fifteenth of the duration, so that one request serves several. Only the status
// tree of a load balancer, which no list includes, is polled for each one. A wait ends with its context,
// with the process, or when the operation times out.
package watcher
