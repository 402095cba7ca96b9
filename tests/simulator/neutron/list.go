package neutron

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
)

// listing is one GET of a collection: which records, in which order, which
// page of them and which of their attributes.
type listing[T any] struct {
	call       *call
	collection string
	attributes attributeMap
	// id names a record; unknownMarker is the error for a marker that names none.
	id            func(T) string
	unknownMarker func(string) *Error
	maxPage       int
}

type link struct {
	HRef string `json:"href"`
	Rel  string `json:"rel"`
}

// list answers a GET of a collection over the records that the caller may see.
func list[T interface{ identity() string }](n *Neutron, c *call, collection string, records []T, unknownMarker func(string) *Error) (int, any, error) {
	l := listing[T]{
		call: c, collection: collection, attributes: attributesOf(reflect.TypeFor[T]()),
		id: func(record T) string { return record.identity() }, unknownMarker: unknownMarker, maxPage: n.options.MaxPageSize,
	}
	body, err := l.answer(records)
	return http.StatusOK, body, err
}

func (s *standard) identity() string { return s.ID }

func (l *listing[T]) answer(records []T) (map[string]any, error) {
	query := l.call.URL.Query()
	matched, err := l.filter(records, query)
	if err != nil {
		return nil, err
	}
	if err := l.sort(matched, query); err != nil {
		return nil, err
	}
	page, links, err := l.page(matched, query)
	if err != nil {
		return nil, err
	}
	objects := make([]any, 0, len(page))
	for _, record := range page {
		objects = append(objects, l.attributes.selectFields(record, nonEmpty(query["fields"])))
	}
	body := map[string]any{l.collection: objects}
	if len(links) > 0 {
		body[l.collection+"_links"] = links
	}
	return body, nil
}

// filter keeps the records that match every filter of the query; a filter
// matches when one of its values does.
func (l *listing[T]) filter(records []T, query url.Values) ([]T, error) {
	var tests []func(record any) bool
	var unknown []string
	for name, values := range query {
		switch name {
		case "fields", "sort_key", "sort_dir", "limit", "marker", "page_reverse":
			continue
		}
		values = nonEmpty(values)
		if len(values) == 0 {
			continue
		}
		if err := l.checkBooleans(name, values); err != nil {
			return nil, err
		}
		test, ok := l.attributes.test(name, values)
		if !ok {
			unknown = append(unknown, "'"+name+"'")
			continue
		}
		tests = append(tests, test)
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return nil, httpError(http.StatusBadRequest, "HTTPBadRequest", "[%s] is invalid attribute for filtering", strings.Join(unknown, ", "))
	}
	matched := make([]T, 0, len(records))
	for _, record := range records {
		if !slices.ContainsFunc(tests, func(test func(any) bool) bool { return !test(record) }) {
			matched = append(matched, record)
		}
	}
	return matched, nil
}

// checkBooleans refuses a value that is not boolean for a boolean attribute.
func (l *listing[T]) checkBooleans(name string, values []string) error {
	at, known := l.attributes[name]
	if !known || reflect.TypeFor[T]().Elem().FieldByIndex(at).Type.Kind() != reflect.Bool {
		return nil
	}
	for _, value := range values {
		if _, err := checkBool(name, value); err != nil {
			return err
		}
	}
	return nil
}

// test builds the check of one filter; false when there is no such filter.
func (a attributeMap) test(name string, values []string) (func(record any) bool, bool) {
	if kind, isTags := strings.CutPrefix(name, "not-"); isTags || name == "tags" || name == "tags-any" {
		return a.tagTest(kind, isTags, values)
	}
	if name == "changed_since" {
		name = "updated_at"
		return func(record any) bool {
			value, ok := a.value(record, name)
			return ok && value.String() >= values[0]
		}, true
	}
	if name == "fixed_ips" {
		return a.fixedIPTest(values)
	}
	if _, ok := a[name]; !ok {
		return nil, false
	}
	return func(record any) bool {
		value, _ := a.value(record, name)
		for _, text := range texts(value) {
			if slices.ContainsFunc(values, func(wanted string) bool { return sameText(value, text, wanted) }) {
				return true
			}
		}
		return false
	}, true
}

// sameText compares a filter's value with an attribute's; booleans have
// several spellings.
func sameText(value reflect.Value, text, wanted string) bool {
	if value.Kind() == reflect.Bool {
		parsed, err := strconv.ParseBool(strings.ToLower(wanted))
		return err == nil && strconv.FormatBool(parsed) == text
	}
	return text == wanted
}

// tagTest checks tags (all of them), tags-any and their negations; a value may
// list several tags, separated by commas.
func (a attributeMap) tagTest(name string, negate bool, values []string) (func(record any) bool, bool) {
	if _, ok := a["tags"]; !ok || (name != "tags" && name != "tags-any") {
		return nil, false
	}
	wanted := strings.Split(strings.Join(values, ","), ",")
	return func(record any) bool {
		value, _ := a.value(record, "tags")
		has := func(tag string) bool { return slices.Contains(texts(value), tag) }
		match := slices.ContainsFunc(wanted, has)
		if name == "tags" {
			match = !slices.ContainsFunc(wanted, func(tag string) bool { return !has(tag) })
		}
		return match != negate
	}, true
}

