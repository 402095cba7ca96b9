package e2e

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/apiversions"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// API is a client of the cloud beside the cloud controller manager: it looks at
// what that one has made, and meddles with it.
type API struct {
	LoadBalancer, Network, Compute *gophercloud.ServiceClient
	// KeyManager is nil if the cloud has no Barbican.
	KeyManager *gophercloud.ServiceClient
}

// NewAPI signs in.
func NewAPI(ctx context.Context, auth gophercloud.AuthOptions, region string) (*API, error) {
	provider, err := openstack.AuthenticatedClient(ctx, auth)
	if err != nil {
		return nil, fmt.Errorf("sign in to the cloud: %w", err)
	}
	return newAPI(provider, gophercloud.EndpointOpts{Region: region})
}

// newAPI finds the services.
func newAPI(provider *gophercloud.ProviderClient, where gophercloud.EndpointOpts) (api *API, err error) {
	api = &API{}
	for client, open := range map[**gophercloud.ServiceClient]func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error){
		&api.LoadBalancer: openstack.NewLoadBalancerV2,
		&api.Network:      openstack.NewNetworkV2,
		&api.Compute:      openstack.NewComputeV2,
	} {
		if *client, err = open(provider, where); err != nil {
			return nil, fmt.Errorf("find the services of the cloud: %w", err)
		}
	}
	if api.KeyManager, err = openstack.NewKeyManagerV1(provider, where); err != nil {
		api.KeyManager = nil
	}
	return api, nil
}

// project is the ID of that which the client is signed in to.
func (a *API) project() (string, error) {
	token, is := a.Network.GetAuthResult().(tokens.CreateResult)
	if !is {
		return "", errors.New("the client is not signed in with a token of Keystone v3")
	}
	project, err := token.ExtractProject()
	if err != nil || project == nil {
		return "", fmt.Errorf("the token is for no project: %w", err)
	}
	return project.ID, nil
}

// room is how many more load balancers the project may have.
func (a *API) room(ctx context.Context) (int, error) {
	project, err := a.project()
	if err != nil {
		return 0, err
	}
	quota, err := quotas.Get(ctx, a.LoadBalancer, project).Extract()
	if err != nil {
		return 0, err
	}
	if quota.Loadbalancer < 0 {
		return math.MaxInt, nil
	}
	present, err := a.LoadBalancers(ctx, "")
	return quota.Loadbalancer - len(present), err
}

// LoadBalancerMinor returns the minor number of the newest version 2 of Octavia's API.
func (a *API) LoadBalancerMinor(ctx context.Context) (newest int, err error) {
	pages, err := apiversions.List(a.LoadBalancer).AllPages(ctx)
	if err != nil {
		return 0, err
	}
	all, err := apiversions.ExtractAPIVersions(pages)
	for _, version := range all {
		var minor int
		if _, err := fmt.Sscanf(version.ID, "v2.%d", &minor); err == nil {
			newest = max(newest, minor)
		}
	}
	return newest, err
}

// LoadBalancers returns those of the project with the part in their name.
func (a *API) LoadBalancers(ctx context.Context, part string) ([]loadbalancers.LoadBalancer, error) {
	pages, err := loadbalancers.List(a.LoadBalancer, nil).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := loadbalancers.ExtractLoadBalancers(pages)
	return slices.DeleteFunc(all, func(lb loadbalancers.LoadBalancer) bool { return !strings.Contains(lb.Name, part) }), err
}

