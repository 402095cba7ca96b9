package octavia

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/response"
)

// CreateLoadBalancer creates a load balancer with everything in opts. The answer
// holds the whole graph with all IDs but those of members, which are left out: a status
// tree has them, with what becomes of them. Its arrays are in the service's order.
// When apierror.IsUnsure(err) it may exist all the same: look before asking again.
func (c *Client) CreateLoadBalancer(ctx context.Context, opts loadbalancers.CreateOptsBuilder) (*LoadBalancer, error) {
	body, err := opts.ToLoadBalancerCreateMap()
	if err != nil {
		return nil, err
	}
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	var answer createAnswer
	if err := response.Post(ctx, client, lbaas(client, "loadbalancers"), body, &answer); err != nil {
		return nil, apierror.Wrap(err, "create load balancer "+nameOf(opts.ToLoadBalancerCreateMap))
	}
	return answer.loadBalancer(), nil
}

// DeleteLoadBalancer deletes a load balancer, with cascade everything in it. The
// service accepts and goes on in the background; one that is not there any more
// is no error.
func (c *Client) DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	err = loadbalancers.Delete(ctx, client, id, loadbalancers.DeleteOpts{Cascade: cascade}).ExtractErr()
	return apierror.IgnoreNotFound(apierror.Wrap(err, "delete load balancer "+id))
}

// FailOver has the provider rebuild what a load balancer runs on, which also leads one out
// of ERROR. The service accepts and goes on in the background: the load balancer is
// PENDING_UPDATE meanwhile. By default it takes the role load-balancer_admin.
func (c *Client) FailOver(ctx context.Context, id string) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	return apierror.Wrap(loadbalancers.Failover(ctx, client, id).ExtractErr(), "fail over load balancer "+id)
}

// CreateListener creates a listener on an existing load balancer.
func (c *Client) CreateListener(ctx context.Context, opts listeners.CreateOpts) (*listeners.Listener, error) {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	listener, err := listeners.Create(ctx, client, opts).Extract()
	if err != nil {
		return nil, apierror.Wrap(err, "create listener "+opts.Name)
	}
	return listener, nil
}

// UpdateListener changes the settings of a listener that opts has. The answer has
// what those became that were reset.
func (c *Client) UpdateListener(ctx context.Context, id string, opts listeners.UpdateOptsBuilder) (*listeners.Listener, error) {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	listener, err := listeners.Update(ctx, client, id, opts).Extract()
	if err != nil {
		return nil, apierror.Wrap(err, "update listener "+id)
	}
	return listener, nil
}

// gone returns nil where the deletion of an object was answered 404, and so is its reading. A
// server that lags behind does not know what another one has made; what is left on a load
// balancer of several Services nobody would find, or is in the way of what comes next.
func gone(err error, what string, read func() error) error {
	if !apierror.IsNotFound(err) {
		return err
	}
	again := apierror.Wrap(read(), "read "+what+" after its deletion")
	if again == nil {
		return fmt.Errorf("the deletion of %s was answered as if it were gone, but it is still there", what)
	}
	return apierror.IgnoreNotFound(again)
}

// DeleteListener deletes a listener; its pool stays. After a 404 it is read: a second request.
func (c *Client) DeleteListener(ctx context.Context, id string) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	return gone(apierror.Wrap(listeners.Delete(ctx, client, id).ExtractErr(), "delete listener "+id), "listener "+id, func() error {
		return listeners.Get(ctx, client, id).Err
	})
}

// CreatePool creates an empty pool: members and monitor inside answer 500.
func (c *Client) CreatePool(ctx context.Context, opts pools.CreateOptsBuilder) (*pools.Pool, error) {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := pools.Create(ctx, client, opts).Extract()
	if err != nil {
		return nil, apierror.Wrap(err, "create pool "+nameOf(opts.ToPoolCreateMap))
	}
	return pool, nil
}

