package octavia

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// item is one object of a list: how it is shown, and which parent it can be
// filtered by beside the fields that it shows.
type item struct {
	meta              *Meta
	show              func() view
	parentKey, parent string
}

// value of an attribute. Lists are long and mostly filtered by what all
// objects have, so that the whole view is made only where it must be.
func (i item) value(key string) any {
	switch key {
	case i.parentKey:
		return i.parent
	case "id":
		return i.meta.ID
	case "name":
		return i.meta.Name
	case "provisioning_status":
		return i.meta.ProvisioningStatus
	case "operating_status":
		return i.meta.OperatingStatus
	}
	return i.show()[key]
}

func (o *Octavia) listBalancers(c *call) (response, *apiError) {
	var items []item
	for _, lb := range o.balancers {
		if lb.ProvisioningStatus != Deleted {
			items = append(items, item{meta: &lb.Meta, show: func() view { return o.release.loadBalancer(lb) }})
		}
	}
	return o.list(c, "loadbalancers", items)
}

func (o *Octavia) listListeners(c *call) (response, *apiError) {
	var items []item
	for _, lb := range o.balancers {
		for _, listener := range lb.Listeners {
			show := func() view { return o.release.listener(listener) }
			items = append(items, item{&listener.Meta, show, "loadbalancer_id", lb.ID})
		}
	}
	return o.list(c, "listeners", items)
}

func (o *Octavia) listPools(c *call) (response, *apiError) {
	var items []item
	for _, lb := range o.balancers {
		for _, pool := range lb.Pools {
			show := func() view { return o.release.pool(lb, pool) }
			items = append(items, item{&pool.Meta, show, "loadbalancer_id", lb.ID})
		}
	}
	return o.list(c, "pools", items)
}

func (o *Octavia) listMonitors(c *call) (response, *apiError) {
	var items []item
	for _, lb := range o.balancers {
		for _, pool := range lb.Pools {
			if pool.Monitor != nil {
				show := func() view { return o.release.monitor(pool.Monitor) }
				items = append(items, item{&pool.Monitor.Meta, show, "pool_id", pool.ID})
			}
		}
	}
	return o.list(c, "healthmonitors", items)
}

func (o *Octavia) listMembers(c *call) (response, *apiError) {
	lb, pool, failure := o.pool(c.id)
	if failure != nil {
		return response{}, rawError(failure.status, failure.text)
	}
	if failure := o.mayRead(c.caller, lb.ProjectID); failure != nil {
		return response{}, failure
	}
	var items []item
	for _, member := range pool.Members {
		show := func() view { return o.release.member(member) }
		items = append(items, item{&member.Meta, show, "pool_id", pool.ID})
	}
	return o.list(c, "members", items)
}

// list answers GET of a collection: policy, filters, order, page and links.
func (o *Octavia) list(c *call, collection string, items []item) (response, *apiError) {
	page, failure := o.page(c.query)
	if failure != nil {
		return response{}, failure
	}
	project, failure := o.listProject(c)
	if failure != nil {
		return response{}, failure
	}
	if failure := checkFilters(c.query, collection, o.template(collection)); failure != nil {
		return response{}, failure
	}
	items = slices.DeleteFunc(items, func(i item) bool {
		return project != "" && i.meta.ProjectID != project || !i.matches(c.query)
	})
	if failure := sortItems(items, page.order, o.template(collection)); failure != nil {
		return response{}, failure
	}
	items, failure = page.cut(items)
	if failure != nil {
		return response{}, failure
	}
	shown := make([]view, len(items))
	for i, one := range items {
		shown[i] = one.show().only(c.query["fields"])
	}
	return response{http.StatusOK, view{collection: shown, collection + "_links": page.links(c, items)}}, nil
}

// listProject is the project whose objects the caller gets; "" means all.
func (o *Octavia) listProject(c *call) (string, *apiError) {
	wanted := c.query.Get("project_id")
	switch {
	case isAdmin(c.caller):
		return wanted, nil
	case wanted == "":
		wanted = c.caller.ProjectID
	}
	return wanted, o.mayRead(c.caller, wanted)
}

