package auth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// Types of the services in the catalog, in order of preference.
func computeTypes() []string      { return []string{"compute"} }
func networkTypes() []string      { return []string{"network", "networking"} }
func loadBalancerTypes() []string { return []string{"load-balancer"} }
func keyManagerTypes() []string   { return []string{"key-manager"} }

// pin selects the region of every service for the life of the session if none is configured.
// Keystone guarantees no order of endpoints: the next token's catalog may begin with another
// region, without our servers and load balancers. The region is that of the first compute endpoint
// (or else network, load balancer, key manager) of the catalog at sign-in.
//
//	the service is in that region                      there
//	not at sign-in in any                              there, if it is added
//	in others only (a key manager of the whole site)   the first of those, with a warning
//
// It returns an error if the first endpoints are in several regions although one region has all
// services, because the intended region is ambiguous.
func (c endpointSelector) pin(catalog []tokens.CatalogEntry) (fixed endpointSelector, warnings []string, err error) {
	if c.region != "" {
		return c, nil, nil
	}
	var found [][]string // the types of the existing services
	var firsts, regions, named []string
	for _, types := range [][]string{computeTypes(), networkTypes(), loadBalancerTypes(), keyManagerTypes()} {
		if offered := c.regionsOf(catalog, types); len(offered) > 0 {
			found, firsts = append(found, types), append(firsts, offered[0])
			named = append(named, types[0]+" in "+offered[0])
			regions = append(regions, offered...)
		}
	}
	if len(found) == 0 {
		return c, nil, nil
	}
	c.pinned, c.exceptions = firsts[0], map[string]string{}
	slices.Sort(regions)
	if regions = slices.Compact(regions); len(regions) > 1 {
		warnings = append(warnings, fmt.Sprintf("[Global] region is not given and the service catalog has %s: %s is used until the process ends, "+
			"the next start may choose another one. Set region", strings.Join(regions, ", "), c.pinned))
	}
	for n, types := range found {
		if firsts[n] == c.pinned {
			continue
		}
		if slices.Contains(c.regionsOf(catalog, types), c.pinned) {
			return c, nil, fmt.Errorf("[Global] region is not given, and the first endpoints of the service catalog are of several regions: %s; allowed are %s",
				strings.Join(named, ", "), strings.Join(regions, ", "))
		}
		c.exceptions[types[0]] = firsts[n]
		warnings = append(warnings, fmt.Sprintf("[Global] region is not given: %s is not in region %s, so that of %s is used", types[0], c.pinned, firsts[n]))
	}
	return c, warnings, nil
}

// regionsOf returns the regions of a service's endpoints on the configured interface, in the order
// of the catalog.
func (c endpointSelector) regionsOf(catalog []tokens.CatalogEntry, types []string) []string {
	var regions []string
	for endpoint := range endpointsOf(catalog, types) {
		if endpoint.Interface == c.iface {
			regions = append(regions, cmp.Or(endpoint.RegionID, endpoint.Region))
		}
	}
	return regions
}

// regionOf returns the region in which a service is used; "" means any.
func (c endpointSelector) regionOf(service string) string {
	return cmp.Or(c.region, c.exceptions[service], c.pinned)
}
