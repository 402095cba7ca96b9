// Package async lets work wait without a goroutine. Work that cannot go on returns ErrWaiting, and is
// called again when its condition holds: see Await. The package also has locks by key (Locks), a bound
// for concurrent work (Slots), and reads that callers share (Flight, Batches).
package async
