package octavia

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// page is what of a list the caller wants to see.
type page struct {
	limit   int
	marker  string
	reverse bool
	order   []sortKey
}

func (o *Octavia) page(query url.Values) (page, *apiError) {
	order, failure := parseOrder(query)
	if failure != nil {
		return page{}, failure
	}
	limit, failure := parseLimit(query, o.options.PageLimit)
	if failure != nil {
		return page{}, failure
	}
	reverse, _ := boolean(query.Get("page_reverse"))
	return page{limit: limit, marker: query.Get("marker"), reverse: reverse == true, order: order}, nil
}

// cut leaves the items of the page, which start behind the marker, or end
// before it when paging backwards.
func (p page) cut(items []item) ([]item, *apiError) {
	from, to := 0, len(items)
	if p.marker != "" {
		at := slices.IndexFunc(items, func(i item) bool { return i.meta.ID == p.marker })
		if at < 0 {
			return nil, refuse(http.StatusBadRequest, "Supplied pagination marker '%s' is not valid.", p.marker)
		}
		if p.reverse {
			to = at
		} else {
			from = at + 1
		}
	}
	if p.reverse {
		from = max(0, to-p.limit)
	}
	return items[from:min(to, from+p.limit)], nil
}

// links lead to the neighbouring pages, and as in the real one lose all
// filters and fields on the way. There is a next page whenever this is full.
func (p page) links(c *call, items []item) []view {
	links := []view{}
	if len(items) == 0 {
		return links
	}
	base := c.url + "?limit=" + strconv.Itoa(p.limit)
	for _, key := range []string{"sort", "sort_key"} {
		if value := c.query.Get(key); value != "" {
			base += "&" + key + "=" + value
		}
	}
	if p.marker != "" {
		links = append(links, view{"rel": "previous", "href": base + "&marker=" + items[0].meta.ID + "&page_reverse=True"})
	}
	if len(items) >= p.limit {
		links = append(links, view{"rel": "next", "href": base + "&marker=" + items[len(items)-1].meta.ID})
	}
	return links
}
