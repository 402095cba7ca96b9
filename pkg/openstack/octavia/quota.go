package octavia

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// QuotaLimits reads the limits of the session's project, by Octavia's names of object classes, such
// as "load_balancer"; -1 is no limit. Octavia does not report the use.
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
		if limit, err := strconv.Atoi(string(value)); err == nil { // the object also has the project, as a text
			limits[name] = limit
		}
	}
	return limits, nil
}

// Classes of objects that quotas count.
const (
	LoadBalancers = "load balancers"
	Listeners     = "listeners"
)

// Quota is the limit of a class of objects in a project, and their number.
type Quota struct {
	// Class is the name of the class in the plural: "load balancers".
	Class string
	// Limit is negative if there is none; Used is not counted then.
	Limit, Used int
}

// quotaClass is a class with its names in the quotas of the releases, and the request that counts
// its objects.
type quotaClass struct {
	name  string
	keys  []string
	count func(*Client, context.Context) (int, error)
}

func quotaClasses() []quotaClass {
	ids := func(collection string) func(*Client, context.Context) (int, error) {
		return func(c *Client, ctx context.Context) (int, error) {
			found, err := listAll(ctx, c, collection, url.Values{"fields": {"id"}}, func(o ObjectID) string { return o.ID })
			return len(found), err
		}
	}
	return []quotaClass{
		{LoadBalancers, []string{"load_balancer", "loadbalancer"}, ids("loadbalancers")},
		{Listeners, []string{"listener"}, ids("listeners")},
		{"pools", []string{"pool"}, ids("pools")},
		{"members", []string{"member"}, (*Client).countMembers},
		{"health monitors", []string{"health_monitor", "healthmonitor"}, ids("healthmonitors")},
	}
}

func (c *Client) countMembers(ctx context.Context) (int, error) {
	found, err := listAll(ctx, c, "pools", url.Values{"fields": {"id", "members"}}, func(p Pool) string { return p.ID })
	count := 0
	for _, pool := range found {
		count += len(pool.Members)
	}
	return count, err
}

// Quotas reads the quotas of the project, and counts the objects of each class with a limit, in a
// request for each class. It reads only the given classes; none means all.
func (c *Client) Quotas(ctx context.Context, classes ...string) ([]Quota, error) {
	limits, err := c.QuotaLimits(ctx)
	if err != nil {
		return nil, err
	}
	var quotas []Quota
	for _, class := range quotaClasses() {
		if len(classes) > 0 && !slices.Contains(classes, class.name) {
			continue
		}
		quota := Quota{Class: class.name, Limit: -1}
		for _, key := range class.keys {
			if limit, given := limits[key]; given {
				quota.Limit = limit
			}
		}
		if quota.Limit >= 0 {
			if quota.Used, err = class.count(c, ctx); err != nil {
				return nil, err
			}
		}
		quotas = append(quotas, quota)
	}
	return quotas, nil
}
