package octavia

import (
	"encoding/json"
	"time"
)

// table is a collection as the API lists it: how its attributes are called in
// the database, by which filters and orders go, and what kind of columns they
// are. All errors about lists follow from that.
type table struct {
	name  string // of the list in the answer
	links string // of its links
	model string // the class that errors name
	sql   string // the database's name
	// renamed has the attributes with another name in the database; with a dot it is
	// an attribute of a joined table.
	renamed map[string]string
	columns map[string]column
	// ignored are filters that are taken and do nothing.
	ignored []string
	// order is what lists are sorted by at last; empty: as they were made.
	order    []string
	tagged   bool
	hasNoID  bool
	unscoped bool // belongs to no project
}

type columnKind int

const (
	columnText columnKind = iota
	columnInteger
	columnBoolean
	columnFloat
	columnTime
	columnPacked   // a list or map in one column: nothing compares with it
	columnChildren // a relation to many
	columnOther    // a relation to one
	columnProperty // worked out from others
	columnUnmapped // known, but not in the database
)

// column reads one attribute: a string, int, bool, float64, time.Time, or nil
// for NULL.
type column struct {
	kind columnKind
	of   func(any) any
}

// row is one object of a list.
type row struct {
	thing any
	meta  *Meta // nil for objects without it
	id    string
	show  func() view
}

func text(of func(any) string) column {
	return column{columnText, func(thing any) any { return nullable(of(thing)) }}
}

func nullable(value string) any {
	if value == "" {
		return nil
	}
	return value
}

func number(of func(any) int) column {
	return column{columnInteger, func(thing any) any { return of(thing) }}
}

func truth(of func(any) bool) column {
	return column{columnBoolean, func(thing any) any { return of(thing) }}
}

func special(kind columnKind) column {
	return column{kind, func(any) any { return nil }}
}

func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// metaColumns are those of all objects. A name that was not given is NULL,
// one that was given empty is not; the difference shows nowhere but in orders.
func metaColumns() map[string]column {
	meta := func(thing any) *Meta { return thing.(object).meta() }
	return map[string]column{
		"id":                  {columnText, func(t any) any { return meta(t).ID }},
		"name":                text(func(t any) string { return meta(t).Name }),
		"project_id":          {columnText, func(t any) any { return meta(t).ProjectID }},
		"provisioning_status": {columnText, func(t any) any { return meta(t).ProvisioningStatus }},
		"operating_status":    {columnText, func(t any) any { return meta(t).OperatingStatus }},
		"enabled":             truth(func(t any) bool { return meta(t).AdminStateUp }),
		"created_at":          {columnTime, func(t any) any { return instant(meta(t).CreatedAt) }},
		"updated_at":          {columnTime, func(t any) any { return instant(meta(t).UpdatedAt) }},
		"tags":                special(columnProperty),
	}
}

func columns(sets ...map[string]column) map[string]column {
	all := map[string]column{}
	for _, set := range sets {
		for key, column := range set {
			all[key] = column
		}
	}
	return all
}

func floatOf(text string) any {
	if text == "" {
		return nil
	}
	number, err := json.Number(text).Float64()
	if err != nil {
		return nil
	}
	return number
}
