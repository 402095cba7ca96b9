// Package async schedules work that waits: an actor for each key that has work
// (Actors), how long a caller's worker may be held by it (Workers), how many may be at
// work at the same time (Places), locks by key (Locks), and reads that callers share
// (Flight). It knows nothing of what the work is.
//
// Work that waits gives its place away (Yield), so that however much of it waits, the work
// that could go on does.
package async
