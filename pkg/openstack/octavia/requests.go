package octavia

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// requests sends the requests of a session. The clients of all kinds of objects are made of it.
type requests struct{ session Session }

// pageSize is the number of objects in one page of a list. It is the default of Octavia's
// pagination_max_limit.
const pageSize = 1000

// anyTag selects objects with at least one of several tags, which are separated by commas. Octavia
// cuts its pages by matching tags: a page of objects with several of them is short.
const anyTag = "tags-any"

// tagged returns a query for objects with at least one of these tags.
func tagged(tags []string) url.Values {
	if len(tags) == 1 {
		return url.Values{"tags": tags}
	}
	return url.Values{anyTag: {strings.Join(tags, ",")}}
}

// object decodes the answer to a GET of one object of a collection, or of the resource at suffix below
// it. It returns an error if about returns another ID than the requested one after decoding.
func (r requests) object(ctx context.Context, collection, id, suffix string, into any, about func() string) error {
	path, err := rest.PathOf(collection, id)
	if err != nil {
		return err
	}
	if err := r.get(ctx, path+suffix, into); err != nil || about == nil {
		return err
	}
	return rest.CheckAbout(id, about())
}

// get decodes the answer to a GET of a path below the service's root.
func (r requests) get(ctx context.Context, path string, into any) error {
	client, err := r.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	return rest.Get(ctx, client, lbaas(client, path), into)
}

// lbaas returns the URL of a path of the load balancer API.
func lbaas(client *gophercloud.ServiceClient, path string) string {
	return client.ServiceURL("lbaas", path)
}

// listAll lists a collection of the session's project.
func listAll[T any](ctx context.Context, r requests, path string, q url.Values, id func(T) string) ([]T, error) {
	if project := r.session.ProjectID(); project != "" {
		q.Set("project_id", project)
	}
	return listAnyProject(ctx, r, path, q, id)
}

// listAnyProject lists a collection without a limit to a project. The answer has it under the last
// word of the path.
func listAnyProject[T any](ctx context.Context, r requests, path string, q url.Values, id func(T) string) ([]T, error) {
	q.Set("limit", strconv.Itoa(pageSize))
	pages := rest.Collection[T]{Name: lastWord(path), Size: pageSize, ID: id, UnknownMarker: apierror.IsUnknownMarker, Get: func(ctx context.Context, q url.Values, into any) error {
		return r.get(ctx, path+"?"+q.Encode(), into)
	}}
	all, err := pages.All(ctx, q)
	return all, apierror.Wrap(err, "list "+path)
}

// create sends the creation of an object in a collection, and returns the object in the answer.
// Both bodies have the object under key. The error names the operation.
func create[T any](ctx context.Context, r requests, collection, key string, object T, operation string) (*T, error) {
	client, err := r.session.LoadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	var made T
	if err := rest.Post(ctx, client, lbaas(client, collection), map[string]any{key: object}, &objectAnswer{key, &made}); err != nil {
		return nil, apierror.Wrap(err, operation)
	}
	return &made, nil
}

// update sends changes of an object, as create does. T has the fields to read from the answer.
func update[T any](ctx context.Context, r requests, collection, id, key string, changes Changes, operation string) (*T, error) {
	if changes == nil {
		changes = Changes{} // Octavia answers 500 to null
	}
	var made T
	if err := r.put(ctx, collection, id, "", map[string]any{key: changes}, &objectAnswer{key, &made}); err != nil {
		return nil, apierror.Wrap(err, operation)
	}
	return &made, nil
}

// objectAnswer is an answer with one object, under a key.
type objectAnswer struct {
	key    string
	object any
}

// DecodeFrom reads the answer.
func (a *objectAnswer) DecodeFrom(r *rest.Reader) error {
	return onlyField(r, a.key, func() error { return r.Decode(a.object) })
}

// put sends a PUT to an object of a collection, or to the resource at suffix below it, and decodes the
// answer.
func (r requests) put(ctx context.Context, collection, id, suffix string, body, into any) error {
	client, path, err := r.at(ctx, collection, id, suffix)
	if err != nil {
		return err
	}
	return rest.Put(ctx, client, path, body, into)
}

// remove sends a DELETE to an object of a collection. The error names the operation.
func (r requests) remove(ctx context.Context, collection, id, query, operation string) error {
	client, path, err := r.at(ctx, collection, id, query)
	if err != nil {
		return err
	}
	resp, err := client.Delete(ctx, path, nil)
	_, _, err = gophercloud.ParseResponse(resp, err)
	return apierror.Wrap(err, operation)
}

// removeSurely is remove with a check: if the deletion is answered 404, it reads the object, and
// succeeds only if that is answered 404, too. A server that lags behind may not know an object that
// another server created. On a load balancer of several Services the object would stay, and could
// conflict with a later one.
func (r requests) removeSurely(ctx context.Context, collection, id, what string) error {
	err := r.remove(ctx, collection, id, "", "delete "+what)
	if !apierror.IsNotFound(err) {
		return err
	}
	again := apierror.Wrap(r.object(ctx, collection, id, "", nil, nil), "read "+what+" after its deletion")
	if again == nil {
		return fmt.Errorf("the deletion of %s was answered as if it were gone, but it is still there", what)
	}
	return apierror.IgnoreNotFound(again)
}

// at returns the URL of an object of a collection, or of the resource at suffix below it.
func (r requests) at(ctx context.Context, collection, id, suffix string) (*gophercloud.ServiceClient, string, error) {
	path, err := rest.PathOf(collection, id)
	if err != nil {
		return nil, "", err
	}
	client, err := r.session.LoadBalancer(ctx)
	if err != nil {
		return nil, "", err
	}
	return client, lbaas(client, path+suffix), nil
}

// ObjectID refers to an object that belongs to another one.
type ObjectID struct {
	ID string `json:"id"`
}

// ownerFields returns the attributes of a pool or a listener that show the Service that it belongs
// to.
func ownerFields(more ...string) []string {
	return append([]string{"id", "name", "tags", "loadbalancers"}, more...)
}
