package octavia

import (
	"context"
	"encoding/json"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// LoadBalancer is a load balancer with what the client's library does not read.
type LoadBalancer struct {
	loadbalancers.LoadBalancer
	// VIPSecurityGroupIDs are the user's own security groups on the ports of the VIP;
	// none where Octavia makes one. Octavia before 16.0 (2025.1) knows none.
	VIPSecurityGroupIDs []string
}

// UnmarshalJSON implements json.Unmarshaler: that of the client's library reads its
// own part only.
func (lb *LoadBalancer) UnmarshalJSON(text []byte) error {
	var more struct {
		VIPSecurityGroupIDs []string `json:"vip_sg_ids"`
	}
	if err := json.Unmarshal(text, &more); err != nil {
		return err
	}
	lb.VIPSecurityGroupIDs = more.VIPSecurityGroupIDs
	return lb.LoadBalancer.UnmarshalJSON(text)
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
