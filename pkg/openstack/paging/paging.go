// Package paging reads lists that a service may answer in pages.
package paging

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

const (
	// maxRestarts is how often a list begins anew because the object that a page was to
	// begin behind is gone.
	maxRestarts = 3
	// maxObjects is how many objects a list has at most: more than any project has.
	maxObjects = 1 << 20
)

// Markers are where the pages of a list began: a service that answers one of them again, or
// pages without an end, would be read until no memory is left. The zero value is good.
type Markers struct{ seen map[string]bool }

// Next returns an error unless the next page may begin behind the marker, after so many objects.
func (m *Markers) Next(marker string, objects int) error {
	switch {
	case marker == "" || m.seen[marker]:
		return fmt.Errorf("the service answers the same page again (marker %q)", marker)
	case objects > maxObjects:
		return fmt.Errorf("the list has more than %d objects", maxObjects)
	case m.seen == nil:
		m.seen = map[string]bool{}
	}
	m.seen[marker] = true
	return nil
}

// Collection is a list of a service that may answer in pages, whatever length the
// operator gave them ([api_settings] or [DEFAULT] pagination_max_limit).
type Collection[T any] struct {
	// Name is the key of the objects in an answer; that of the links has "_links"
	// behind it.
	Name string
	// Size is the length of page that is asked for, 0 for none.
	Size int
	// ID returns the ID of an object: the marker of the page behind it.
	ID func(T) string
	// Get decodes the answer to a query.
	Get func(ctx context.Context, q url.Values, into any) error
}

// All reads page after page. Every page repeats the query with the last ID as
// marker: the links of Octavia lose all filters, so that only their being there
// counts.
func (c Collection[T]) All(ctx context.Context, q url.Values) ([]T, error) {
	for restarts := 0; ; restarts++ {
		all, marker, err := c.once(ctx, q)
		if marker == "" || restarts == maxRestarts || !apierror.IsInvalid(err) && !apierror.IsNotFound(err) {
			return all, err
		}
	}
}

// once reads all pages. marker is where it failed, "" on the first page.
func (c Collection[T]) once(ctx context.Context, q url.Values) (all []T, marker string, err error) {
	q.Del("marker")
	var markers Markers
	for {
		page, more, err := c.page(ctx, q)
		if err != nil {
			return nil, marker, err
		}
		if all == nil {
			all = page // most lists have one page
		} else {
			all = append(all, page...)
		}
		if !more {
			return all, "", nil
		}
		last := c.ID(page[len(page)-1])
		if err := markers.Next(last, len(all)); err != nil {
			return nil, "", err
		}
		marker = last
		q.Set("marker", marker)
	}
}

// page reads one page, and whether there may be another. A service that knows no
// pages answers everything at once, without links. The answer, which can have thousands of
// objects, is decoded in one pass, into a struct with the names of this collection.
func (c Collection[T]) page(ctx context.Context, q url.Values) (page []T, more bool, err error) {
	answer := reflect.New(reflect.StructOf([]reflect.StructField{
		{Name: "Objects", Type: reflect.TypeFor[*[]T](), Tag: reflect.StructTag(fmt.Sprintf("json:%q", c.Name))},
		{Name: "Links", Type: reflect.TypeFor[json.RawMessage](), Tag: reflect.StructTag(fmt.Sprintf("json:%q", c.Name+"_links"))},
	}))
	if err := c.Get(ctx, q, answer.Interface()); err != nil {
		return nil, false, err
	}
	objects, _ := answer.Elem().Field(0).Interface().(*[]T)
	if objects == nil {
		return nil, false, fmt.Errorf("the answer has no %q", c.Name)
	}
	page = *objects
	var links []pageLink
	if text := answer.Elem().Field(1).Bytes(); len(text) > 0 {
		if err := json.Unmarshal(text, &links); err != nil {
			return nil, false, fmt.Errorf("the links of the list: %w", err)
		}
	}
	full := c.Size > 0 && len(page) == c.Size
	return page, len(page) > 0 && (full || slices.ContainsFunc(links, pageLink.leadsOn)), nil
}

// pageLink is one link of a page.
type pageLink struct {
	Rel  string `json:"rel"`
	HRef string `json:"href"`
}

// leadsOn reports whether there may be a page behind this one. An Octavia without a limit
// (-1) answers everything and still names a next page, of limit -1 or None.
func (l pageLink) leadsOn() bool {
	if l.Rel != "next" {
		return false
	}
	address, err := url.Parse(l.HRef)
	if err != nil {
		return true
	}
	limit := address.Query().Get("limit")
	return limit != "None" && !strings.HasPrefix(limit, "-")
}
