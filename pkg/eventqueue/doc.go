// Package eventqueue records events with the API server. Unlike the broadcaster of client-go, which
// writes events one by one and drops those beyond a thousand, it has room for all events of a
// change of nodes, one for each Service, and writes them concurrently.
//
// The first event is written at once, those of the second after it together, up to 32, a hundred a second:
// one that is written alone takes 0.6 ms of CPU time, most of it to wake up, 32 together 0.2 ms each.
package eventqueue