// Listeners are those of a load balancer, by port.
func (a *API) Listeners(ctx context.Context, loadBalancerID string) ([]listeners.Listener, error) {
	pages, err := listeners.List(a.LoadBalancer, listeners.ListOpts{LoadbalancerID: loadBalancerID}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := listeners.ExtractListeners(pages)
	slices.SortFunc(all, func(a, b listeners.Listener) int { return a.ProtocolPort - b.ProtocolPort })
	return all, err
}

// Pools are those of a load balancer.
func (a *API) Pools(ctx context.Context, loadBalancerID string) ([]pools.Pool, error) {
	pages, err := pools.List(a.LoadBalancer, pools.ListOpts{LoadbalancerID: loadBalancerID}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return pools.ExtractPools(pages)
}

// Members are those of a pool.
func (a *API) Members(ctx context.Context, poolID string) ([]pools.Member, error) {
	pages, err := pools.ListMembers(a.LoadBalancer, poolID, nil).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return pools.ExtractMembers(pages)
}

// MonitorTypes returns the types of the health monitors of a load balancer, in order.
func (a *API) MonitorTypes(ctx context.Context, loadBalancerID string) (types []string, err error) {
	all, err := a.Pools(ctx, loadBalancerID)
	if err != nil {
		return nil, err
	}
	for _, pool := range all {
		if pool.MonitorID == "" {
			continue
		}
		monitor, err := monitors.Get(ctx, a.LoadBalancer, pool.MonitorID).Extract()
		if err != nil {
			return nil, err
		}
		types = append(types, monitor.Type)
	}
	slices.Sort(types)
	return types, nil
}

// FloatingIPs returns those of the project with the part in their description.
func (a *API) FloatingIPs(ctx context.Context, part string) ([]floatingips.FloatingIP, error) {
	pages, err := floatingips.List(a.Network, floatingips.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := floatingips.ExtractFloatingIPs(pages)
	return slices.DeleteFunc(all, func(ip floatingips.FloatingIP) bool { return !strings.Contains(ip.Description, part) }), err
}

// DeleteFloatingIP gives one back, with its port forwardings.
func (a *API) DeleteFloatingIP(ctx context.Context, id string) error {
	if err := a.clearForwardings(ctx, id); err != nil {
		return err
	}
	return floatingips.Delete(ctx, a.Network, id).ExtractErr()
}

// limitLoadBalancers takes an administrator.
func (a *API) limitLoadBalancers(ctx context.Context, project string, limit int) (func(context.Context) error, error) {
	set := func(ctx context.Context, limit int) error {
		_, err := quotas.Update(ctx, a.LoadBalancer, project, quotas.UpdateOpts{Loadbalancer: &limit}).Extract()
		return err
	}
	return func(ctx context.Context) error { return set(ctx, -1) }, set(ctx, limit)
}

// Leftovers names all that belongs to a namespace of Kubernetes: when its Services
// are gone there must be none.
func (a *API) Leftovers(ctx context.Context, namespace string) ([]string, error) {
	var left []string
	balancers, err := a.LoadBalancers(ctx, "_"+namespace+"_")
	if err != nil {
		return nil, err
	}
	for _, lb := range balancers {
		left = append(left, fmt.Sprintf("load balancer %s (%s)", lb.Name, lb.ProvisioningStatus))
	}
	ips, err := a.FloatingIPs(ctx, " "+namespace+"/")
	if err != nil {
		return nil, err
	}
	for _, ip := range ips {
		left = append(left, fmt.Sprintf("floating IP %s (%s)", ip.FloatingIP, ip.Description))
	}
	all, err := a.SecurityGroups(ctx, "-"+namespace+"-")
	if err != nil {
		return nil, err
	}
	for _, group := range all {
		left = append(left, "security group "+group.Name)
	}
	return left, nil
}

// SecurityGroups returns those of the project with the part in their name.
func (a *API) SecurityGroups(ctx context.Context, part string) ([]groups.SecGroup, error) {
	pages, err := groups.List(a.Network, groups.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := groups.ExtractGroups(pages)
	return slices.DeleteFunc(all, func(group groups.SecGroup) bool { return !strings.Contains(group.Name, part) }), err
}

// serviceGroups begins the names of the security groups of Services.
const serviceGroups = "lb-sg-"

// deletionLimit is for the load balancers that an interrupted run has left. One that Octavia does
// not delete ends the next run with its message.
const deletionLimit = 15 * time.Minute

// clear deletes all load balancers, floating IPs and security groups of Services of
// the project with the part in their name or description. It returns when they are gone, or an
// error after deletionLimit.
func (a *API) clear(ctx context.Context, part string) error {
	balancers, err := a.LoadBalancers(ctx, part)
	if err != nil {
		return err
	}
	for _, lb := range balancers {
		err := loadbalancers.Delete(ctx, a.LoadBalancer, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr()
		if err != nil && !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return err
		}
	}
	ips, err := a.FloatingIPs(ctx, part)
	if err != nil {
		return err
	}
	for _, ip := range ips {
		if err := a.DeleteFloatingIP(ctx, ip.ID); err != nil {
			return err
		}
	}
	owned, err := a.SecurityGroups(ctx, part)
	if err != nil {
		return err
	}
	for _, group := range owned {
		if !strings.HasPrefix(group.Name, serviceGroups) {
			continue
		}
		if err := groups.Delete(ctx, a.Network, group.ID).ExtractErr(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, deletionLimit)
	defer cancel()
	return await.Every(ctx, time.Second, func(ctx context.Context) error {
		left, err := a.LoadBalancers(ctx, part)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d load balancers are still there", len(left))
		}
		return err
	})
}

// ports are those that match.
func (a *API) ports(ctx context.Context, matching ports.ListOpts) ([]ports.Port, error) {
	pages, err := ports.List(a.Network, matching).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return ports.ExtractPorts(pages)
}

// LeakedPorts names the ports that load balancers have left behind.
func (a *API) LeakedPorts(ctx context.Context) ([]string, error) {
	all, err := a.ports(ctx, ports.ListOpts{DeviceOwner: "Octavia"})
	if err != nil {
		return nil, err
	}
	balancers, err := a.LoadBalancers(ctx, "")
	if err != nil {
		return nil, err
	}
	var leaked []string
	for _, port := range all {
		if !slices.ContainsFunc(balancers, func(lb loadbalancers.LoadBalancer) bool { return lb.VipPortID == port.ID }) {
			leaked = append(leaked, "port "+port.Name)
		}
	}
	return leaked, nil
}
