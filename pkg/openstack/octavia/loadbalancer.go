package octavia

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// LoadBalancer is a load balancer with what the client's library does not read.
type LoadBalancer struct {
	loadbalancers.LoadBalancer
	// VIPSecurityGroupIDs are the user's own security groups on the ports of the VIP;
	// none where Octavia makes one. Octavia before 16.0 (2025.1) knows none.
	VIPSecurityGroupIDs []string
}

// attributes are those of a load balancer in an answer. The library's own way to decode
// them goes over the text several times, once for each form of a time.
type attributes struct {
	plainLoadBalancer
	CreatedAt           timestamp `json:"created_at"`
	UpdatedAt           timestamp `json:"updated_at"`
	VIPSecurityGroupIDs []string  `json:"vip_sg_ids"`
}

// plainLoadBalancer is the library's without its methods.
type plainLoadBalancer loadbalancers.LoadBalancer

func (a *attributes) loadBalancer() LoadBalancer {
	lb := LoadBalancer{LoadBalancer: loadbalancers.LoadBalancer(a.plainLoadBalancer), VIPSecurityGroupIDs: a.VIPSecurityGroupIDs}
	lb.CreatedAt, lb.UpdatedAt = time.Time(a.CreatedAt), time.Time(a.UpdatedAt)
	return lb
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (lb *LoadBalancer) UnmarshalJSONFrom(text *jsontext.Decoder) error {
	var answer attributes
	if err := json.UnmarshalDecode(text, &answer); err != nil {
		return err
	}
	*lb = answer.loadBalancer()
	return nil
}

// timestamp is a time in UTC, as Octavia writes it without a zone, or with one.
type timestamp time.Time

// UnmarshalText implements encoding.TextUnmarshaler. Null, for which it is not called, and an empty
// text are the zero time.
func (t *timestamp) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, string(text)+"Z") // of all layouts, package time reads this one fastest
	if err != nil {
		at, err = time.Parse(time.RFC3339Nano, string(text))
	}
	*t = timestamp(at)
	return err
}

// createAnswer is the answer to a creation. Of a load balancer with thousands of members
// it has a megabyte, nearly all of it what was sent.
type createAnswer struct {
	LoadBalancer struct {
		attributes
		Pools []poolAnswer `json:"pools"`
	} `json:"loadbalancer"`
}

// poolAnswer is a pool without its members.
type poolAnswer struct {
	pools.Pool
	Members skipped `json:"members"`
}

func (a *createAnswer) loadBalancer() *LoadBalancer {
	lb := a.LoadBalancer.attributes.loadBalancer()
	for _, pool := range a.LoadBalancer.Pools {
		lb.Pools = append(lb.Pools, pool.Pool)
	}
	return &lb
}

// skipped is a part of an answer that nobody needs.
type skipped struct{}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (*skipped) UnmarshalJSONFrom(text *jsontext.Decoder) error {
	_, err := text.ReadValue() // in half the time of SkipValue
	return err
}

// VIPUpdate is the change of what a load balancer has on its VIP. Nil leaves a
// setting as it is, an empty one takes it away.
type VIPUpdate struct {
	QoSPolicyID      *string
	SecurityGroupIDs *[]string
	// SwitchOn sets admin_state_up.
	SwitchOn bool
}

// ToLoadBalancerUpdateMap implements loadbalancers.UpdateOptsBuilder.
func (opts VIPUpdate) ToLoadBalancerUpdateMap() (map[string]any, error) {
	settings := map[string]any{}
	if opts.SwitchOn {
		settings["admin_state_up"] = true
	}
	if id := opts.QoSPolicyID; id != nil {
		settings["vip_qos_policy_id"] = id
		if *id == "" {
			settings["vip_qos_policy_id"] = nil
		}
	}
	if ids := opts.SecurityGroupIDs; ids != nil {
		settings["vip_sg_ids"] = append([]string{}, *ids...)
	}
	return map[string]any{"loadbalancer": settings}, nil
}

// UpdateLoadBalancer changes the settings of a load balancer itself that opts has.
// Octavia puts a load balancer into ERROR when its driver fails to do it.
func (c *Client) UpdateLoadBalancer(ctx context.Context, id string, opts loadbalancers.UpdateOptsBuilder) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	_, err = loadbalancers.Update(ctx, client, id, opts).Extract()
	return apierror.Wrap(err, "update load balancer "+id)
}
