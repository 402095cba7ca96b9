package octavia

import (
	"context"
	"errors"
	"net/url"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// QuotaLimits reads how much of everything the session's project may have, by Octavia's name
// of it, such as "load_balancer"; -1 is no limit. How much it has Octavia does not tell.
func (c *Client) QuotaLimits(ctx context.Context) (map[string]int, error) {
	project := c.session.ProjectID()
	if project == "" {
		return nil, errors.New("read quotas of the load balancer service: the project is not known")
	}
	var answer struct {
		Quota map[string]any `json:"quota"`
	}
	if err := c.get(ctx, "quotas/"+url.PathEscape(project), &answer); err != nil {
		return nil, apierror.Wrap(err, "read quotas of the load balancer service")
	}
	limits := map[string]int{}
	for name, value := range answer.Quota {
		if limit, is := value.(float64); is { // the project is there too, as a text
			limits[name] = int(limit)
		}
	}
	return limits, nil
}
