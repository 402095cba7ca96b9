// Package replay sends recorded requests to a simulated Octavia and reports the differences between
// its answers and the recorded ones.
//
// There are two kinds of recordings. A sequence (one JSON object per line) was recorded from an
// Octavia API process without a worker, with events instead: no object settles by itself. An
// exchange (a JSON array) was recorded from a whole control plane, with the waits of its client: an
// object that is pending in the recording stays pending, and settles when it is settled in the
// recording.
//
// IDs, times and allocated addresses are different each time, so they are mapped from the recording
// to the replay. Everything else must be equal: status, content type, and the body as JSON,
// including texts of errors. The order of a list counts; that of children within an object, which
// comes from the database, does not. Exceptions lists the intended differences.
package replay
