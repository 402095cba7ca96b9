package neutron

import "slices"

// table holds objects by ID and remembers the order they were made in, which
// is the order of unsorted lists.
type table[T any] struct {
	byID  map[string]T
	order []string
}

func (t *table[T]) put(id string, object T) {
	if t.byID == nil {
		t.byID = map[string]T{}
	}
	if _, known := t.byID[id]; !known {
		t.order = append(t.order, id)
	}
	t.byID[id] = object
}

func (t *table[T]) get(id string) (T, bool) {
	object, ok := t.byID[id]
	return object, ok
}

func (t *table[T]) remove(id string) {
	if _, known := t.byID[id]; !known {
		return
	}
	delete(t.byID, id)
	t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == id })
}

// all lists the objects in the order they were made.
func (t *table[T]) all() []T {
	objects := make([]T, 0, len(t.order))
	for _, id := range t.order {
		objects = append(objects, t.byID[id])
	}
	return objects
}
