// Package plan compares the requested load balancer of a Service with the existing one, and returns
// the steps from one to the other. It is pure: the same two models result in the same plan, in the
// same order.
//
// The steps are typed, and each prints as one line. Diff(x, x) is empty, and after Advance has changed a
// model as the steps change the cloud, the next Diff is empty. Tests try this with thousands of random
// pairs.
//
// # Order within a plan
//
// Steps that admit fewer clients come first (floating IP detached, CIDRs restricted), steps that admit more
// come last. A removed port frees its number before a port is added. A new port gets its pool, members and
// monitor before its listener. A monitor of another type is deleted before the members change, and
// recreated after. A listener is changed in one request. A pool of another protocol is ready before its
// listener is switched to it. A listener of another protocol is replaced last (listeners.go has the table).
//
// A provider that rejects fully populated creations, or batches of members (the features FullCreate and
// MemberBatches of package driver: known to its table, from a 501, or set in cloud.conf), gets the same plan in
// single steps.
//
// # Values that are left alone
//
// A limit of a listener (timeouts, connections) that no Service requests belongs to the operator: it is not
// sent, and existing values are left alone. A limit that was requested once is recorded in the listener's
// description, so that it can be reset later. On listeners of cloud-provider-openstack, which always sends
// all of them, any value that differs from Octavia's default counts as requested (model/limits.go).
//
// Existing members keep attributes that no Service requests otherwise (their subnet, weight 0): keep.go has
// the rules. The desired model, and thus the digest, does not include them.
//
// Tags that users request are set at creation only and never compared: a PUT of a load balancer's tags is a
// full PENDING cycle and can end in ERROR. For the same reason the tags of a load balancer are never
// changed after its creation.
//
// # Members
//
// Members that move to another subnet are recreated in two halves, because Octavia would only record a new
// subnet of a member in its database. A change of members that exceeds one request is cut so that no member
// that stays is ever missing. Where many leave a pool and the others do not fit into a request, another
// pool takes its place (batches.go). A driver with the quirk MemberByMember gets few members of many in
// single requests: members.go has the rule.
//
// # The ovn of Zed
//
// The provider ovn of Zed (and of 2023.1, which cannot be distinguished) loses the monitors of a fully
// populated creation, hangs when a listener is created beside a monitor of its transport, and leaves
// listeners and pools in PENDING_UPDATE when a monitor changes. There, load balancers are created without
// monitors, which follow one by one. Monitors are deleted before listeners are created, and recreated last.
// A pool with a lost monitor is replaced. One monitor is recreated when the deletion of another has
// disabled the rest of its transport. A final PUT recovers pool and listener. ovn_zed.go has the table;
// tests/simulator/octavia/ovn.go has that of the driver.
//
// # ERROR, replacement and duplicates
//
// A load balancer in ERROR with an address that was never published is replaced. One that was published may
// still carry traffic: it is failed over (failover.go), else replaced if the Service permits that, else
// left alone. Octavia takes no other write of it.
//
// A load balancer that cannot become what the Service requests (provider, flavor, zone, VIP) is replaced if
// the Service permits it (replace.go). The replacement is created beside it and takes over the floating IP
// in one request once it is healthy. Then the old one is deleted. The tag kube_lb_replaces_<ID>_<hash> of
// the replacement shows at every moment which of the two should stay, and prevents a second attempt for a
// request that the replacement does not satisfy either.
//
// Of two load balancers of one Service, one is kept and the other deleted, after everything else
// (ownership.Choose has the truth table). The one with the published address is never deleted as a
// duplicate. If the Service names the other one, the floating IP is moved to it first.
package plan