// template shows which attributes a collection has.
func (o *Octavia) template(collection string) view {
	lb := &LoadBalancer{}
	switch collection {
	case "loadbalancers":
		return o.release.loadBalancer(lb)
	case "listeners":
		return o.release.listener(&Listener{}).with(view{"loadbalancer_id": ""})
	case "pools":
		return o.release.pool(lb, &Pool{}).with(view{"loadbalancer_id": ""})
	case "members":
		return o.release.member(&Member{}).with(view{"pool_id": ""})
	default:
		return o.release.monitor(&Monitor{}).with(view{"pool_id": ""})
	}
}

func pagingKeys() []string {
	return []string{"fields", "limit", "marker", "page_reverse", "sort", "sort_key", "sort_dir",
		"tags", "tags-any", "not-tags", "not-tags-any", "project_id"}
}

func checkFilters(query url.Values, collection string, template view) *apiError {
	for key, values := range query {
		if slices.Contains(pagingKeys(), key) {
			continue
		}
		if _, known := template[key]; !known || key == "tenant_id" {
			return badArguments()
		}
		if len(values) > 1 {
			return refuse(http.StatusInternalServerError, "(pymysql.err.OperationalError) (1241, 'Operand should contain 1 column(s)') "+
				"[SQL: SELECT %s …]", collection)
		}
	}
	return nil
}

func (i item) matches(query url.Values) bool {
	for key, values := range query {
		if slices.Contains(pagingKeys(), key) {
			continue
		}
		if !equals(i.value(key), values[0]) {
			return false
		}
	}
	return matchesTags(i.meta.Tags, query)
}

func equals(value any, wanted string) bool {
	if truth, is := value.(bool); is {
		parsed, _ := boolean(wanted)
		return parsed == truth
	}
	return value != nil && fmt.Sprint(value) == wanted
}

func matchesTags(tags []string, query url.Values) bool {
	given := func(key string) []string {
		var all []string
		for _, value := range query[key] {
			all = append(all, strings.Split(value, ",")...)
		}
		return all
	}
	has := func(tag string) bool { return slices.Contains(tags, tag) }
	hasNot := func(tag string) bool { return !has(tag) }
	if all := given("tags"); slices.ContainsFunc(all, hasNot) {
		return false
	}
	if anyOf := given("tags-any"); len(anyOf) > 0 && !slices.ContainsFunc(anyOf, has) {
		return false
	}
	if not := given("not-tags"); len(not) > 0 && !slices.ContainsFunc(not, hasNot) {
		return false
	}
	return !slices.ContainsFunc(given("not-tags-any"), has)
}

// sortKey is one part of an order.
type sortKey struct {
	key        string
	descending bool
}

func sortItems(items []item, order []sortKey, template view) *apiError {
	for _, part := range order {
		if _, known := template[part.key]; !known {
			return refuse(http.StatusBadRequest, "Supplied sort key '%s' is not valid.", part.key)
		}
	}
	slices.SortStableFunc(items, func(a, b item) int {
		for _, part := range order {
			result := compare(a.value(part.key), b.value(part.key))
			if part.descending {
				result = -result
			}
			if result != 0 {
				return result
			}
		}
		return cmp.Or(a.meta.CreatedAt.Compare(b.meta.CreatedAt), strings.Compare(a.meta.ID, b.meta.ID))
	})
	return nil
}

func compare(a, b any) int {
	x, isInt := a.(int)
	y, areInts := b.(int)
	if isInt && areInts {
		return cmp.Compare(x, y)
	}
	return strings.Compare(python(a), python(b))
}

func parseOrder(query url.Values) ([]sortKey, *apiError) {
	text := query.Get("sort")
	if text == "" && query.Get("sort_key") != "" {
		text = query.Get("sort_key") + ":" + cmp.Or(query.Get("sort_dir"), "asc")
	}
	var order []sortKey
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		key, direction, _ := strings.Cut(part, ":")
		if direction != "" && direction != "asc" && direction != "desc" {
			return nil, rawError(http.StatusBadRequest, "Supplied sort direction '"+direction+"' is not valid.")
		}
		order = append(order, sortKey{key, direction == "desc"})
	}
	return order, nil
}

func parseLimit(query url.Values, most int) (int, *apiError) {
	text := query.Get("limit")
	if text == "" {
		return most, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return 0, rawError(http.StatusBadRequest, "Supplied pagination limit '"+text+"' is not valid.")
	}
	if limit <= 0 || limit > most {
		limit = most
	}
	return limit, nil
}
