// Package paging reads lists that a service may answer in pages.
package paging

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/response"
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
	// Get decodes the answer to a query, as response.Get does.
	Get func(ctx context.Context, q url.Values, into any) error
}

// All reads page after page. Every page repeats the query with the last ID as
// marker: the links of Octavia lose all filters, so that only their being there
// counts. A filter without a value is an error: services ignore it, or take it for any value.
func (c Collection[T]) All(ctx context.Context, q url.Values) ([]T, error) {
	for key, values := range q {
		if slices.Contains(values, "") {
			return nil, fmt.Errorf("the filter %s has no value", key)
		}
	}
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
// pages answers everything at once, without links.
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

// page is an answer with a page of a list, which can have thousands of objects.
type page[T any] struct {
	name, linksName string
	objects         []T
	links           []pageLink
}

// object is one of a list that decodes itself, to which it has the one before beside it, in place of
// reflection.
type object[T any] interface {
	DecodeFrom(r *response.Reader, before *T) error
}

// DecodeFrom decodes the answer in one pass.
func (p *page[T]) DecodeFrom(r *response.Reader) error {
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

// readObjects returns nil of null, and only then.
func readObjects[T any](r *response.Reader) (objects []T, err error) {
	if _, ok := any(new(T)).(object[T]); !ok {
		err = r.Decode(&objects)
		return objects, err
	}
	return response.ReadList(r, func(one *T, r *response.Reader, before *T) error {
		return any(one).(object[T]).DecodeFrom(r, before) //nolint:forcetypeassert // asked above
	})
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
