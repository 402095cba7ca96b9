package loadbalancer

import "reflect"

// Remembered gives how many Services each kind of memory holds.
func (r *Reconciler) Remembered() map[string]int {
	size := func(of any, field string) int { return reflect.ValueOf(of).Elem().FieldByName(field).Len() }
	return map[string]int{
		"memory":  size(&r.memory, "kept"),
		"served":  size(&r.served, "values"),
		"drifts":  size(&r.drifts, "values"),
		"good":    size(&r.good, "values"),
		"notices": size(&r.notices, "last"),
		"refused": size(&r.refusals, "reasons"),
		"told":    size(&r.refusals.told, "set"),
		"touched": size(&r.touched, "set"),
		"filled":  size(&r.learnt.filled, "set"),
		"unsure":  size(r.creations, "unsure"),
		"met":     size(r.groups, "met"),
		"states":  size(r.groups, "states"),
	}
}
