// Package octavia is a typed client of the load balancer API, and reads its version.
package octavia

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// pageSize is the number of objects in one page of a list. It is the default of Octavia's
// pagination_max_limit.
const pageSize = 1000

// Session is the connection of a Client.
type Session interface {
	// LoadBalancer returns a client of the load balancer API, version 2.
	LoadBalancer(ctx context.Context) (*gophercloud.ServiceClient, error)
	// ProjectID returns the project of all lists, "" for all projects.
	ProjectID() string
}

// Client reads and writes load balancers and the objects in them. A method sends one request unless
// its comment names more. Errors are those of apierror.Wrap.
type Client struct {
	session Session
}

// New returns a client of a session.
func New(session Session) *Client { return &Client{session: session} }

// anyTag selects objects with at least one of several tags, which are separated by commas. Octavia
// cuts its pages by matching tags: a page of objects with several of them is short.
const anyTag = "tags-any"

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
func (c *Client) LoadBalancers(ctx context.Context, filter LoadBalancerFilter) ([]LoadBalancer, error) {
	if filter.empty() != filter.All {
		return nil, errors.New("list loadbalancers: the filter is empty")
	}
	return listAll(ctx, c, "loadbalancers", filter.query(), func(lb LoadBalancer) string { return lb.ID })
}

// LoadBalancer reads one load balancer.
func (c *Client) LoadBalancer(ctx context.Context, id string) (*LoadBalancer, error) {
	var answer struct {
		LoadBalancer LoadBalancer `json:"loadbalancer"`
	}
	if err := c.object(ctx, "loadbalancers", id, "", &answer, func() string { return answer.LoadBalancer.ID }); err != nil {
		return nil, apierror.Wrap(err, "read load balancer "+id)
	}
	return &answer.LoadBalancer, nil
}

// Listeners lists the listeners of a load balancer with all their settings.
func (c *Client) Listeners(ctx context.Context, loadBalancerID string) ([]Listener, error) {
	q := url.Values{"loadbalancer_id": {loadBalancerID}}
	return listAll(ctx, c, "listeners", q, func(l Listener) string { return l.ID })
}

// ListenersTagged lists the listeners with one of these tags, in all load balancers.
func (c *Client) ListenersTagged(ctx context.Context, tags ...string) ([]Listener, error) {
	return listAll(ctx, c, "listeners", tagged(tags), func(l Listener) string { return l.ID })
}

// tagged returns a query for objects with at least one of these tags.
func tagged(tags []string) url.Values {
	if len(tags) == 1 {
		return url.Values{"tags": tags}
	}
	return url.Values{anyTag: {strings.Join(tags, ",")}}
}

// AllListeners lists the listeners of all load balancers.
func (c *Client) AllListeners(ctx context.Context) ([]Listener, error) {
	return listAll(ctx, c, "listeners", url.Values{}, func(l Listener) string { return l.ID })
}

// Pools lists the pools of a load balancer. Of their members, only the IDs are set.
func (c *Client) Pools(ctx context.Context, loadBalancerID string) ([]Pool, error) {
	q := url.Values{"loadbalancer_id": {loadBalancerID}}
	return listAll(ctx, c, "pools", q, func(p Pool) string { return p.ID })
}

// Pool reads one pool.
func (c *Client) Pool(ctx context.Context, id string) (*Pool, error) {
	var answer struct {
		Pool Pool `json:"pool"`
	}
	if err := c.object(ctx, "pools", id, "", &answer, func() string { return answer.Pool.ID }); err != nil {
		return nil, apierror.Wrap(err, "read pool "+id)
	}
	return &answer.Pool, nil
}

// PoolsTagged lists the pools with one of these tags, in all load balancers. Octavia loads all
// their members.
func (c *Client) PoolsTagged(ctx context.Context, tags ...string) ([]Pool, error) {
	return listAll(ctx, c, "pools", tagged(tags), func(p Pool) string { return p.ID })
}

// Members lists the members of a pool. On Octavia before 16.0 the server's work
// grows with the square of their number (LP#2019311): use StatusTree there.
func (c *Client) Members(ctx context.Context, poolID string) ([]Member, error) {
	return listAll(ctx, c, membersOf(poolID), url.Values{}, func(m Member) string { return m.ID })
}

