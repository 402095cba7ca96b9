package neutron

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// Quota is the limit and the use of a resource in a project. A Limit of -1 means no limit.
type Quota struct {
	Limit    int `json:"limit"`
	Used     int `json:"used"`
	Reserved int `json:"reserved"`
}

// projectAPI reads the quotas and permissions of a project.
type projectAPI struct{ requests }

// Quotas returns the quotas of the session's project with their use, by Neutron's name of the
// resource.
func (c projectAPI) Quotas(ctx context.Context) (map[string]Quota, error) {
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

// TryFloatingIP requests a floating IP of a network that cannot exist, and returns the refusal:
// apierror.IsForbidden if the policy does not permit the user to create any. Neutron checks the
// quota, then the policy, then the network (neutron/pecan_wsgi/app.py, the priorities of the
// hooks). Nothing is created; nil is the answer of no known Neutron.
func (c projectAPI) TryFloatingIP(ctx context.Context) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	body := map[string]any{"floatingip": map[string]any{"floating_network_id": uuid.Nil.String()}}
	_, err = client.Post(ctx, client.ServiceURL("floatingips"), body, nil, nil)
	return apierror.Wrap(err, "try to create a floating IP")
}

// Sees reports whether any object of a collection, such as "ports", is visible to the user. If not,
// there is none, or the policy hides them from lists.
func (c projectAPI) Sees(ctx context.Context, collection string) (bool, error) {
	var answer map[string][]struct{}
	q := url.Values{"limit": {"1"}, "fields": {"id"}}
	if err := c.get(ctx, collection, q, &answer); err != nil {
		return false, apierror.Wrap(err, "list "+collection)
	}
	return len(answer[strings.ReplaceAll(collection, "-", "_")]) > 0, nil
}
