// Package drift finds changes of other clients in the cloud. A Detector takes snapshots of the
// whole project at intervals, compares them with the applied states, reads the settings that a
// snapshot lacks, and reports the Services to repair. It also persists records for the next
// process, which may contain only states that it has confirmed.
//
// # Equal updated_at means equal contents
//
// The state of a Service relies on that, and our own changes can break it: the time is read when a change
// is done, and a change of another client after it, or within the same second (Octavia's clock has a
// resolution of seconds), would be taken for ours. Therefore:
//
//   - Every wait for a change ends with the status tree (package apply).
//   - The tree does not include settings. The first drift check after that second reads them, once for each
//     Service that was changed since the last check: listeners, pools and, if there are any, monitors. Of
//     several Services they are read together, by their tags, beside the list of parts that each load
//     balancer has; a load balancer with parts that tags do not show is read on its own (together.go, and
//     project.Reader.SettingsOf).
//   - Only then is it recorded, within seconds or when the process ends; the annotations do not wait for
//     it. Changes that are not confirmed when the process ends are recorded then, with a digest of the IDs
//     of all parts (parts.go): the next process trusts that as this one did, and one of its own checks
//     compares the IDs, and the settings with the request of the Service. A process that is killed records
//     nothing then, and the load balancer is read in full, except for lists that all such Services share
//     (goal/takeover.go).
//   - State that was read, not written, is confirmed at once if its updated_at is minutes old.
//
// # Checks
//
// Every drift-interval there is one list of load balancers, one of floating IPs, and two more for managed
// security groups. If an object is missing, or updated_at has changed and the contents differ, the state of
// the Service is dropped and the Service is repaired, with an event that lists the differences. So is a Service with
// parts on a load balancer that does not serve it: those of a move that was taken back (package sharing).
//
// updated_at also changes with the operating status, which reflects the health of members and is no change
// of a client. If both have changed, the status tree is read; if health may have changed twice, the
// settings; and if nothing differs, nothing is reported or done.
//
// A load balancer that a round works on, for any Service, is left to the next check, and a check that began
// before our last change proves nothing about it: a change of ours is never drift, however long it takes
// and however many checks fall into it.
package drift
