// Package stopwatch says where the time of a piece of work went: in this process, waiting for
// its turn, or in the cloud. A Watch goes along in the context of the work, and whatever waits
// says for what. Where several wait at once for the same work, the time counts once, for the
// last in the order of Parts.
//
// It is in the context of a round: each wait records its reason, and the rest is the controller's own time.
package stopwatch
