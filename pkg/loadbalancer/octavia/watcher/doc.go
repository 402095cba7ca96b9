// Package watcher polls the load balancers that operations wait for, with one request for all of
// them.
//
// # Pace
//
// A wait asks first when the fastest of the last nine similar operations was nearly done, then at a pace
// that slows down to three seconds, where many wait only after ten. The first operation of a kind that is
// done shortens the wait of those that wait already, and those that the same answer shows PENDING set a
// lower bound of the duration. Of ten creations or more, each may be asked for a fifteenth of its time
// late, so that several are asked for, and reported, together. Only the status tree of a load balancer,
// which no list includes, is polled for each one. A wait ends with its context, with the process, or when
// the operation times out.
package watcher
