package neutron

import (
	"context"
	"errors"
	"net/url"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// Quota is how much a project may have of something, and has. A Limit of -1 is none.
type Quota struct {
	Limit    int `json:"limit"`
	Used     int `json:"used"`
	Reserved int `json:"reserved"`
}

// Quotas reads the quotas of the session's project with their use, by Neutron's name of what
// they limit.
func (c *Client) Quotas(ctx context.Context) (map[string]Quota, error) {
	project := c.session.ProjectID()
	if project == "" {
		return nil, errors.New("read quotas of the network service: the project is not known")
	}
	var answer struct {
		Quotas map[string]Quota `json:"quota"`
	}
	if err := c.get(ctx, "quotas/"+url.PathEscape(project)+"/details.json", nil, &answer); err != nil {
		return nil, apierror.Wrap(err, "read quotas of the network service")
	}
	return answer.Quotas, nil
}
