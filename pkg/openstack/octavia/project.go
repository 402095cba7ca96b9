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
	count func(projectAPI, context.Context) (int, error)
}

// Flavor is a kind of load balancer that the cloud offers.
type Flavor struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
}

// AvailabilityZone is a zone for load balancers.
type AvailabilityZone struct {
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
}

// projectAPI reads the offers of the cloud, and the quotas and permissions of a project.
type projectAPI struct{ requests }

// Providers returns the names of the providers that are enabled.
func (c projectAPI) Providers(ctx context.Context) ([]string, error) {
	var answer struct {
		Providers []struct {
			Name string `json:"name"`
		} `json:"providers"`
	}
	if err := c.get(ctx, "providers", &answer); err != nil {
		return nil, apierror.Wrap(err, "list providers")
	}
	names := make([]string, 0, len(answer.Providers))
	for _, p := range answer.Providers {
		names = append(names, p.Name)
	}
	return names, nil
}

// QuotaLimits reads the limits of the session's project, by Octavia's names of object classes, such
// as "load_balancer"; -1 is no limit. Octavia does not report the use.
func (c projectAPI) QuotaLimits(ctx context.Context) (map[string]int, error) {
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

func quotaClasses() []quotaClass {
	ids := func(collection string) func(projectAPI, context.Context) (int, error) {
		return func(c projectAPI, ctx context.Context) (int, error) {
			found, err := listAll(ctx, c.requests, collection, url.Values{"fields": {"id"}}, func(o ObjectID) string { return o.ID })
			return len(found), err
		}
	}
	return []quotaClass{
		{LoadBalancers, []string{"load_balancer", "loadbalancer"}, ids("loadbalancers")},
		{Listeners, []string{"listener"}, ids("listeners")},
		{"pools", []string{"pool"}, ids("pools")},
		{"members", []string{"member"}, projectAPI.countMembers},
		{"health monitors", []string{"health_monitor", "healthmonitor"}, ids("healthmonitors")},
	}
}

func (c projectAPI) countMembers(ctx context.Context) (int, error) {
	found, err := listAll(ctx, c.requests, "pools", url.Values{"fields": {"id", "members"}}, func(p Pool) string { return p.ID })
	count := 0
	for _, pool := range found {
		count += len(pool.Members)
	}
	return count, err
}

// Quotas reads the quotas of the project, and counts the objects of each class with a limit, in a
// request for each class. It reads only the given classes; none means all.
func (c projectAPI) Quotas(ctx context.Context, classes ...string) ([]Quota, error) {
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

// Flavors lists the flavors of load balancers. There are few, and they belong to no
// project.
func (c projectAPI) Flavors(ctx context.Context) ([]Flavor, error) {
	return listAnyProject(ctx, c.requests, "flavors", url.Values{}, func(f Flavor) string { return f.ID })
}

// AvailabilityZones lists the availability zones of load balancers. They have no ID, and Octavia
// answers 500 to a marker, so that only the first page can be read.
func (c projectAPI) AvailabilityZones(ctx context.Context) ([]AvailabilityZone, error) {
	var answer struct {
		Zones []AvailabilityZone `json:"availability_zones"`
	}
	if err := c.get(ctx, "availabilityzones", &answer); err != nil {
		return nil, apierror.Wrap(err, "list availability zones of load balancers")
	}
	return answer.Zones, nil
}

// TryCreate sends the creation of a load balancer without a VIP, and returns the error:
// apierror.IsForbidden if the policy denies creations to the user, otherwise an invalid request.
// Octavia checks the policy first, except for the types in the body. Nothing is created. No Octavia
// accepts the request, so that the error is never nil.
func (c projectAPI) TryCreate(ctx context.Context) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	body := map[string]any{"loadbalancer": map[string]any{"name": "never-created"}}
	_, err = client.Post(ctx, lbaas(client, "loadbalancers"), body, nil, nil)
	return apierror.Wrap(err, "try to create a load balancer")
}

// First reads one object of a collection, such as "listeners", to check whether the user may.
func (c projectAPI) First(ctx context.Context, collection string) error {
	q := url.Values{"limit": {"1"}, "fields": {"id"}}
	if project := c.session.ProjectID(); project != "" {
		q.Set("project_id", project)
	}
	return apierror.Wrap(c.get(ctx, collection+"?"+q.Encode(), nil), "list "+collection)
}
