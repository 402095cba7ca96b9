package octavia

import (
	"context"
	"fmt"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// CreateLoadBalancer creates a load balancer with all objects in it. The answer has all listeners
// and pools with their IDs, in the service's order, and the IDs of members. If
// apierror.IsUnsure(err), it may exist: search for it before a retry.
func (c *Client) CreateLoadBalancer(ctx context.Context, lb LoadBalancer) (*LoadBalancer, error) {
	return create(ctx, c, "loadbalancers", "loadbalancer", lb, "create load balancer "+lb.Name)
}

// UpdateLoadBalancer changes the settings of the load balancer itself. If its driver fails, Octavia
// sets the load balancer to ERROR.
func (c *Client) UpdateLoadBalancer(ctx context.Context, id string, changes Changes) error {
	_, err := update[ObjectID](ctx, c, "loadbalancers", id, "loadbalancer", changes, "update load balancer "+id)
	return err
}

// DeleteLoadBalancer deletes a load balancer, with cascade including all objects in it. The service
// accepts the request and works in the background. It is no error if the load balancer does not
// exist.
func (c *Client) DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error {
	query := ""
	if cascade {
		query = "?cascade=true"
	}
	return apierror.IgnoreNotFound(c.remove(ctx, "loadbalancers", id, query, "delete load balancer "+id))
}

// FailOver makes the provider rebuild the servers of a load balancer, which also repairs one in
// ERROR. The service accepts the request and works in the background: the load balancer is
// PENDING_UPDATE meanwhile. By default this requires the role load-balancer_admin.
func (c *Client) FailOver(ctx context.Context, id string) error {
	return apierror.Wrap(c.put(ctx, "loadbalancers", id, "/failover", nil, nil), "fail over load balancer "+id)
}

// CreateListener creates a listener on an existing load balancer.
func (c *Client) CreateListener(ctx context.Context, listener Listener) (*Listener, error) {
	return create(ctx, c, "listeners", "listener", listener, "create listener "+listener.Name)
}

// UpdateListener changes settings of a listener. The answer has the default values of settings that
// were reset.
func (c *Client) UpdateListener(ctx context.Context, id string, changes Changes) (*Listener, error) {
	return update[Listener](ctx, c, "listeners", id, "listener", changes, "update listener "+id)
}

// DeleteListener deletes a listener; its pool stays. After a 404 it reads the listener, which is a
// second request.
func (c *Client) DeleteListener(ctx context.Context, id string) error {
	return c.removeSurely(ctx, "listeners", id, "listener "+id)
}

// CreatePool creates an empty pool. Octavia answers 500 to a pool with members or a monitor.
func (c *Client) CreatePool(ctx context.Context, pool Pool) (*Pool, error) {
	return create(ctx, c, "pools", "pool", pool, "create pool "+pool.Name)
}

// UpdatePool changes settings of a pool. Without changes it repairs a pool in ERROR.
func (c *Client) UpdatePool(ctx context.Context, id string, changes Changes) error {
	_, err := update[ObjectID](ctx, c, "pools", id, "pool", changes, "update pool "+id)
	return err
}

// DeletePool deletes a pool with its members and its monitor. After a 404 it reads the pool, which
// is a second request.
func (c *Client) DeletePool(ctx context.Context, id string) error {
	return c.removeSurely(ctx, "pools", id, "pool "+id)
}

// CreateMonitor creates the health monitor of a pool.
func (c *Client) CreateMonitor(ctx context.Context, monitor HealthMonitor) (*HealthMonitor, error) {
	return create(ctx, c, "healthmonitors", "healthmonitor", monitor, "create health monitor "+monitor.Name)
}

// UpdateMonitor changes settings of a health monitor.
func (c *Client) UpdateMonitor(ctx context.Context, id string, changes Changes) error {
	_, err := update[ObjectID](ctx, c, "healthmonitors", id, "healthmonitor", changes, "update health monitor "+id)
	return err
}

// DeleteMonitor deletes a health monitor. After a 404 it reads the monitor, which is a second
// request: if another one were created beside it, ovn of Zed would stay in PENDING_UPDATE for ever.
func (c *Client) DeleteMonitor(ctx context.Context, id string) error {
	return c.removeSurely(ctx, "healthmonitors", id, "health monitor "+id)
}

// SetMembers replaces the members of a pool. With additive, it leaves the other members (Octavia
// 2.11). An address and port must not occur twice: Octavia up to 14.0.0 would stay in
// PENDING_UPDATE for ever.
func (c *Client) SetMembers(ctx context.Context, poolID string, members []Member, additive bool) error {
	suffix := "/members"
	if additive {
		suffix += "?additive_only=true"
	}
	if members == nil {
		members = []Member{} // Octavia answers 500 to null
	}
	return apierror.Wrap(c.put(ctx, "pools", poolID, suffix, map[string]any{"members": members}, nil), "set members of pool "+poolID)
}

// AddMember adds one member to a pool, and returns its ID.
func (c *Client) AddMember(ctx context.Context, poolID string, member Member) (id string, err error) {
	added, err := create(ctx, c, membersOf(poolID), "member", member, "add member "+member.Name+" to pool "+poolID)
	if err != nil {
		return "", err
	}
	return added.ID, nil
}

// UpdateMember changes settings of one member.
func (c *Client) UpdateMember(ctx context.Context, poolID, memberID string, changes Changes) error {
	_, err := update[ObjectID](ctx, c, membersOf(poolID), memberID, "member", changes, "update member "+memberID+" of pool "+poolID)
	return err
}

// RemoveMember removes one member of a pool. It is no error if the member does not exist.
func (c *Client) RemoveMember(ctx context.Context, poolID, memberID string) error {
	return apierror.IgnoreNotFound(c.remove(ctx, membersOf(poolID), memberID, "", "remove member "+memberID+" from pool "+poolID))
}

// membersOf returns the path of the members of a pool.
func membersOf(poolID string) string { return "pools/" + url.PathEscape(poolID) + "/members" }

// create sends the creation of an object in a collection, and returns the object in the answer.
// Both bodies have the object under key. The error names the operation.
func create[T any](ctx context.Context, c *Client, collection, key string, object T, operation string) (*T, error) {
	client, err := c.session.LoadBalancer(ctx)
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
func update[T any](ctx context.Context, c *Client, collection, id, key string, changes Changes, operation string) (*T, error) {
	if changes == nil {
		changes = Changes{} // Octavia answers 500 to null
	}
	var made T
	if err := c.put(ctx, collection, id, "", map[string]any{key: changes}, &objectAnswer{key, &made}); err != nil {
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
func (c *Client) put(ctx context.Context, collection, id, suffix string, body, into any) error {
	client, path, err := c.at(ctx, collection, id, suffix)
	if err != nil {
		return err
	}
	return rest.Put(ctx, client, path, body, into)
}

// remove sends a DELETE to an object of a collection. The error names the operation.
func (c *Client) remove(ctx context.Context, collection, id, query, operation string) error {
	client, path, err := c.at(ctx, collection, id, query)
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
func (c *Client) removeSurely(ctx context.Context, collection, id, what string) error {
	err := c.remove(ctx, collection, id, "", "delete "+what)
	if !apierror.IsNotFound(err) {
		return err
	}
	again := apierror.Wrap(c.object(ctx, collection, id, "", nil, nil), "read "+what+" after its deletion")
	if again == nil {
		return fmt.Errorf("the deletion of %s was answered as if it were gone, but it is still there", what)
	}
	return apierror.IgnoreNotFound(again)
}

// at returns the URL of an object of a collection, or of the resource at suffix below it.
func (c *Client) at(ctx context.Context, collection, id, suffix string) (*gophercloud.ServiceClient, string, error) {
	path, err := rest.PathOf(collection, id)
	if err != nil {
		return nil, "", err
	}
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return nil, "", err
	}
	return client, lbaas(client, path+suffix), nil
}
