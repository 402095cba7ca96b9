package routes

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// A port with port security accepts only packets from its own addresses and its allowed address
// pairs. Therefore the node's port needs a pair for each of its pod CIDRs.

func needsPairs(port *neutron.RoutedPort) bool {
	return port.AddressPairs != nil && (port.PortSecurity == nil || *port.PortSecurity)
}

// admits reports whether the port admits the pods of the CIDR. A wider pair of another client
// suffices.
func admits(port *neutron.RoutedPort, to netip.Prefix) bool {
	return !needsPairs(port) || slices.ContainsFunc(*port.AddressPairs, func(pair neutron.AddressPair) bool {
		has, ok := prefixOf(pair, port)
		return ok && has.Bits() <= to.Bits() && has.Contains(to.Addr())
	})
}

// prefixOf parses a pair of the port's own MAC.
func prefixOf(pair neutron.AddressPair, port *neutron.RoutedPort) (netip.Prefix, bool) {
	if pair.MACAddress != "" && !strings.EqualFold(pair.MACAddress, port.MACAddress) {
		return netip.Prefix{}, false
	}
	if prefix, err := netip.ParsePrefix(pair.IPAddress); err == nil {
		return prefix.Masked(), true
	}
	address, err := netip.ParseAddr(pair.IPAddress)
	if err != nil {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(address, address.BitLen()), true
}

func (t *Table) addPairs(ctx context.Context, port *neutron.RoutedPort, cidrs []netip.Prefix) error {
	return t.changePairs(ctx, port, func(port *neutron.RoutedPort) []neutron.AddressPair {
		pairs := slices.Clone(*port.AddressPairs)
		for _, to := range cidrs {
			if !admits(port, to) {
				pairs = append(pairs, neutron.AddressPair{IPAddress: to.String(), MACAddress: port.MACAddress})
			}
		}
		return pairs
	})
}

// removePairs removes the pairs that addPairs has added. It is no error if the port is gone, or may
// not be written, because such a port has no pairs of ours.
func (t *Table) removePairs(ctx context.Context, port *neutron.RoutedPort, cidrs []netip.Prefix) error {
	err := t.changePairs(ctx, port, func(port *neutron.RoutedPort) []neutron.AddressPair {
		return slices.DeleteFunc(slices.Clone(*port.AddressPairs), func(pair neutron.AddressPair) bool {
			has, ok := prefixOf(pair, port)
			return ok && slices.Contains(cidrs, has)
		})
	})
	if apierror.IsNotFound(err) { // one of several API servers may answer 404 for an existing port
		if _, err = t.network.RoutedPort(ctx, port.ID); err == nil {
			return fmt.Errorf("the change of port %s was answered as if it were gone, but it is still there", port.ID)
		}
	}
	if apierror.IsNotFound(err) || apierror.IsForbidden(err) {
		return nil
	}
	return err
}

// changePairs retries with a new read if another client has changed the port.
func (t *Table) changePairs(ctx context.Context, port *neutron.RoutedPort, wanted func(*neutron.RoutedPort) []neutron.AddressPair) error {
	for attempt := 1; needsPairs(port); attempt++ {
		pairs := wanted(port)
		if slices.Equal(pairs, *port.AddressPairs) {
			return nil
		}
		err := t.network.SetAddressPairs(ctx, port, pairs)
		if err == nil || !apierror.IsStale(err) {
			return err
		}
		if attempt == attempts {
			return fmt.Errorf("another client changed port %s during each of %d attempts: %w", port.ID, attempts, err)
		}
		if port, err = t.network.RoutedPort(ctx, port.ID); err != nil {
			return err
		}
	}
	return nil
}

// portsOf returns the ports with the given addresses.
func (t *Table) portsOf(ctx context.Context, addresses []netip.Addr) (map[netip.Addr][]*neutron.RoutedPort, error) {
	slices.SortFunc(addresses, netip.Addr.Compare)
	var texts []string
	for _, address := range slices.Compact(addresses) {
		texts = append(texts, address.String())
	}
	found, err := t.network.PortsWithAddresses(ctx, texts)
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
