package octavia

import (
	"context"
	"net/url"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// TryCreate sends the creation of a load balancer without a VIP, and returns the error:
// apierror.IsForbidden if the policy denies creations to the user, otherwise an invalid request.
// Octavia checks the policy first, except for the types in the body. Nothing is created. No Octavia
// accepts the request, so that the error is never nil.
func (c *Client) TryCreate(ctx context.Context) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	body := map[string]any{"loadbalancer": map[string]any{"name": "never-created"}}
	_, err = client.Post(ctx, lbaas(client, "loadbalancers"), body, nil, nil)
	return apierror.Wrap(err, "try to create a load balancer")
}

// First reads one object of a collection, such as "listeners", to check whether the user may.
func (c *Client) First(ctx context.Context, collection string) error {
	q := url.Values{"limit": {"1"}, "fields": {"id"}}
	if project := c.session.ProjectID(); project != "" {
		q.Set("project_id", project)
	}
	return apierror.Wrap(c.get(ctx, collection+"?"+q.Encode(), nil), "list "+collection)
}
