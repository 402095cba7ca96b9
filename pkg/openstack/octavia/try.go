package octavia

import (
	"context"
	"net/url"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// TryCreate asks for a load balancer without a VIP, and returns how that is refused: by policy
// (apierror.IsForbidden) where the user may create none, else as invalid. Policy is asked
// before anything is looked at but the types of the body. Nothing is created; nil would be the
// answer of no Octavia.
func (c *Client) TryCreate(ctx context.Context) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	body := map[string]any{"loadbalancer": map[string]any{"name": "never-created"}}
	_, err = client.Post(ctx, lbaas(client, "loadbalancers"), body, nil, nil)
	return apierror.Wrap(err, "try to create a load balancer")
}

// First asks for one object of a collection, such as "listeners", to see whether the user may
// read it.
func (c *Client) First(ctx context.Context, collection string) error {
	q := url.Values{"limit": {"1"}, "fields": {"id"}}
	if project := c.session.ProjectID(); project != "" {
		q.Set("project_id", project)
	}
	return apierror.Wrap(c.get(ctx, collection+"?"+q.Encode(), nil), "list "+collection)
}
