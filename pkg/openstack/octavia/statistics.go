package octavia

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// Statistics are the connection counters of a load balancer, summed over its listeners, as its
// provider counts them.
type Statistics struct {
	ActiveConnections int64 `json:"active_connections"`
	TotalConnections  int64 `json:"total_connections"`
	BytesIn           int64 `json:"bytes_in"`
	BytesOut          int64 `json:"bytes_out"`
	RequestErrors     int64 `json:"request_errors"`
}

// Statistics reads the connection counters of a load balancer. They are zero if its provider does
// not count.
func (c *Client) Statistics(ctx context.Context, loadBalancerID string) (*Statistics, error) {
	var answer struct {
		Stats Statistics `json:"stats"`
	}
	if err := c.object(ctx, "loadbalancers", loadBalancerID, "/stats", &answer, nil); err != nil {
		return nil, apierror.Wrap(err, "read statistics of load balancer "+loadBalancerID)
	}
	return &answer.Stats, nil
}