// UpdatePool changes the settings of a pool that opts has. With empty opts it
// changes nothing but brings a pool in ERROR back.
func (c *Client) UpdatePool(ctx context.Context, id string, opts pools.UpdateOptsBuilder) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	_, err = pools.Update(ctx, client, id, opts).Extract()
	return apierror.Wrap(err, "update pool "+id)
}

// DeletePool deletes a pool with its members and its monitor. After a 404 it is read: a second
// request.
func (c *Client) DeletePool(ctx context.Context, id string) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	return gone(apierror.Wrap(pools.Delete(ctx, client, id).ExtractErr(), "delete pool "+id), "pool "+id, func() error {
		return pools.Get(ctx, client, id).Err
	})
}

// CreateMonitor creates the health monitor of a pool.
func (c *Client) CreateMonitor(ctx context.Context, opts monitors.CreateOpts) (*monitors.Monitor, error) {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	monitor, err := monitors.Create(ctx, client, opts).Extract()
	if err != nil {
		return nil, apierror.Wrap(err, "create health monitor "+opts.Name)
	}
	return monitor, nil
}

// UpdateMonitor changes the settings of a health monitor that opts has.
func (c *Client) UpdateMonitor(ctx context.Context, id string, opts monitors.UpdateOptsBuilder) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	_, err = monitors.Update(ctx, client, id, opts).Extract()
	return apierror.Wrap(err, "update health monitor "+id)
}

// DeleteMonitor deletes a health monitor. After a 404 it is read, a second request: with another
// one created beside it, ovn of Zed would stay in PENDING_UPDATE for ever.
func (c *Client) DeleteMonitor(ctx context.Context, id string) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	return gone(apierror.Wrap(monitors.Delete(ctx, client, id).ExtractErr(), "delete health monitor "+id), "health monitor "+id, func() error {
		return monitors.Get(ctx, client, id).Err
	})
}

// SetMembers replaces the members of a pool; with additive, members that are not
// named stay (Octavia 2.11). No address and port may be named twice: Octavia
// up to 14.0.0 then hangs in PENDING_UPDATE for ever.
func (c *Client) SetMembers(ctx context.Context, poolID string, members []pools.CreateMemberOpts, additive bool) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	path := "pools/" + url.PathEscape(poolID) + "/members"
	if additive {
		path += "?additive_only=true"
	}
	body := map[string]any{"members": members}
	if len(members) == 0 {
		body["members"] = []any{} // null is a 500
	}
	resp, err := client.Put(ctx, lbaas(client, path), body, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusAccepted}})
	_, _, err = gophercloud.ParseResponse(resp, err)
	return apierror.Wrap(err, "set members of pool "+poolID)
}

// AddMember adds one member to a pool, and returns its ID.
func (c *Client) AddMember(ctx context.Context, poolID string, member pools.CreateMemberOpts) (id string, err error) {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return "", err
	}
	body := map[string]any{"member": member} // as the client's library makes it, in one pass
	var answer struct {
		Member ObjectID `json:"member"`
	}
	err = response.Post(ctx, client, lbaas(client, "pools/"+url.PathEscape(poolID)+"/members"), body, &answer)
	return answer.Member.ID, apierror.Wrap(err, "add member "+member.Name+" to pool "+poolID)
}

// UpdateMember changes one member. Its address, port and subnet cannot change.
func (c *Client) UpdateMember(ctx context.Context, poolID, memberID string, opts pools.UpdateMemberOptsBuilder) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	_, err = pools.UpdateMember(ctx, client, poolID, memberID, opts).Extract()
	return apierror.Wrap(err, "update member "+memberID+" of pool "+poolID)
}

// RemoveMember takes one member out of a pool.
func (c *Client) RemoveMember(ctx context.Context, poolID, memberID string) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	err = pools.DeleteMember(ctx, client, poolID, memberID).ExtractErr()
	return apierror.IgnoreNotFound(apierror.Wrap(err, "remove member "+memberID+" from pool "+poolID))
}
