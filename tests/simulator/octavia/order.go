package octavia

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// sortKey is one part of an order, by the attribute's name in the API.
type sortKey struct {
	key        string
	descending bool
}

// parseOrder reads "sort", else "sort_key" and "sort_dir".
func parseOrder(query url.Values) ([]sortKey, *apiError) {
	var order []sortKey
	add := func(key, direction string) *apiError {
		switch strings.ToLower(direction) {
		case "asc", "desc":
			order = append(order, sortKey{key, strings.EqualFold(direction, "desc")})
			return nil
		}
		return rawError(http.StatusBadRequest, "Supplied sort direction '"+strings.ToLower(direction)+"' is not valid.")
	}
	if sort := query.Get("sort"); sort != "" {
		for _, part := range strings.Split(sort, ",") {
			pieces := strings.Split(part, ":")
			if len(pieces) > 2 {
				return nil, rawError(http.StatusBadRequest, "Supplied sort key '"+pythonRepr(pieces)+"' is not valid.")
			}
			if failure := add(pieces[0], append(pieces, "asc")[1]); failure != nil {
				return nil, failure
			}
		}
		return order, nil
	}
	if query.Get("sort_key") == "" {
		return nil, nil
	}
	var directions []string
	if given := query.Get("sort_dir"); given != "" {
		directions = strings.Split(given, ",")
	}
	for i, key := range strings.Split(query.Get("sort_key"), ",") {
		direction := "asc"
		if i < len(directions) {
			direction = directions[i]
		}
		if failure := add(key, direction); failure != nil {
			return nil, failure
		}
	}
	return order, nil
}

// orderPart is a sort key with its column.
type orderPart struct {
	sortKey
	name   string // in the database
	column column
}

// sortedBy completes the keys by the table's own and finds their columns.
func (t *table) sortedBy(keys []sortKey) ([]orderPart, *apiError) {
	for _, key := range t.order {
		if !slices.ContainsFunc(keys, func(k sortKey) bool { return k.key == key }) {
			keys = append(keys, sortKey{key: key})
		}
	}
	var parts []orderPart
	var failure *apiError
	for _, key := range keys {
		name := t.databaseName(key.key)
		found, known := t.columns[name]
		switch {
		case name == "_tags" && t.tagged:
			found = special(columnChildren)
			failure = databaseError("Unknown column 'tags.resource_id' in 'order clause'", "SELECT … FROM "+t.sql)
		case !known || found.kind == columnUnmapped:
			return nil, refuse(http.StatusBadRequest, "Supplied sort key '%s' is not valid.", name)
		case found.kind == columnProperty:
			return nil, crash("GROUP BY / OF / etc. expression expected, got <property object at 0x7f5d8a2c9e40>.")
		case found.kind == columnChildren, found.kind == columnOther:
			// The database finds out, after everything else was checked.
			failure = databaseError("Unknown column '"+name+"' in 'order clause'", "SELECT … FROM "+t.sql)
		}
		parts = append(parts, orderPart{key, name, found})
	}
	return parts, failure
}

// sortRows sorts by the parts. An attribute of a joined table leaves out the
// rows that have none.
func sortRows(rows []row, parts []orderPart) []row {
	for _, part := range parts {
		if strings.Contains(part.name, ".") && !strings.HasPrefix(part.name, "vip.") {
			rows = slices.DeleteFunc(rows, func(r row) bool { return part.column.of(r.thing) == nil })
		}
	}
	switch {
	case len(parts) == 0:
		return rows
	case isDefaultOrder(parts) && len(rows) > 0 && rows[0].meta != nil:
		slices.SortStableFunc(rows, func(a, b row) int {
			return cmp.Or(a.meta.CreatedAt.Compare(b.meta.CreatedAt), strings.Compare(a.id, b.id))
		})
		return rows
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		for _, part := range parts {
			result := compareValues(part.column.of(a.thing), part.column.of(b.thing))
			if part.descending {
				result = -result
			}
			if result != 0 {
				return result
			}
		}
		return 0
	})
	return rows
}

// isDefaultOrder picks the order of nearly all lists, which has to be fast.
func isDefaultOrder(parts []orderPart) bool {
	return len(parts) == 2 && parts[0].sortKey == sortKey{key: "created_at"} && parts[1].sortKey == sortKey{key: "id"}
}

// compareValues orders as the database does: NULL first, then numbers, then
// texts byte by byte.
func compareValues(a, b any) int {
	if rank := cmp.Compare(rankOf(a), rankOf(b)); rank != 0 {
		return rank
	}
	switch x := a.(type) {
	case string:
		return strings.Compare(x, b.(string))
	case time.Time:
		return x.Compare(b.(time.Time))
	default:
		return cmp.Compare(asFloat(a), asFloat(b))
	}
}

func rankOf(value any) int {
	switch value.(type) {
	case nil:
		return 0
	case bool, int, float64:
		return 1
	case string:
		return 2
	default:
		return 3
	}
}

func asFloat(value any) float64 {
	switch v := value.(type) {
	case bool:
		return map[bool]float64{true: 1}[v]
	case int:
		return float64(v)
	case float64:
		return v
	}
	return 0
}
