package octavia

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// filter is one condition of a list: the attribute has the value.
type filter struct {
	column column
	wanted string
	truth  bool // the value stands for a truth value
}

// auxiliary arguments of a list are no filters.
func auxiliary() []string {
	return []string{"limit", "marker", "sort", "sort_key", "sort_dir", "fields", "page_reverse"}
}

func tagArguments() []string { return []string{"tags", "tags-any", "not-tags", "not-tags-any"} }

// filters reads the conditions of a query. Errors come in the order in which
// Octavia finds them: unknown names first.
func (t *table) filters(query url.Values) ([]filter, *apiError) {
	var filters []filter
	var failure *apiError
	for key, values := range query {
		if slices.Contains(auxiliary(), key) || slices.Contains(tagArguments(), key) {
			continue
		}
		one, err := t.filter(key, values)
		switch {
		case err != nil && err.status == http.StatusBadRequest:
			return nil, err
		case err != nil:
			failure = err
		case one != nil:
			filters = append(filters, *one)
		}
	}
	return filters, failure
}

// filter is nil for a condition that does nothing.
func (t *table) filter(key string, values []string) (*filter, *apiError) {
	name := t.databaseName(key)
	if name == "loadbalancer_id" {
		name = "load_balancer_id"
	}
	if slices.Contains(t.ignored, name) {
		return nil, nil
	}
	found, known := t.columns[name]
	if !known || strings.Contains(name, ".") && name == key {
		return nil, badArguments()
	}
	switch found.kind {
	case columnChildren:
		return nil, crash("Can't compare a collection to an object or collection; use contains() to test for membership.")
	case columnOther:
		return nil, crash("Mapped instance expected for relationship comparison to object.   " +
			"Classes, queries and other SQL elements are not accepted in this context; " +
			"for comparison with a subquery, use " + t.model + "." + name + ".has(**criteria).")
	case columnUnmapped:
		return nil, crash("Entity namespace for \"" + t.sql + "\" has no property \"" + name + "\"")
	default: // columns that can be compared
	}
	if len(values) > 1 && name != "enabled" && found.kind != columnPacked && found.kind != columnProperty {
		return nil, databaseError("type 'list' is not supported", "SELECT … FROM "+t.sql)
	}
	return &filter{column: found, wanted: values[0], truth: name == "enabled"}, nil
}

func (t *table) databaseName(key string) string {
	if name, renamed := t.renamed[key]; renamed {
		return name
	}
	return key
}

func crash(text string) *apiError { return refuse(http.StatusInternalServerError, "%s", text) }

// databaseError is an error with the text of the database.
func databaseError(what, statement string) *apiError {
	return crash("(pymysql.err.OperationalError) (1241, \"" + what + "\")\n[SQL: " + statement + "]\n" +
		"(Background on this error at: https://sqlalche.me/e/14/e3q8)")
}

func (f filter) holds(thing any) bool {
	value := f.column.of(thing)
	switch v := value.(type) {
	case bool:
		if f.truth {
			return v == isTrue(f.wanted)
		}
		return sameNumber(map[bool]float64{true: 1}[v], f.wanted)
	case int:
		return sameNumber(float64(v), f.wanted)
	case float64:
		return sameNumber(v, f.wanted)
	case string:
		return f.column.kind == columnText && v == f.wanted
	}
	return false // NULL, times and packed columns equal nothing
}

// sameNumber compares as the database does a number with a text.
func sameNumber(value float64, wanted string) bool {
	number, err := strconv.ParseFloat(strings.TrimSpace(wanted), 64)
	return err == nil && number == value
}

// tagFilter are the conditions about tags.
type tagFilter struct{ all, anyOf, not, notAny []string }

func (t *table) tagFilter(query url.Values) *tagFilter {
	if !t.tagged || !slices.ContainsFunc(tagArguments(), query.Has) {
		return nil
	}
	given := func(key string) []string {
		var all []string
		for _, value := range query[key] {
			all = append(all, strings.Split(value, ",")...)
		}
		return all
	}
	return &tagFilter{given("tags"), given("tags-any"), given("not-tags"), given("not-tags-any")}
}

func (f *tagFilter) holds(tags []string) bool {
	has := func(tag string) bool { return slices.Contains(tags, tag) }
	hasNot := func(tag string) bool { return !has(tag) }
	switch {
	case f == nil:
		return true
	case slices.ContainsFunc(f.all, hasNot):
		return false
	case len(f.anyOf) > 0 && !slices.ContainsFunc(f.anyOf, has):
		return false
	case len(f.not) > 0 && !slices.ContainsFunc(f.not, hasNot):
		return false
	}
	return !slices.ContainsFunc(f.notAny, has)
}

// weight is how many rows the database finds for one object.
func (f *tagFilter) weight(r row) int {
	if f == nil || len(f.anyOf) == 0 {
		return 1
	}
	found := 0
	for _, tag := range r.meta.Tags {
		if slices.Contains(f.anyOf, tag) {
			found++
		}
	}
	return found
}
