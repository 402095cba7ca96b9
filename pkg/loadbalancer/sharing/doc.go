// Package sharing decides whether a Service may use a load balancer or floating IP of another
// owner.
//
// Several Services can use one load balancer: its owner, for which it was created, and others that
// name it in their annotation. Each has its own listeners and pools there, marked with its UID; all
// else, especially the floating IP, belongs to the owner. The last Service on it deletes the load
// balancer if it was created for a Service of this cluster.
//
// # A Service on the load balancer of another
//
// If load-balancer-id names a load balancer that was created for another Service, only the listeners of the
// Service are desired, and package plan changes nothing else. The tags of a listener record its owner. On
// another Service's load balancer names prove nothing, unless the Service has published the load balancer's
// address, which shows that it was there before us.
//
// The tags of the load balancer do not list the Services that use it. cloud-provider-openstack updates them
// whenever a Service joins or leaves. This controller does not, because that PUT is a PENDING cycle of a
// load balancer that all of them use, can end in ERROR, and two controllers never manage one cluster at the
// same time. The price: users add the tags by hand before they go back (docs/migration.md). Listeners are
// counted instead of tags, so a stale tag has no effect, and nothing has to be written when the owner
// leaves.
//
// The last Service on a load balancer deletes it, if it was created for this cluster and the Service has a
// listener on it. For a Service that is not the owner this is one cascading request: its listeners are its
// only proof, and must not be deleted before. A load balancer that its owner has left keeps the owner's
// tags and floating IP until then.
//
// # Sharing by name
//
// Services of a namespace with the same name in their annotation share use one load balancer (PlaceOf). Each
// decides for itself, from what is known of the others: the state of this process, else the annotation
// written-for, which has the name too. A load balancer that Services have under this name counts more
// than one that a joining Service has of its own, so that those that have joined do not move. The result acts
// as load-balancer-id, which is not written: a Service that leaves the share must not stay by its ID.
//
// Without a known load balancer, one is created for the first of Creators, and the others wait. The store
// keeps that choice while the Service exists and is not refused, because an older Service may come while the
// load balancer is being created. A restart between a creation and its record needs no such memory: the
// creator finds its load balancer by its tags.
//
// # Moves
//
// A Service that names another load balancer, or none, moves: once the new place is ready, and before that
// is stored, it is removed from all others. These are only searched if the stored, persisted or published
// place is not the current one: its own by tag, its listeners by tag, and the published address. They are
// also searched after this process has begun a move and the Service has turned back, or gone on to a third
// place, before it was complete: stored, persisted and published place then agree with the request, so the
// state has the destination of the move (state.Made.Entered). If the process ends meanwhile, the next one
// finds the parts when it reads the destination for the other Services there, because updated_at has moved,
// and no record has its new value: the drift check then adds the destination to the state of their Service. A
// Service has no floating IP on the load balancer of another, so a floating IP of its own that a move leaves
// on no port is deleted too.
//
// A change of one Service changes updated_at for all Services on the load balancer. It holds the lock of
// the load balancer, so the state of the others with the previous time is updated to the new one, and they
// need not read anything.
package sharing
