// Package apply carries out plans: it sends the requests of each step, waits for the
// cloud, and returns what the cloud has then. Every step can be repeated: after a failure
// anywhere, the next observation and plan continue.
//
// # Verification after a change
//
// An ACTIVE load balancer can have children in ERROR (a failed change) or PENDING (ovn reports early;
// Octavia 11.0 as packaged by Debian never finishes the children of a fully populated creation). Every wait
// for a change therefore ends with the status tree, which is compared with the model. If they differ, the
// load balancer is read again immediately. Children that are not healthy become steps of the next attempt:
// a PUT with unchanged settings recovers a listener, pool or monitor, a batch the members.
//
// # Drivers that change members one by one
//
// The ovn of Zed works on a batch member by member, and reports the load balancer ACTIVE with the first: a
// hundred members take two minutes on a busy cloud, longer than the wait for the batch. A run therefore
// waits for members that are still being removed, after a change and before the next one, as long as one of
// them goes, or the driver reports anything, every minute (ChildTimeout): it updates all members that stay before it
// removes the first. Another batch would make the driver remove them again, and a member that comes back meanwhile
// would go with them.
//
// The ovn of 2025.1 does the same, and reports the members that it still has to remove as ACTIVE too. So no
// status proves the end of a batch: it is done when the members that it removes are absent. A run knows
// which those are (written), takes them out of the status tree that it reads anyway, and compares the rest
// with its own requests only when they are gone. Members that are missing then are created again in the
// same round, and are not reported as another client's change. The next batch of the same plan waits for
// that too. A round that has not sent the batch waits in package reading.
//
// Both delete the members of a pool one by one before the pool, and report the load balancer and the pool
// ACTIVE after the first. A run that deletes a pool waits until Octavia no longer has it (pools.go).
//
// DELETE of a load balancer with a queue that is not empty makes it ACTIVE again before it goes. The run
// waits for that as well.
//
// # Creations
//
// A round looks by identity before it plans the step CreateLoadBalancer (package observe). After a lost response
// (apierror.IsUnsure) the step looks again, and never repeats the creation in the same call. A list may come from
// a replica that lags behind, so the ID that a creation returned is queried on its own.
//
// When Octavia rejects the contents of a load balancer (a quota of its parts, a 500), it leaks the port of
// the VIP, which it creates first. The next attempt creates the load balancer empty, and fills it. After a
// quota of parts so do all Services, for ten minutes.
package apply
