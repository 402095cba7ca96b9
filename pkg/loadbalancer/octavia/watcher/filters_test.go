package watcher

import "testing"

func TestFilters_ListsByStatusWhereFewOfManyArePendingInAKnownOne(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		total   int
		pending map[string]string
		filters bool
	}{
		"few of many":       {100, map[string]string{"a": "PENDING_UPDATE", "b": "PENDING_CREATE"}, true},
		"few of few":        {99, map[string]string{"a": "PENDING_UPDATE", "b": "PENDING_CREATE"}, false},
		"in no known state": {100, map[string]string{"a": "PENDING_UPDATE", "b": ""}, false},
		"many":              {8, map[string]string{"a": "PENDING_UPDATE", "b": "PENDING_CREATE"}, false},
	} {
		if filters := filters(test.total, test.pending); filters != test.filters {
			t.Errorf("%s: listed by status: %v", name, filters)
		}
	}
}
