package loadbalancer

// Known returns the number of Services of which something is known.
func (r *Reconciler) Known() int { return r.store.Len() }
