package octavia

import (
	"context"
	"net/url"
)

// ObjectID refers to an object that belongs to another one.
type ObjectID struct {
	ID string `json:"id"`
}

// ownerFields returns the attributes of a pool or a listener that show the Service that it belongs
// to.
func ownerFields(more ...string) []string {
	return append([]string{"id", "name", "tags", "loadbalancers"}, more...)
}

// PoolOwners lists the pools of a load balancer, or of all load balancers for "". Only ID, Name, Tags,
// Listeners and LoadBalancers of a pool are read.
func (c *Client) PoolOwners(ctx context.Context, loadBalancerID string) ([]Pool, error) {
	q := url.Values{"fields": ownerFields("listeners")}
	if loadBalancerID != "" {
		q.Set("loadbalancer_id", loadBalancerID)
	}
	return listAll(ctx, c, "pools", q, func(p Pool) string { return p.ID })
}

// PoolsWith lists the pools in all load balancers that have a setting at a value, such as
// "operating_status" at "ERROR". It reads the same fields as PoolOwners. Its costs for Octavia
// depend on these pools only.
func (c *Client) PoolsWith(ctx context.Context, setting, value string) ([]Pool, error) {
	q := url.Values{setting: {value}, "fields": ownerFields("listeners")}
	return listAll(ctx, c, "pools", q, func(p Pool) string { return p.ID })
}

// ListenerOwners lists the listeners of all load balancers. Only ID, Name, Tags and LoadBalancers of
// a listener are read.
func (c *Client) ListenerOwners(ctx context.Context) ([]Listener, error) {
	return listAll(ctx, c, "listeners", url.Values{"fields": ownerFields()}, func(l Listener) string { return l.ID })
}
