// Package members selects the nodes that become members of the pools of a Service. It is
// pure.
//
// An Ensure without a change does no work per member. Selector keeps the list of hosts for as long as the
// list of nodes holds the same objects of the informer, which are replaced and never changed, and all
// Services that select alike share it. Package desire takes it as it is, unless members are in different
// subnets, and a list of hosts is hashed once for all digests. The facts of the cloud that enter are looked
// up in their caches every time.
//
// If the members follow the endpoints of a Service, Follow selects from those hosts for each port.
//
// Having no nodes is an error, never a reason to drain. The readiness of nodes is left to health monitors.
package members
