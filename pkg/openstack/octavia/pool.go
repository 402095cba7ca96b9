package octavia

import (
	"context"
	"net/url"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// poolAPI reads and writes pools.
type poolAPI struct{ requests }

// Pools lists the pools of a load balancer. Of their members, only the IDs are set.
func (c poolAPI) Pools(ctx context.Context, loadBalancerID string) ([]Pool, error) {
	q := url.Values{"loadbalancer_id": {loadBalancerID}}
	return listAll(ctx, c.requests, "pools", q, func(p Pool) string { return p.ID })
}

// Pool reads one pool.
func (c poolAPI) Pool(ctx context.Context, id string) (*Pool, error) {
	var answer struct {
		Pool Pool `json:"pool"`
	}
	if err := c.object(ctx, "pools", id, "", &answer, func() string { return answer.Pool.ID }); err != nil {
		return nil, apierror.Wrap(err, "read pool "+id)
	}
	return &answer.Pool, nil
}

// PoolsTagged lists the pools with one of these tags, in all load balancers. Octavia loads all
// their members.
func (c poolAPI) PoolsTagged(ctx context.Context, tags ...string) ([]Pool, error) {
	return listAll(ctx, c.requests, "pools", tagged(tags), func(p Pool) string { return p.ID })
}

// CreatePool creates an empty pool. Octavia answers 500 to a pool with members or a monitor.
func (c poolAPI) CreatePool(ctx context.Context, pool Pool) (*Pool, error) {
	return create(ctx, c.requests, "pools", "pool", pool, "create pool "+pool.Name)
}

// UpdatePool changes settings of a pool. Without changes it repairs a pool in ERROR.
func (c poolAPI) UpdatePool(ctx context.Context, id string, changes Changes) error {
	_, err := update[ObjectID](ctx, c.requests, "pools", id, "pool", changes, "update pool "+id)
	return err
}

// DeletePool deletes a pool with its members and its monitor. After a 404 it reads the pool, which
// is a second request.
func (c poolAPI) DeletePool(ctx context.Context, id string) error {
	return c.removeSurely(ctx, "pools", id, "pool "+id)
}

// PoolOwners lists the pools of a load balancer, or of all load balancers for "". Only ID, Name, Tags,
// Listeners and LoadBalancers of a pool are read.
func (c poolAPI) PoolOwners(ctx context.Context, loadBalancerID string) ([]Pool, error) {
	q := url.Values{"fields": ownerFields("listeners")}
	if loadBalancerID != "" {
		q.Set("loadbalancer_id", loadBalancerID)
	}
	return listAll(ctx, c.requests, "pools", q, func(p Pool) string { return p.ID })
}

// PoolsWith lists the pools in all load balancers that have a setting at a value, such as
// "operating_status" at "ERROR". It reads the same fields as PoolOwners. Its costs for Octavia
// depend on these pools only.
func (c poolAPI) PoolsWith(ctx context.Context, setting, value string) ([]Pool, error) {
	q := url.Values{setting: {value}, "fields": ownerFields("listeners")}
	return listAll(ctx, c.requests, "pools", q, func(p Pool) string { return p.ID })
}
