package octavia

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// LoadBalancerFilter selects the load balancers that LoadBalancers lists. Empty fields do not
// filter. A load balancer must have all of Tags, and one of AnyTag.
type LoadBalancerFilter struct {
	ID          string
	Description string
	// VIPPortID and VIPAddress are the port and the address of the VIP.
	VIPPortID, VIPAddress string
	Tags, AnyTag          []string
	// Fields are the attributes in the answer; none means all.
	Fields []string
	// ProvisioningStatus selects a single status.
	ProvisioningStatus string
	// All must be set to list all load balancers: a filter without any field is an error.
	All bool
}

// Statistics are the connection counters of a load balancer, summed over its listeners, as its
// provider counts them.
type Statistics struct {
	ActiveConnections int64 `json:"active_connections"`
	TotalConnections  int64 `json:"total_connections"`
	BytesIn           int64 `json:"bytes_in"`
	BytesOut          int64 `json:"bytes_out"`
	RequestErrors     int64 `json:"request_errors"`
}

// loadBalancerAPI reads and writes load balancers.
type loadBalancerAPI struct{ requests }

// empty reports whether the filter has no fields.
func (f LoadBalancerFilter) empty() bool {
	f.Fields = nil
	return len(f.query()) == 0
}

func (f LoadBalancerFilter) query() url.Values {
	q := url.Values{}
	if f.ID != "" {
		q.Set("id", f.ID)
	}
	if f.Description != "" {
		q.Set("description", f.Description)
	}
	if f.VIPPortID != "" {
		q.Set("vip_port_id", f.VIPPortID)
	}
	if f.VIPAddress != "" {
		q.Set("vip_address", f.VIPAddress)
	}
	for _, tag := range f.Tags {
		q.Add("tags", tag)
	}
	if len(f.AnyTag) > 0 {
		q.Set(anyTag, strings.Join(f.AnyTag, ","))
	}
	for _, field := range f.Fields {
		q.Add("fields", field) // "fields=a,b" answers empty objects
	}
	if f.ProvisioningStatus != "" {
		q.Set("provisioning_status", f.ProvisioningStatus)
	}
	return q
}

// LoadBalancers lists the load balancers of the session's project. Of their children, only the IDs
// are set. It sends a request for each page.
func (c loadBalancerAPI) LoadBalancers(ctx context.Context, filter LoadBalancerFilter) ([]LoadBalancer, error) {
	if filter.empty() != filter.All {
		return nil, errors.New("list loadbalancers: the filter is empty")
	}
	return listAll(ctx, c.requests, "loadbalancers", filter.query(), func(lb LoadBalancer) string { return lb.ID })
}

// LoadBalancer reads one load balancer.
func (c loadBalancerAPI) LoadBalancer(ctx context.Context, id string) (*LoadBalancer, error) {
	var answer struct {
		LoadBalancer LoadBalancer `json:"loadbalancer"`
	}
	if err := c.object(ctx, "loadbalancers", id, "", &answer, func() string { return answer.LoadBalancer.ID }); err != nil {
		return nil, apierror.Wrap(err, "read load balancer "+id)
	}
	return &answer.LoadBalancer, nil
}

// CreateLoadBalancer creates a load balancer with all objects in it. The answer has all listeners
// and pools with their IDs, in the service's order, and the IDs of members. If
// apierror.IsUnsure(err), it may exist: search for it before a retry.
func (c loadBalancerAPI) CreateLoadBalancer(ctx context.Context, lb LoadBalancer) (*LoadBalancer, error) {
	return create(ctx, c.requests, "loadbalancers", "loadbalancer", lb, "create load balancer "+lb.Name)
}

// UpdateLoadBalancer changes the settings of the load balancer itself. If its driver fails, Octavia
// sets the load balancer to ERROR.
func (c loadBalancerAPI) UpdateLoadBalancer(ctx context.Context, id string, changes Changes) error {
	_, err := update[ObjectID](ctx, c.requests, "loadbalancers", id, "loadbalancer", changes, "update load balancer "+id)
	return err
}

// DeleteLoadBalancer deletes a load balancer, with cascade including all objects in it. The service
// accepts the request and works in the background. It is no error if the load balancer does not
// exist.
func (c loadBalancerAPI) DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error {
	query := ""
	if cascade {
		query = "?cascade=true"
	}
	return apierror.IgnoreNotFound(c.remove(ctx, "loadbalancers", id, query, "delete load balancer "+id))
}

// FailOver makes the provider rebuild the servers of a load balancer, which also repairs one in
// ERROR. The service accepts the request and works in the background: the load balancer is
// PENDING_UPDATE meanwhile. By default this requires the role load-balancer_admin.
func (c loadBalancerAPI) FailOver(ctx context.Context, id string) error {
	return apierror.Wrap(c.put(ctx, "loadbalancers", id, "/failover", nil, nil), "fail over load balancer "+id)
}

// Statistics reads the connection counters of a load balancer. They are zero if its provider does
// not count.
func (c loadBalancerAPI) Statistics(ctx context.Context, loadBalancerID string) (*Statistics, error) {
	var answer struct {
		Stats Statistics `json:"stats"`
	}
	if err := c.object(ctx, "loadbalancers", loadBalancerID, "/stats", &answer, nil); err != nil {
		return nil, apierror.Wrap(err, "read statistics of load balancer "+loadBalancerID)
	}
	return &answer.Stats, nil
}
