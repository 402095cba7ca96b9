package state

import "k8s.io/apimachinery/pkg/types"

// index finds and counts entries.
type index struct {
	// on holds the Services on each load balancer, by their last applied state.
	on map[string]map[types.UID]*Entry
	// unpersisted are the entries with something to persist: see Unpersisted.
	unpersisted map[types.UID]*Entry
	// inNamespace and refused count entries, by Entry.Namespace and Refusal.Reason.
	inNamespace, refused map[string]int
}

func newIndex() index {
	return index{
		on: map[string]map[types.UID]*Entry{}, unpersisted: map[types.UID]*Entry{},
		inNamespace: map[string]int{}, refused: map[string]int{},
	}
}

// update follows the change of an entry, and returns the reasons of refusals with another count.
func (i *index) update(uid types.UID, before Entry, e *Entry) (reasons []string) {
	i.move(uid, e, before.appliedID())
	i.listUnpersisted(uid, e)
	recount(i.inNamespace, before.Namespace, e.Namespace)
	return recount(i.refused, before.Refusal.Reason, e.Refusal.Reason)
}

// move updates the index by load balancer of an entry that was on this one.
func (i *index) move(uid types.UID, e *Entry, from string) {
	to := e.appliedID()
	if from != to && from != "" {
		if delete(i.on[from], uid); len(i.on[from]) == 0 {
			delete(i.on, from)
		}
	}
	if to != "" {
		if i.on[to] == nil {
			i.on[to] = make(map[types.UID]*Entry, 1)
		}
		i.on[to][uid] = e
	}
}

// listUnpersisted updates the list of entries with something to persist.
func (i *index) listUnpersisted(uid types.UID, e *Entry) {
	if e.Applied.unpersisted() {
		i.unpersisted[uid] = e
	} else {
		delete(i.unpersisted, uid)
	}
}

// recount moves one from a key to another, "" for none, and returns the keys with changed counts.
func recount(counts map[string]int, before, after string) []string {
	if before == after {
		return nil
	}
	var changed []string
	if before != "" {
		changed = append(changed, before)
		counts[before]--
	}
	if after != "" {
		changed = append(changed, after)
		counts[after]++
	}
	for _, key := range changed {
		if counts[key] == 0 {
			delete(counts, key)
		}
	}
	return changed
}
