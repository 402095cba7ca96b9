package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/providers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/utils/v2/openstack/clientconfig"
	corev1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/netns"
)

// Place selects the OpenStack and its objects for a run. All except Cloud may be empty.
type Place struct {
	// Cloud is the name of one in clouds.yaml.
	Cloud string
	// Network is the name or ID of that of the servers; empty means the only one that
	// the project has.
	Network string
	// Flavor is the name or ID of the servers'; empty means the one with the least
	// memory that the image fits into.
	Flavor string
	// Image is the name or ID of the servers'; empty means the smallest. Nothing has to
	// run in it.
	Image string
	// Prefix is that of the names of all that is made; empty means ccm-e2e-. What
	// carries it is removed at the start, as an earlier run's.
	Prefix string
}

// anywhere is a project of any OpenStack. Its servers have addresses and nothing
// that answers there.
type anywhere struct {
	place         Place
	api           *API
	network       networks.Network
	subnet        string
	subnetV6      string
	flavor, image string

	mutex    sync.Mutex
	machines map[string]string // IDs of servers by name
}

// OpenAnywhere signs in to an OpenStack and finds out what the place leaves open.
func OpenAnywhere(ctx context.Context, place Place) (Cloud, error) {
	place.Prefix = cmp.Or(place.Prefix, "ccm-e2e-")
	a := &anywhere{place: place, machines: map[string]string{}}
	where, err := a.signIn(ctx)
	if err != nil {
		return nil, fmt.Errorf("sign in to cloud %s: %w", place.Cloud, err)
	}
	if err := a.choose(ctx, where); err != nil {
		return nil, err
	}
	if err := a.clear(ctx); err != nil {
		return nil, fmt.Errorf("clear what an earlier run left: %w", err)
	}
	return a, nil
}

// signIn finds the cloud in clouds.yaml.
func (a *anywhere) signIn(ctx context.Context) (where gophercloud.EndpointOpts, err error) {
	options := &clientconfig.ClientOpts{Cloud: a.place.Cloud}
	entry, err := clientconfig.GetCloudFromYAML(options)
	if err != nil {
		return where, err
	}
	auth, err := clientconfig.AuthOptions(options)
	if err != nil {
		return where, err
	}
	auth.AllowReauth = true
	tls, err := clientconfig.PrepareTLSConfig("OS_", entry)
	if err != nil {
		return where, err
	}
	provider, err := config.NewProviderClient(ctx, *auth, config.WithTLSConfig(tls))
	if err != nil {
		return where, err
	}
	where = gophercloud.EndpointOpts{Region: entry.RegionName, Availability: clientconfig.GetEndpointType(cmp.Or(entry.EndpointType, entry.Interface))}
	a.api, err = newAPI(provider, where)
	return where, err
}

// choose finds network, image and flavor.
func (a *anywhere) choose(ctx context.Context, where gophercloud.EndpointOpts) (err error) {
	if a.network, err = a.chooseNetwork(ctx); err != nil {
		return fmt.Errorf("choose the network: %w", err)
	}
	if err := a.findSubnets(ctx); err != nil {
		return fmt.Errorf("find the subnets of network %s: %w", a.network.Name, err)
	}
	glance, err := openstack.NewImageV2(a.api.Compute.ProviderClient, where)
	if err != nil {
		return err
	}
	image, err := a.chooseImage(ctx, glance)
	if err != nil {
		return fmt.Errorf("choose the image: %w", err)
	}
	a.image = image.ID
	flavor, err := a.api.smallFlavor(ctx, func(f flavors.Flavor) bool {
		return named(a.place.Flavor, f.Name, f.ID) && f.RAM >= image.MinRAMMegabytes && f.Disk >= max(image.MinDiskGigabytes, 1)
	})
	if err != nil {
		return fmt.Errorf("choose the flavor for image %s: %w", image.Name, err)
	}
	a.flavor = flavor.ID
	return nil
}

// named reports whether an object has the wanted name or ID; all have the empty one.
func named(wanted, name, id string) bool { return wanted == "" || wanted == name || wanted == id }

func (a *anywhere) chooseNetwork(ctx context.Context) (networks.Network, error) {
	pages, err := networks.List(a.api.Network, networks.ListOpts{}).AllPages(ctx)
	if err != nil {
		return networks.Network{}, err
	}
	all, err := networks.ExtractNetworks(pages)
	if err != nil {
		return networks.Network{}, err
	}
	project, err := a.api.project()
	if err != nil {
		return networks.Network{}, err
	}
	all = slices.DeleteFunc(all, func(n networks.Network) bool {
		return !named(a.place.Network, n.Name, n.ID) || a.place.Network == "" && n.ProjectID != project
	})
	if len(all) != 1 {
		return networks.Network{}, fmt.Errorf("%d match %q: set E2E_NETWORK", len(all), a.place.Network)
	}
	return all[0], nil
}

func (a *anywhere) findSubnets(ctx context.Context) error {
	pages, err := subnets.List(a.api.Network, subnets.ListOpts{NetworkID: a.network.ID}).AllPages(ctx)
	if err != nil {
		return err
	}
	all, err := subnets.ExtractSubnets(pages)
	if err != nil {
		return err
	}
	for _, subnet := range all {
		switch subnet.IPVersion {
		case 4:
			a.subnet = subnet.ID
		case 6:
			a.subnetV6 = subnet.ID
		}
	}
	if a.subnet == "" {
		return errors.New("there is none of IPv4")
	}
	return nil
}

