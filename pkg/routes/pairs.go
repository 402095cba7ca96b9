package routes

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// addressPairs changes the address pairs of ports: a node's port needs one for each of the node's pod CIDRs, see
// neutron.RoutedPort.Admits.
type addressPairs struct{ network Network }

func (a addressPairs) add(ctx context.Context, port *neutron.RoutedPort, cidrs []netip.Prefix) error {
	return a.change(ctx, port, func(port *neutron.RoutedPort) []neutron.AddressPair {
		pairs := slices.Clone(*port.AddressPairs)
		for _, to := range cidrs {
			if !port.Admits(to) {
				pairs = append(pairs, neutron.AddressPair{IPAddress: to.String(), MACAddress: port.MACAddress})
			}
		}
		return pairs
	})
}

// remove removes the pairs that add has added. It is no error if the port is gone, or may
// not be written, because such a port has no pairs of ours.
func (a addressPairs) remove(ctx context.Context, port *neutron.RoutedPort, cidrs []netip.Prefix) error {
	err := a.change(ctx, port, func(port *neutron.RoutedPort) []neutron.AddressPair {
		return slices.DeleteFunc(slices.Clone(*port.AddressPairs), func(pair neutron.AddressPair) bool {
			has, ok := port.PairPrefix(pair)
			return ok && slices.Contains(cidrs, has)
		})
	})
	if apierror.IsNotFound(err) { // one of several API servers may answer 404 for an existing port
		if _, err = a.network.RoutedPort(ctx, port.ID); err == nil {
			return fmt.Errorf("the change of port %s was answered as if it were gone, but it is still there", port.ID)
		}
	}
	if apierror.IsNotFound(err) || apierror.IsForbidden(err) {
		return nil
	}
	return err
}

// change retries with a new read if another client has changed the port.
func (a addressPairs) change(ctx context.Context, port *neutron.RoutedPort, wanted func(*neutron.RoutedPort) []neutron.AddressPair) error {
	for attempt := 1; port.NeedsPairs(); attempt++ {
		pairs := wanted(port)
		if slices.Equal(pairs, *port.AddressPairs) {
			return nil
		}
		err := a.network.SetAddressPairs(ctx, port, pairs)
		if err == nil || !apierror.IsStale(err) {
			return err
		}
		if attempt == attempts {
			return fmt.Errorf("another client changed port %s during each of %d attempts: %w", port.ID, attempts, err)
		}
		if port, err = a.network.RoutedPort(ctx, port.ID); err != nil {
			return err
		}
	}
	return nil
}

// portsOf returns the ports with the given addresses.
func portsOf(ctx context.Context, network Network, addresses []netip.Addr) (map[netip.Addr][]*neutron.RoutedPort, error) {
	slices.SortFunc(addresses, netip.Addr.Compare)
	var texts []string
	for _, address := range slices.Compact(addresses) {
		texts = append(texts, address.String())
	}
	found, err := network.PortsWithAddresses(ctx, texts)
	if err != nil {
		return nil, err
	}
	ports, seen := map[netip.Addr][]*neutron.RoutedPort{}, map[string]bool{}
	for i := range found {
		if seen[found[i].ID] { // a port is listed once for each of its addresses
			continue
		}
		seen[found[i].ID] = true
		for _, fixed := range found[i].FixedIPs {
			if address, err := netip.ParseAddr(fixed.IPAddress); err == nil {
				ports[address] = append(ports[address], &found[i])
			}
		}
	}
	return ports, nil
}
