package octavia

import (
	"context"
	"net/url"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/response"
)

// ObjectID names an object that belongs to another one.
type ObjectID struct {
	ID string `json:"id"`
}

// ObjectIDs name objects that belong to another one, which can have thousands.
type ObjectIDs []ObjectID

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (o *ObjectIDs) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return response.Part(dec, func(r *response.Reader) (err error) {
		*o, err = response.ReadList(r, (*ObjectID).DecodeFrom)
		return err
	})
}

// DecodeFrom reads one of a list.
func (o *ObjectID) DecodeFrom(r *response.Reader) error {
	return onlyField(r, "id", func() error { return r.Text(&o.ID) })
}

// PoolOwner is what says whose a pool is.
type PoolOwner struct {
	ID            string     `json:"id"`
	Name          string     `json:"name"`
	Tags          []string   `json:"tags"`
	Listeners     []ObjectID `json:"listeners"`
	LoadBalancers []ObjectID `json:"loadbalancers"`
}

// PoolOwners lists what says whose the pools of a load balancer are; "": those of all.
func (c *Client) PoolOwners(ctx context.Context, loadBalancerID string) ([]PoolOwner, error) {
	q := url.Values{"fields": {"id", "name", "tags", "listeners", "loadbalancers"}}
	if loadBalancerID != "" {
		q.Set("loadbalancer_id", loadBalancerID)
	}
	return listAll(ctx, c, "pools", q, func(p PoolOwner) string { return p.ID })
}

// PoolsWith lists what says whose the pools are that have a setting at a value, such as
// "operating_status" at "ERROR", in all load balancers. It costs Octavia what these cost, however
// many others there are.
func (c *Client) PoolsWith(ctx context.Context, setting, value string) ([]PoolOwner, error) {
	q := url.Values{setting: {value}, "fields": {"id", "name", "tags", "listeners", "loadbalancers"}}
	return listAll(ctx, c, "pools", q, func(p PoolOwner) string { return p.ID })
}

// ListenerOwners lists what says whose the listeners of all load balancers are.
func (c *Client) ListenerOwners(ctx context.Context) ([]listeners.Listener, error) {
	q := url.Values{"fields": {"id", "name", "tags", "loadbalancers"}}
	return listAll(ctx, c, "listeners", q, func(l listeners.Listener) string { return l.ID })
}
