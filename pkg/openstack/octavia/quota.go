package octavia

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"

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
		Quota map[string]json.RawMessage `json:"quota"`
	}
	if err := c.get(ctx, "quotas/"+url.PathEscape(project), &answer); err != nil {
		return nil, apierror.Wrap(err, "read quotas of the load balancer service")
	}
	limits := map[string]int{}
	for name, value := range answer.Quota {
		if limit, err := strconv.Atoi(string(value)); err == nil { // the project is there too, as a text
			limits[name] = limit
		}
	}
	return limits, nil
}
