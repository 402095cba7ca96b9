package neutron

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// requests sends the requests of a session. The clients of all kinds of objects are made of it.
type requests struct{ session Session }

// list lists a collection. Neutron returns it at once, unless the operator has limited the page
// size.
func list[T any](ctx context.Context, r requests, path string, q url.Values, id func(T) string) ([]T, error) {
	pages := rest.Collection[T]{Name: strings.ReplaceAll(path, "-", "_"), ID: id, UnknownMarker: apierror.IsUnknownMarker, Get: func(ctx context.Context, q url.Values, into any) error {
		return r.get(ctx, path, q, into)
	}}
	return pages.All(ctx, q)
}

// gone returns nil if the deletion of an object was answered 404, and a read of it is too. One of
// several API servers may lag behind, or a proxy may answer 404, and no later attempt would find
// the object of a deleted Service.
func (r requests) gone(ctx context.Context, err error, path string) error {
	if !apierror.IsNotFound(err) {
		return err
	}
	again := apierror.Wrap(r.get(ctx, path, url.Values{"fields": {"id"}}, nil), "read "+path+" after its deletion")
	if again == nil {
		return fmt.Errorf("the deletion of %s was answered as if it were gone, but it is still there", path)
	}
	return apierror.IgnoreNotFound(again)
}

// object decodes the answer to a GET of one object of a collection, with the given fields, nil for
// all. about returns the ID in the answer; an answer about another object is an error.
func (r requests) object(ctx context.Context, collection, id string, fields []string, into any, about func() string) error {
	path, err := rest.PathOf(collection, id)
	if err != nil {
		return err
	}
	var q url.Values
	if len(fields) > 0 {
		q = url.Values{"fields": fields}
	}
	if err := r.get(ctx, path, q, into); err != nil {
		return err
	}
	return rest.CheckAbout(id, about())
}

// get decodes the answer to a GET of a path below /v2.0.
func (r requests) get(ctx context.Context, path string, q url.Values, into any) error {
	client, err := r.session.Network(ctx)
	if err != nil {
		return err
	}
	address := client.ServiceURL(path)
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return rest.Get(ctx, client, address, into)
}

// tag replaces the tags of an object of a collection.
func (r requests) tag(ctx context.Context, collection, id string, tags []string) error {
	client, err := r.session.Network(ctx)
	if err != nil {
		return err
	}
	_, err = attributestags.ReplaceAll(ctx, client, collection, id, attributestags.ReplaceAllOpts{Tags: tags}).Extract()
	if err != nil {
		return apierror.Wrap(err, "tag "+collection+"/"+id)
	}
	return nil
}
