// Package state holds the knowledge of each Service: one Store with one Entry for each Service UID.
// An Entry without content does not exist; Forget drops the Entry of a deleted Service. Store.Update changes an
// Entry; changes of more than a field are methods of Entry and of its parts.
//
// Counts over all Services, for max-services-per-namespace and the metric of refused Services, are
// derived from the entries under the same mutex.
//
// Some knowledge outlives an Entry: unanswered creations (Creations), floating IPs that were left in the project for
// the next Service of a name (Retained), and the record of a Service (Record), which package records stores for
// the next process. Which Service creates the load balancer of a share (Creators), and an exhausted quota (Shortage), are
// knowledge of several Services.
//
// Knowledge that is not of one Service is elsewhere: the requests that a driver of Octavia refuses,
// and, in package securitygroup, the group that a cluster shares, the ports that use it, and lists
// of the groups of the project.
//
// # Contents of the state
//
// The state of a Service is a digest of its last successful request, the load balancer's updated_at at that
// time, and the load balancer's contents, which are never changed: a change begins with Clone. An Ensure
// with the same digest returns at once. Before a change on the basis of this state, the watcher checks that
// updated_at is unchanged; concurrent checks share a request. Package drift guards the assumption that
// equal updated_at means equal contents.
//
// # Records
//
// To survive a restart, the record of a Service holds the load balancer's ID, updated_at, the digest, the
// UID of the Service, the ID of the floating IP (the published address may be a host name, which proves
// nothing), its parts where they are yet to be confirmed, a digest that ignores nodes, a version, and
// hashes of the warnings that were emitted: a restart emits none of them again. Digests of another version
// of the program are ignored, so that an upgrade reads each load balancer once. If only the digest without
// nodes matches, the status tree supplies the missing IDs and members. A new process reads the whole
// project once and trusts every record that still matches. Nothing is deleted, adopted or changed because
// of a record.
package state