func (a *anywhere) chooseImage(ctx context.Context, glance *gophercloud.ServiceClient) (images.Image, error) {
	pages, err := images.List(glance, images.ListOpts{Status: images.ImageStatusActive}).AllPages(ctx)
	if err != nil {
		return images.Image{}, err
	}
	all, err := images.ExtractImages(pages)
	all = slices.DeleteFunc(all, func(i images.Image) bool { return !named(a.place.Image, i.Name, i.ID) })
	if err != nil || len(all) == 0 {
		return images.Image{}, fmt.Errorf("none matches %q: %w", a.place.Image, err)
	}
	return slices.MinFunc(all, func(a, b images.Image) int { return cmp.Compare(a.SizeBytes, b.SizeBytes) }), nil
}

// Providers are those that the suite knows and the cloud offers.
func (a *API) Providers(ctx context.Context) ([]string, error) {
	pages, err := providers.List(a.LoadBalancer, nil).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := providers.ExtractProviders(pages)
	var known []string
	for _, provider := range all {
		if provider.Name == "ovn" || provider.Name == "amphora" {
			known = append(known, provider.Name)
		}
	}
	return known, err
}

// clear removes what carries the prefix.
func (a *anywhere) clear(ctx context.Context) error {
	left, err := a.api.servers(ctx, a.place.Prefix)
	if err != nil {
		return err
	}
	for _, server := range left {
		if err := a.deleteServer(ctx, server.ID); err != nil {
			return err
		}
	}
	return a.api.clear(ctx, a.place.Prefix)
}

// deleteServer returns when it is gone, and with it its port.
func (a *anywhere) deleteServer(ctx context.Context, id string) error {
	if err := a.api.deleteServer(ctx, id); err != nil {
		return err
	}
	return await.Every(ctx, a.Pause(), func(ctx context.Context) error {
		server, err := servers.Get(ctx, a.api.Compute, id).Extract()
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("server %s is %s", server.Name, server.Status)
		}
		return err
	})
}

// CloudConf implements Cloud. The program finds clouds.yaml where the suite does.
func (a *anywhere) CloudConf() string {
	return fmt.Sprintf("[Global]\nuse-clouds=true\ncloud=%s\n\n[LoadBalancer]\nnetwork-id=%s\nsubnet-id=%s\n",
		a.place.Cloud, a.network.ID, a.subnet)
}

func (a *anywhere) API() *API                            { return a.api }
func (a *anywhere) Prefix() string                       { return a.place.Prefix }
func (a *anywhere) Lease() time.Duration                 { return 12 * time.Second }
func (a *anywhere) KubeProxy() string                    { return "" }
func (a *anywhere) Traffic(string, corev1.Protocol) bool { return false }
func (a *anywhere) FragileTracking() bool                { return false }
func (a *anywhere) Outside() netns.Namespace             { return "" }
func (a *anywhere) Inside() netns.Namespace              { return "" }
func (a *anywhere) SubnetV6() string                     { return a.subnetV6 }
func (a *anywhere) Pause() time.Duration                 { return 2 * time.Second }
func (a *anywhere) Crowd() int                           { return 30 }
func (a *anywhere) Nature() Nature                       { return nil }

// Patience implements Cloud.
func (a *anywhere) Patience() Patience {
	return Patience{Standstill: 10 * time.Minute, Most: 4 * time.Hour}
}

// RemovedTwice implements Cloud: tenants do not see the logs.
func (a *anywhere) RemovedTwice() (int, error) { return 0, nil }

// Unused implements Cloud with addresses for documentation (RFC 5737), which are never used.
func (a *anywhere) Unused(n int) string { return fmt.Sprintf("198.51.100.%d", 1+n) }

// Router implements Cloud. There is none, because the owners of the routers are unknown.
func (a *anywhere) Router(context.Context) (string, error) { return "", nil }

// VIPNetwork implements Cloud: there is no such router.
func (a *anywhere) VIPNetwork() string { return "" }

// AddPod implements Cloud.
func (a *anywhere) AddPod(context.Context, string, netip.Addr) (netns.Namespace, bool, error) {
	return "", false, nil
}

func (a *anywhere) AddMachine(ctx context.Context, name string) (Machine, error) {
	id, port, err := a.api.makeServer(ctx, a.Pause(), servers.CreateOpts{
		Name: a.place.Prefix + name, FlavorRef: a.flavor, ImageRef: a.image, Networks: []servers.Network{{UUID: a.network.ID}},
	})
	if err != nil {
		return Machine{}, err
	}
	a.mutex.Lock()
	a.machines[name] = id
	a.mutex.Unlock()
	addresses, err := addressesOf(port)
	return Machine{ServerID: id, Addresses: addresses, Elsewhere: true}, err
}

func (a *anywhere) RemoveMachine(ctx context.Context, name string) error {
	a.mutex.Lock()
	id := a.machines[name]
	delete(a.machines, name)
	a.mutex.Unlock()
	return a.deleteServer(ctx, id)
}

// Close deletes all created objects that are left.
func (a *anywhere) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), a.Patience().Standstill)
	defer cancel()
	return a.clear(ctx)
}