// fixedIPTest checks fixed_ips=ip_address=A, =subnet_id=B and
// =ip_address_substr=C: one fixed IP must match all of the kinds asked for.
func (a attributeMap) fixedIPTest(values []string) (func(record any) bool, bool) {
	if _, ok := a["fixed_ips"]; !ok {
		return nil, false
	}
	wanted := map[string][]string{}
	for _, value := range values {
		kind, text, _ := strings.Cut(value, "=")
		if kind == "ip_address" || kind == "subnet_id" || kind == "ip_address_substr" {
			wanted[kind] = append(wanted[kind], text) // Neutron ignores others
		}
	}
	matches := func(fixed FixedIP) bool {
		for kind, texts := range wanted {
			ok := slices.ContainsFunc(texts, func(text string) bool {
				switch kind {
				case "ip_address":
					return fixed.Address == text
				case "subnet_id":
					return fixed.SubnetID == text
				case "ip_address_substr":
					return strings.Contains(fixed.Address, text)
				}
				return false
			})
			if !ok {
				return false
			}
		}
		return true
	}
	return func(record any) bool {
		value, _ := a.value(record, "fixed_ips")
		fixed, _ := value.Interface().([]FixedIP)
		return len(wanted) == 0 || slices.ContainsFunc(fixed, matches)
	}, true
}

// sort orders by the keys asked for and then by ID, as Neutron always does.
func (l *listing[T]) sort(records []T, query url.Values) error {
	keys, directions := nonEmpty(query["sort_key"]), nonEmpty(query["sort_dir"])
	if len(keys) != len(directions) {
		return httpError(http.StatusBadRequest, "HTTPBadRequest", "The number of sort_keys and sort_dirs must be same")
	}
	for i, key := range keys {
		if _, ok := l.attributes[key]; !ok {
			return httpError(http.StatusBadRequest, "HTTPBadRequest", "['%s'] is invalid attribute for sort_keys", key)
		}
		if directions[i] != "asc" && directions[i] != "desc" {
			return httpError(http.StatusBadRequest, "HTTPBadRequest", "['%s'] is invalid value for sort_dirs, valid value is 'asc' and 'desc'", directions[i])
		}
	}
	slices.SortFunc(records, func(x, y T) int {
		for i, key := range keys {
			order := l.compare(x, y, key)
			if directions[i] == "desc" {
				order = -order
			}
			if order != 0 {
				return order
			}
		}
		return strings.Compare(l.id(x), l.id(y))
	})
	return nil
}

func (l *listing[T]) compare(x, y T, key string) int {
	valueX, _ := l.attributes.value(x, key)
	valueY, _ := l.attributes.value(y, key)
	if valueX.CanInt() {
		return int(valueX.Int() - valueY.Int())
	}
	return slices.Compare(texts(valueX), texts(valueY))
}

// page cuts the page that limit, marker and page_reverse ask for, with the
// links to its neighbours.
func (l *listing[T]) page(records []T, query url.Values) ([]T, []link, error) {
	limit, err := pageLimit(query.Get("limit"), l.maxPage)
	if err != nil || limit == 0 {
		return records, nil, err
	}
	backwards := strings.EqualFold(query.Get("page_reverse"), "true")
	from, to := 0, len(records)
	if marker := query.Get("marker"); marker != "" {
		at := slices.IndexFunc(records, func(record T) bool { return l.id(record) == marker })
		if at < 0 {
			return nil, nil, l.unknownMarker(marker)
		}
		from = at + 1
		if backwards {
			from, to = 0, at
		}
	}
	if backwards {
		from = max(from, to-limit)
	} else {
		to = min(to, from+limit)
	}
	page := records[from:to]
	var links []link
	if len(page) >= limit || backwards {
		links = append(links, l.neighbour("next", page, len(page)-1))
	}
	if len(page) >= limit || !backwards {
		links = append(links, l.neighbour("previous", page, 0))
	}
	return page, links, nil
}

// pageLimit is the size of a page; 0 means all.
func pageLimit(asked string, most int) (int, error) {
	limit := 0
	if asked != "" {
		parsed, err := strconv.Atoi(asked)
		if err != nil || parsed < 0 {
			return 0, badRequest("BadRequest", "Bad limit request: Limit must be an integer 0 or greater and not '%s'.", asked)
		}
		limit = parsed
	}
	if most > 0 && (limit == 0 || limit > most) {
		limit = most
	}
	return limit, nil
}

// neighbour links to the page behind or before; the query is kept.
func (l *listing[T]) neighbour(rel string, page []T, markerAt int) link {
	query := []string{}
	for pair := range strings.SplitSeq(l.call.URL.RawQuery, "&") {
		if name, _, _ := strings.Cut(pair, "="); name != "marker" && name != "page_reverse" {
			query = append(query, pair)
		}
	}
	if len(page) > 0 {
		query = append(query, "marker="+l.id(page[markerAt]))
	}
	if rel == "previous" {
		query = append(query, "page_reverse=True")
	}
	return link{Rel: rel, HRef: wire.Self(l.call.Request) + "?" + strings.Join(query, "&")}
}

// nonEmpty leaves out the empty values of a query, which Neutron ignores.
func nonEmpty(values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(value string) bool { return value == "" })
}
