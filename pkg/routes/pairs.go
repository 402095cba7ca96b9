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

// A port with port security sends and is sent nothing but its own addresses and its
// allowed address pairs, so the node's port needs a pair for each of its pod CIDRs.

// needsPairs reports whether a port needs pairs at all.
func needsPairs(port *neutron.RoutedPort) bool {
	return port.AddressPairs != nil && (port.PortSecurity == nil || *port.PortSecurity)
}

// admits reports whether pods of the CIDR are reached through the port. A wider pair,
// which another client made, does as well.
func admits(port *neutron.RoutedPort, to netip.Prefix) bool {
	return !needsPairs(port) || slices.ContainsFunc(*port.AddressPairs, func(pair neutron.AddressPair) bool {
		has, ok := prefixOf(pair, port)
		return ok && has.Bits() <= to.Bits() && has.Contains(to.Addr())
	})
}

// prefixOf reads a pair of the port's own MAC.
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

// addPairs lets pods of the CIDRs be reached through a port.
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

// removePairs removes what addPairs has added. A port that is gone has none, and
// one that we may not write has none of ours.
func (t *Table) removePairs(ctx context.Context, port *neutron.RoutedPort, cidrs []netip.Prefix) error {
	err := t.changePairs(ctx, port, func(port *neutron.RoutedPort) []neutron.AddressPair {
		return slices.DeleteFunc(slices.Clone(*port.AddressPairs), func(pair neutron.AddressPair) bool {
			has, ok := prefixOf(pair, port)
			return ok && slices.Contains(cidrs, has)
		})
	})
	if apierror.IsNotFound(err) { // one of several API servers may say so of a port that is there
		if _, err = t.network.RoutedPort(ctx, port.ID); err == nil {
			return fmt.Errorf("the change of port %s was answered as if it were gone, but it is still there", port.ID)
		}
	}
	if apierror.IsNotFound(err) || apierror.IsForbidden(err) {
		return nil
	}
	return err
}

// changePairs reads the port again when another client has changed it.
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
			return fmt.Errorf("port %s was changed by somebody else during each of %d attempts: %w", port.ID, attempts, err)
		}
		if port, err = t.network.RoutedPort(ctx, port.ID); err != nil {
			return err
		}
	}
	return nil
}

// portsOf finds ports by their addresses.
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
		if seen[found[i].ID] { // once for each of its addresses
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
