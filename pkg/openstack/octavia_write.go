package openstack

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
)

// CreateLoadBalancer makes a load balancer with everything in opts. The answer
// holds the whole graph with all IDs; its arrays are in the service's order.
// When IsUnsure(err) it may exist all the same: look before asking again.
func (o *Octavia) CreateLoadBalancer(ctx context.Context, opts loadbalancers.CreateOptsBuilder) (*LoadBalancer, error) {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	var lb LoadBalancer
	if err := loadbalancers.Create(ctx, client, opts).ExtractIntoStructPtr(&lb, "loadbalancer"); err != nil {
		return nil, Wrap(err, "create load balancer "+nameOf(opts.ToLoadBalancerCreateMap))
	}
	return &lb, nil
}

// DeleteLoadBalancer deletes a load balancer, with cascade everything in it. The
// service accepts and goes on in the background; one that is not there any more
// is no error.
func (o *Octavia) DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	err = loadbalancers.Delete(ctx, client, id, loadbalancers.DeleteOpts{Cascade: cascade}).ExtractErr()
	return ignoreNotFound(err, "delete load balancer "+id)
}

// CreateListener makes a listener on an existing load balancer.
func (o *Octavia) CreateListener(ctx context.Context, opts listeners.CreateOpts) (*listeners.Listener, error) {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	listener, err := listeners.Create(ctx, client, opts).Extract()
	if err != nil {
		return nil, Wrap(err, "create listener "+opts.Name)
	}
	return listener, nil
}

// UpdateListener changes the settings of a listener that opts has. The answer has
// what those became that were reset.
func (o *Octavia) UpdateListener(ctx context.Context, id string, opts listeners.UpdateOptsBuilder) (*listeners.Listener, error) {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	listener, err := listeners.Update(ctx, client, id, opts).Extract()
	if err != nil {
		return nil, Wrap(err, "update listener "+id)
	}
	return listener, nil
}

// DeleteListener deletes a listener; its pool stays.
func (o *Octavia) DeleteListener(ctx context.Context, id string) error {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	return ignoreNotFound(listeners.Delete(ctx, client, id).ExtractErr(), "delete listener "+id)
}

// CreatePool makes an empty pool: members and monitor inside answer 500.
func (o *Octavia) CreatePool(ctx context.Context, opts pools.CreateOptsBuilder) (*pools.Pool, error) {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := pools.Create(ctx, client, opts).Extract()
	if err != nil {
		return nil, Wrap(err, "create pool "+nameOf(opts.ToPoolCreateMap))
	}
	return pool, nil
}

// UpdatePool changes the settings of a pool that opts has. With empty opts it
// changes nothing but brings a pool in ERROR back.
func (o *Octavia) UpdatePool(ctx context.Context, id string, opts pools.UpdateOptsBuilder) error {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	_, err = pools.Update(ctx, client, id, opts).Extract()
	return Wrap(err, "update pool "+id)
}

// DeletePool deletes a pool with its members and its monitor.
func (o *Octavia) DeletePool(ctx context.Context, id string) error {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	return ignoreNotFound(pools.Delete(ctx, client, id).ExtractErr(), "delete pool "+id)
}

// CreateMonitor makes the health monitor of a pool.
func (o *Octavia) CreateMonitor(ctx context.Context, opts monitors.CreateOpts) (*monitors.Monitor, error) {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	monitor, err := monitors.Create(ctx, client, opts).Extract()
	if err != nil {
		return nil, Wrap(err, "create health monitor "+opts.Name)
	}
	return monitor, nil
}

// UpdateMonitor changes the settings of a health monitor that opts has.
func (o *Octavia) UpdateMonitor(ctx context.Context, id string, opts monitors.UpdateOptsBuilder) error {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	_, err = monitors.Update(ctx, client, id, opts).Extract()
	return Wrap(err, "update health monitor "+id)
}

// DeleteMonitor deletes a health monitor.
func (o *Octavia) DeleteMonitor(ctx context.Context, id string) error {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	return ignoreNotFound(monitors.Delete(ctx, client, id).ExtractErr(), "delete health monitor "+id)
}

// SetMembers makes the members of a pool these; with additive, members that are
// not named stay (Octavia 2.11). No address and port may be named twice: Octavia
// up to 14.0.0 then hangs in PENDING_UPDATE for ever.
func (o *Octavia) SetMembers(ctx context.Context, poolID string, members []pools.CreateMemberOpts, additive bool) error {
	client, err := o.session.LoadBalancer(ctx)
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
	return Wrap(err, "set members of pool "+poolID)
}

// AddMember adds one member to a pool.
func (o *Octavia) AddMember(ctx context.Context, poolID string, member pools.CreateMemberOpts) (*pools.Member, error) {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	created, err := pools.CreateMember(ctx, client, poolID, member).Extract()
	if err != nil {
		return nil, Wrap(err, "add member "+member.Name+" to pool "+poolID)
	}
	return created, nil
}

// UpdateMember changes one member. Its address, port and subnet cannot change.
func (o *Octavia) UpdateMember(ctx context.Context, poolID, memberID string, opts pools.UpdateMemberOptsBuilder) error {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	_, err = pools.UpdateMember(ctx, client, poolID, memberID, opts).Extract()
	return Wrap(err, "update member "+memberID+" of pool "+poolID)
}

// RemoveMember takes one member out of a pool.
func (o *Octavia) RemoveMember(ctx context.Context, poolID, memberID string) error {
	client, err := o.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	err = pools.DeleteMember(ctx, client, poolID, memberID).ExtractErr()
	return ignoreNotFound(err, "remove member "+memberID+" from pool "+poolID)
}

// ignoreNotFound is for deletes: what is not there any more is deleted.
func ignoreNotFound(err error, doing string) error {
	if IsNotFound(err) {
		return nil
	}
	return Wrap(err, doing)
}
