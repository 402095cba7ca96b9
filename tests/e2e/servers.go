package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// smallFlavor is that with the least memory of those that fit.
func (a *API) smallFlavor(ctx context.Context, fits func(flavors.Flavor) bool) (flavors.Flavor, error) {
	pages, err := flavors.ListDetail(a.Compute, nil).AllPages(ctx)
	if err != nil {
		return flavors.Flavor{}, err
	}
	all, err := flavors.ExtractFlavors(pages)
	all = slices.DeleteFunc(all, func(f flavors.Flavor) bool { return !fits(f) })
	if err != nil || len(all) == 0 {
		return flavors.Flavor{}, fmt.Errorf("no flavor fits: %w", err)
	}
	return slices.MinFunc(all, func(a, b flavors.Flavor) int { return a.RAM - b.RAM }), nil
}

// makeServer returns when Nova has made the server's port, and is done with it.
func (a *API) makeServer(ctx context.Context, pause time.Duration, server servers.CreateOpts) (id string, port ports.Port, err error) {
	made, err := servers.Create(ctx, a.Compute, server, nil).Extract()
	if err != nil {
		return "", port, fmt.Errorf("create server %s: %w", server.Name, err)
	}
	err = await.Every(ctx, pause, func(ctx context.Context) error {
		found, err := servers.Get(ctx, a.Compute, made.ID).Extract()
		if err != nil {
			return err
		}
		if found.Status != "ACTIVE" {
			return fmt.Errorf("it is %s %s", found.Status, found.Fault.Message)
		}
		all, err := a.ports(ctx, ports.ListOpts{DeviceID: made.ID})
		if err != nil || len(all) != 1 {
			return fmt.Errorf("it has %d ports: %w", len(all), err)
		}
		port = all[0]
		return nil
	})
	if err != nil {
		return "", port, fmt.Errorf("server %s: %w", server.Name, err)
	}
	return made.ID, port, nil
}

// servers returns those of the project with the prefix in their names.
func (a *API) servers(ctx context.Context, prefix string) ([]servers.Server, error) {
	pages, err := servers.List(a.Compute, servers.ListOpts{Name: prefix}).AllPages(ctx) // of Nova, a part of the name will do
	if err != nil {
		return nil, err
	}
	all, err := servers.ExtractServers(pages)
	return slices.DeleteFunc(all, func(s servers.Server) bool { return !strings.HasPrefix(s.Name, prefix) }), err
}

// deleteServer has a server deleted. One that is gone already is no error.
func (a *API) deleteServer(ctx context.Context, id string) error {
	err := servers.Delete(ctx, a.Compute, id).ExtractErr()
	if err != nil && !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return fmt.Errorf("delete server %s: %w", id, err)
	}
	return nil
}

// addressesOf are those of a port, IPv4 first.
func addressesOf(port ports.Port) (addresses []netip.Addr, err error) {
	for _, ip := range port.FixedIPs {
		address, err := netip.ParseAddr(ip.IPAddress)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return addresses, nil
}
