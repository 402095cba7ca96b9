// Package replay sends recorded requests to a simulated Octavia and says where
// its answers differ from the recorded ones.
//
// There are two kinds of recordings. A sequence (one JSON object a line) was
// made against a bare Octavia API process, with events in place of its worker:
// nothing settles by itself. An exchange (a JSON array) was made against a
// whole control plane, with the waits that its client did: what is pending in
// the recording stays pending, and settles when the recording moves on.
//
// IDs, times and allocated addresses are different each time, so they are
// mapped from the recording to the replay; everything else has to be the same:
// status, content type, and the body as JSON, texts of errors included. The
// order of a list counts, that of children within an object does not (it is
// the database's). Exceptions lists what is deliberately different.
package replay
