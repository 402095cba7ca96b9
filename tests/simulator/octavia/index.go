package octavia

// entry is an object with the load balancer that it belongs to.
type entry struct {
	lb    *LoadBalancer
	thing object
}

// register makes objects findable by their IDs. Members are found through
// their pool.
func (o *Octavia) register(lb *LoadBalancer, things ...object) {
	for _, thing := range things {
		if _, member := thing.(*Member); !member {
			o.index[thing.meta().ID] = entry{lb, thing}
		}
	}
}

func (o *Octavia) unregister(things ...object) {
	for _, thing := range things {
		delete(o.index, thing.meta().ID)
	}
}

// find looks an object of a type up.
func find[T object](o *Octavia, id string) (*LoadBalancer, T, bool) {
	found := o.index[id]
	thing, is := found.thing.(T)
	return found.lb, thing, is
}

// newID is the ID for an object of a kind, as its caller described it.
func (o *Octavia) newID(kind string, given body) string {
	if o.options.NewID != nil {
		if id := o.options.NewID(kind, given); id != "" {
			return id
		}
	}
	return randomID()
}
