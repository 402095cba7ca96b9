// Package stopwatch measures where the time of a piece of work goes: in this process, in a queue,
// or in the cloud. A Watch is in the context of the work; each wait records its reason there. If a
// piece of work waits for several things at once, the time counts once, for the last one in the
// order of Parts.
//
// It is in the context of a round: each wait records its reason, and the rest is the controller's own time.
package stopwatch
