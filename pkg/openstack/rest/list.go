package rest

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

const (
	// maxRestarts is how often a list is read again from the beginning because the object of a
	// marker was deleted.
	maxRestarts = 3
	// maxObjects is the maximum number of objects in a list, more than any project has.
	maxObjects = 1 << 20
)

// Markers detect a service that returns a page repeatedly, or pages without an end, which would
// exhaust the memory. The zero value is ready to use.
type Markers struct{ seen map[string]bool }

// Next records the marker of the next page, and returns an error if it is a repetition or the list
// has too many objects.
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

// Collection is a list that a service may split into pages of any size ([api_settings] or [DEFAULT]
// pagination_max_limit).
type Collection[T any] struct {
	// Name is the key of the objects in an answer; that of the links has the suffix "_links".
	Name string
	// Size is the requested page size, 0 for none.
	Size int
	// ID returns the ID of an object, which is the marker of the next page.
	ID func(T) string
	// UnknownMarker reports whether an error can mean that the object of the marker was deleted.
	UnknownMarker func(error) bool
	// Get decodes the answer to a query, as Get does.
	Get func(ctx context.Context, q url.Values, into any) error
}

// All reads all pages. Every page repeats the query with the last ID as marker: the links of
// Octavia lose all filters, so that only their presence counts. A filter without a value is an
// error, because services ignore it or match any value.
func (c Collection[T]) All(ctx context.Context, q url.Values) ([]T, error) {
	for key, values := range q {
		if slices.Contains(values, "") {
			return nil, fmt.Errorf("the filter %s has no value", key)
		}
	}
	for restarts := 0; ; restarts++ {
		all, marker, err := c.once(ctx, q)
		if marker == "" || restarts == maxRestarts || !c.UnknownMarker(err) {
			return all, err
		}
	}
}

// once reads all pages. marker is the marker of the page that failed, "" for the first one.
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

// page reads one page, and reports whether another may follow. A service without pages returns
// everything at once, without links.
func (c Collection[T]) page(ctx context.Context, q url.Values) (objects []T, more bool, err error) {
	answer := page[T]{name: c.Name, linksName: c.Name + "_links"}
	if err := c.Get(ctx, q, &answer); err != nil {
		return nil, false, err
	}
	if answer.objects == nil {
		return nil, false, fmt.Errorf("the answer has no %q", c.Name)
	}
	full := c.Size > 0 && len(answer.objects) == c.Size
	return answer.objects, len(answer.objects) > 0 && (full || slices.ContainsFunc(answer.links, pageLink.leadsOn)), nil
}

// page is the answer with a page of a list, which can have thousands of objects.
type page[T any] struct {
	name, linksName string
	objects         []T
	links           []pageLink
}

// object is an object of a list that decodes itself without reflection.
type object interface {
	DecodeFrom(r *Reader) error
}

// DecodeFrom decodes the answer in one pass.
func (p *page[T]) DecodeFrom(r *Reader) error {
	return r.Object(func(name []byte) (err error) {
		switch string(name) {
		case p.name:
			p.objects, err = readObjects[T](r)
		case p.linksName:
			p.links = nil
			if err = r.Decode(&p.links); err != nil {
				err = fmt.Errorf("the links of the list: %w", err)
			}
		default:
			err = r.Skip()
		}
		return err
	})
}

// readObjects returns nil only for null.
func readObjects[T any](r *Reader) (objects []T, err error) {
	if _, ok := any(new(T)).(object); !ok {
		err = r.Decode(&objects)
		return objects, err
	}
	return ReadList(r, func(one *T, r *Reader) error {
		return any(one).(object).DecodeFrom(r) //nolint:forcetypeassert // T has the method, as checked above
	})
}

// pageLink is one link of a page.
type pageLink struct {
	Rel  string `json:"rel"`
	HRef string `json:"href"`
}

// leadsOn reports whether another page may follow. An Octavia without a limit (-1) returns
// everything and still has a link to a next page, with limit -1 or None.
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
