package neutron

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/google/uuid"

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

// TryFloatingIP asks for a floating IP of a network that cannot exist, and returns how that is
// refused: by policy (apierror.IsForbidden) where the user may create none. Policy is asked
// before the network is looked for, and after the quota (neutron/pecan_wsgi/app.py, the
// priorities of the hooks). Nothing is created; nil would be the answer of no Neutron.
func (c *Client) TryFloatingIP(ctx context.Context) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	body := map[string]any{"floatingip": map[string]any{"floating_network_id": uuid.Nil.String()}}
	_, err = client.Post(ctx, client.ServiceURL("floatingips"), body, nil, nil)
	return apierror.Wrap(err, "try to create a floating IP")
}

// Sees reports whether the user sees an object of a collection, such as "ports". Where not,
// there is none, or Neutron hides it: what the policy forbids to read is left out of lists.
func (c *Client) Sees(ctx context.Context, collection string) (bool, error) {
	var answer map[string][]struct{}
	q := url.Values{"limit": {"1"}, "fields": {"id"}}
	if err := c.get(ctx, collection, q, &answer); err != nil {
		return false, apierror.Wrap(err, "list "+collection)
	}
	return len(answer[strings.ReplaceAll(collection, "-", "_")]) > 0, nil
}