// MembersWith lists the members of a pool that have a setting at a value, such as "weight" at "0".
// Its costs for Octavia depend on these members only.
func (c *Client) MembersWith(ctx context.Context, poolID, setting, value string) ([]Member, error) {
	q := url.Values{setting: {value}}
	return listAll(ctx, c, membersOf(poolID), q, func(m Member) string { return m.ID })
}

// MemberAt finds the members of a pool at one address and port: at most one.
func (c *Client) MemberAt(ctx context.Context, poolID, address string, port int) ([]Member, error) {
	q := url.Values{"address": {address}, "protocol_port": {strconv.Itoa(port)}}
	return listAll(ctx, c, membersOf(poolID), q, func(m Member) string { return m.ID })
}

// FirstMember returns the first member of a pool in an order, such as "weight:desc"; none if the
// pool is empty.
func (c *Client) FirstMember(ctx context.Context, poolID, order string) ([]Member, error) {
	var answer struct {
		Members []Member `json:"members"`
	}
	q := url.Values{"sort": {order}, "limit": {"1"}}
	if err := c.get(ctx, membersOf(poolID)+"?"+q.Encode(), &answer); err != nil {
		return nil, apierror.Wrap(err, "list members of pool "+poolID)
	}
	return answer.Members[:min(1, len(answer.Members))], nil
}

// Monitor reads one health monitor.
func (c *Client) Monitor(ctx context.Context, id string) (*HealthMonitor, error) {
	var answer struct {
		Monitor HealthMonitor `json:"healthmonitor"`
	}
	if err := c.object(ctx, "healthmonitors", id, "", &answer, func() string { return answer.Monitor.ID }); err != nil {
		return nil, apierror.Wrap(err, "read health monitor "+id)
	}
	return &answer.Monitor, nil
}

// MonitorsTagged lists the health monitors with one of these tags. Octavia cannot list
// them by load balancer.
func (c *Client) MonitorsTagged(ctx context.Context, tags ...string) ([]HealthMonitor, error) {
	return listAll(ctx, c, "healthmonitors", tagged(tags), func(m HealthMonitor) string { return m.ID })
}

// AllMonitors lists the health monitors of all load balancers.
func (c *Client) AllMonitors(ctx context.Context) ([]HealthMonitor, error) {
	return listAll(ctx, c, "healthmonitors", url.Values{}, func(m HealthMonitor) string { return m.ID })
}

// Providers returns the names of the providers that are enabled.
func (c *Client) Providers(ctx context.Context) ([]string, error) {
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

// object decodes the answer to a GET of one object of a collection, or of the resource at suffix below
// it. It returns an error if about returns another ID than the requested one after decoding.
func (c *Client) object(ctx context.Context, collection, id, suffix string, into any, about func() string) error {
	path, err := rest.PathOf(collection, id)
	if err != nil {
		return err
	}
	if err := c.get(ctx, path+suffix, into); err != nil || about == nil {
		return err
	}
	return rest.CheckAbout(id, about())
}

// get decodes the answer to a GET of a path below the service's root.
func (c *Client) get(ctx context.Context, path string, into any) error {
	client, err := c.session.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	return rest.Get(ctx, client, lbaas(client, path), into)
}

// lbaas returns the URL of a path of the load balancer API.
func lbaas(client *gophercloud.ServiceClient, path string) string {
	return client.ServiceURL("lbaas", path)
}

// listAll lists a collection of the session's project.
func listAll[T any](ctx context.Context, c *Client, path string, q url.Values, id func(T) string) ([]T, error) {
	if project := c.session.ProjectID(); project != "" {
		q.Set("project_id", project)
	}
	return listAnyProject(ctx, c, path, q, id)
}

// listAnyProject lists a collection without a limit to a project. The answer has it under the last
// word of the path.
func listAnyProject[T any](ctx context.Context, c *Client, path string, q url.Values, id func(T) string) ([]T, error) {
	q.Set("limit", strconv.Itoa(pageSize))
	pages := rest.Collection[T]{Name: lastWord(path), Size: pageSize, ID: id, UnknownMarker: apierror.IsUnknownMarker, Get: func(ctx context.Context, q url.Values, into any) error {
		return c.get(ctx, path+"?"+q.Encode(), into)
	}}
	all, err := pages.All(ctx, q)
	return all, apierror.Wrap(err, "list "+path)
}
