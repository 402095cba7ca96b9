package octavia

import (
	"context"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/response"
)

// PoolOutline is which parts a pool has, and its status.
type PoolOutline struct {
	ID                 string
	ProvisioningStatus string
	OperatingStatus    string
	MonitorID          string
	Listeners          []ObjectID
	Members            []ObjectID
}

// DecodeFrom reads a pool of a list.
func (p *PoolOutline) DecodeFrom(r *response.Reader, before *PoolOutline) error {
	return r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "id":
			return r.Text(&p.ID, "")
		case "provisioning_status":
			return r.Text(&p.ProvisioningStatus, before.ProvisioningStatus)
		case "operating_status":
			return r.Text(&p.OperatingStatus, before.OperatingStatus)
		case "healthmonitor_id":
			return r.Text(&p.MonitorID, "")
		case "listeners":
			p.Listeners, err = response.ReadList(r, (*ObjectID).DecodeFrom)
			return err
		case "members":
			p.Members, err = response.ReadList(r, (*ObjectID).DecodeFrom)
			return err
		}
		return r.Skip()
	})
}

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
func (o *ObjectID) DecodeFrom(r *response.Reader, _ *ObjectID) error {
	return onlyField(r, "id", func() error { return r.Text(&o.ID, "") })
}

// PoolOutlines lists the pools of a load balancer without their settings. That is a quarter
// of the status tree, which has more of each member.
func (c *Client) PoolOutlines(ctx context.Context, loadBalancerID string) ([]PoolOutline, error) {
	q := url.Values{"loadbalancer_id": {loadBalancerID}, "fields": {"id", "provisioning_status", "operating_status", "healthmonitor_id", "listeners", "members"}}
	return listAll(ctx, c, "pools", q, func(p PoolOutline) string { return p.ID })
}

// MemberState is what became of a member.
type MemberState struct {
	ID                 string `json:"id"`
	ProvisioningStatus string `json:"provisioning_status"`
}

// MemberStateAt finds the member of a pool at one address and port, and what became of it:
// at most one.
func (c *Client) MemberStateAt(ctx context.Context, poolID, address string, port int) ([]MemberState, error) {
	q := url.Values{"address": {address}, "protocol_port": {strconv.Itoa(port)}, "fields": {"id", "provisioning_status"}}
	return listAll(ctx, c, "pools/"+url.PathEscape(poolID)+"/members", q, func(m MemberState) string { return m.ID })
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
