package octavia

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// page is what of a list the caller wants to see.
type page struct {
	limit      int // meaningless when unlimited; negative cuts nothing
	unlimited  bool
	marker     string
	marked     bool
	markers    int
	reverse    bool
	order      []sortKey
	sort, keys string // as given, for links
}

// page reads the arguments that every GET may have. Octavia does so before it
// looks at anything else.
func (o *Octavia) page(query url.Values) (page, *apiError) {
	for _, key := range []string{"limit", "sort", "sort_key", "sort_dir"} {
		if len(query[key]) > 1 && (key != "sort_dir" || query.Get("sort") == "" && query.Get("sort_key") != "") {
			return page{}, rawError(http.StatusInternalServerError, "'list' object has no attribute 'split'")
		}
	}
	p := page{
		marker: query.Get("marker"), marked: query.Has("marker"), markers: len(query["marker"]), reverse: query.Get("page_reverse") == "True",
		sort: query.Get("sort"), keys: query.Get("sort_key"),
	}
	var failure *apiError
	if p.limit, p.unlimited, failure = parseLimit(query, o.options.PageLimit); failure != nil {
		return page{}, failure
	}
	p.order, failure = parseOrder(query)
	return p, failure
}

// parseLimit returns the smaller one of the requested and the maximum limit. A limit below
// 1 means none.
func parseLimit(query url.Values, most int) (limit int, unlimited bool, failure *apiError) {
	limit = most
	if query.Has("limit") {
		text := query.Get("limit")
		if text == "infinite" {
			return 0, true, nil
		}
		number, is := pythonInt(text)
		if !is {
			return 0, false, rawError(http.StatusBadRequest, "Supplied pagination limit '"+text+"' is not valid.")
		}
		limit = number
	}
	if limit < 1 {
		return 0, true, nil
	}
	return min(limit, most), false, nil
}

// after leaves the rows behind the marker in the order, or those before it.
// Unlike a cut it compares values: NULL counts as the column's zero, and with
// page_reverse the page has the first rows before the marker, not the nearest.
func (p page) after(t *table, rows []row, marker any, found bool, parts []orderPart) ([]row, *apiError) {
	if !p.marked {
		return rows, nil
	}
	if t.hasNoID {
		return nil, crash("Entity namespace for \"" + t.sql + "\" has no property \"id\"")
	}
	if p.markers > 1 {
		return nil, databaseError("Operand should contain 1 column(s)", "SELECT … FROM "+t.sql)
	}
	if !found {
		return nil, refuse(http.StatusBadRequest, "Supplied pagination marker '%s' is not valid.", p.marker)
	}
	for _, part := range parts {
		if part.key != part.name || strings.Contains(part.key, ".") {
			return nil, crash("'" + t.model + "' object has no attribute '" + part.key + "'")
		}
	}
	for _, part := range parts {
		if part.column.kind == columnChildren || part.column.kind == columnOther {
			return nil, crash("columns")
		}
		if name, fails := typeWithoutDefault(part.column.kind); fails {
			return nil, crash("'" + name + "'")
		}
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !p.behind(r.thing, marker, parts) }), nil
}

// typeWithoutDefault are column types that a marker cannot be compared by.
func typeWithoutDefault(kind columnKind) (string, bool) {
	switch kind {
	case columnBoolean:
		return "boolean", true
	case columnFloat:
		return "float", true
	case columnPacked:
		return "type_decorator", true
	default:
		return "", false
	}
}

func (p page) behind(thing, marker any, parts []orderPart) bool {
	for _, part := range parts {
		value, mark := part.column.of(thing), part.column.of(marker)
		if mark == nil {
			mark = ""
		}
		if value == nil {
			switch part.column.kind {
			case columnInteger:
				value = 0
			case columnTime:
				return false // NULL is neither greater nor equal
			default:
				value = ""
			}
		}
		result := compareValues(value, mark)
		if part.descending != p.reverse {
			result = -result
		}
		if result != 0 {
			return result > 0
		}
	}
	return false
}

// cut leaves the first rows, as many as the page has. With tags-any the
// database has a row for each tag that matches, and cuts those.
func (p page) cut(rows []row, tags *tagFilter) []row {
	if p.unlimited || p.limit < 0 {
		return rows
	}
	left := p.limit
	for i, row := range rows {
		if left <= 0 {
			return rows[:i]
		}
		left -= tags.weight(row)
	}
	return rows
}

// linkTo is one link of a page.
type linkTo struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
}

// links lead to the neighbouring pages, and as in the real one lose all
// filters and fields on the way. There is a next page whenever this is full.
func (o *Octavia) links(p page, t *table, address string, rows []row) ([]linkTo, *apiError) {
	links := []linkTo{}
	if len(rows) == 0 {
		return links, nil
	}
	limit := strconv.Itoa(p.limit)
	if p.unlimited {
		if o.release.UnlimitedPageFails {
			return nil, crash("'>=' not supported between instances of 'int' and 'NoneType'")
		}
		limit = "None"
	}
	base := address + "?limit=" + limit
	if p.sort != "" {
		base += "&sort=" + p.sort
	}
	if p.keys != "" {
		base += "&sort_key=" + p.keys
	}
	id := func(r row) string {
		if t.hasNoID {
			return "None"
		}
		return r.id
	}
	if p.marker != "" {
		links = append(links, linkTo{fmt.Sprintf("%s&marker=%s&page_reverse=True", base, id(rows[0])), "previous"})
	}
	if p.unlimited || len(rows) >= p.limit {
		links = append(links, linkTo{fmt.Sprintf("%s&marker=%s", base, id(rows[len(rows)-1])), "next"})
	}
	return links, nil
}
