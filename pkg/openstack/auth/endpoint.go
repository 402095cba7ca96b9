package auth

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// ErrNoEndpoint is the error of a service catalog without an endpoint for a service in
// the region and on the interface that are configured.
type ErrNoEndpoint struct {
	// Service is the type: "load-balancer".
	Service string
	// Region is "" when any would do.
	Region string
	// Interface is public, internal or admin.
	Interface string
	// Offered are the endpoints of the service that there are, as "REGION
	// INTERFACE".
	Offered []string
}

func (e ErrNoEndpoint) Error() string {
	region := "any region"
	if e.Region != "" {
		region = "region " + e.Region
	}
	offered := "no endpoint at all"
	if len(e.Offered) > 0 {
		offered = strings.Join(e.Offered[:min(len(e.Offered), mostOffered)], ", ")
	}
	return fmt.Sprintf("the service catalog has no %s endpoint of type %s in %s; it has %s",
		e.Interface, e.Service, region, printable(offered))
}

// An error names so many endpoints, of so many characters in all.
const (
	mostOffered = 10
	longestList = 500
)

// printable returns what a catalog says as an error may repeat it: short, and in one line.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
	if all := []rune(text); len(all) > longestList {
		return string(all[:longestList]) + "…"
	}
	return text
}

// endpointSelector selects endpoints of a catalog.
type endpointSelector struct {
	// region is the configured one, "" when there is none.
	region, iface string
	// pinned and exceptions are the regions that pin has fixed: for all services, and
	// for those that are in other regions only.
	pinned     string
	exceptions map[string]string
}

func newEndpointSelector(cfg config.Global) (endpointSelector, error) {
	iface := strings.TrimSuffix(strings.ToLower(cfg.EndpointType), "url") // as in "publicURL"
	switch iface {
	case "":
		iface = "public"
	case "public", "internal", "admin":
	default:
		return endpointSelector{}, fmt.Errorf("os-endpoint-type %q: allowed are public, internal and admin", cfg.EndpointType)
	}
	return endpointSelector{region: cfg.Region, iface: iface}, nil
}

// find returns the first endpoint that fits, as OpenStack's own clients do.
func (c endpointSelector) find(catalog []tokens.CatalogEntry, types []string) (string, error) {
	region := c.regionOf(types[0])
	for endpoint := range endpointsOf(catalog, types) {
		if endpoint.Interface == c.iface &&
			(region == "" || endpoint.Region == region || endpoint.RegionID == region) {
			return endpoint.URL, nil
		}
	}
	missing := ErrNoEndpoint{Service: types[0], Region: region, Interface: c.iface}
	for endpoint := range endpointsOf(catalog, types) {
		missing.Offered = append(missing.Offered, endpoint.Region+" "+endpoint.Interface)
	}
	slices.Sort(missing.Offered)
	return "", missing
}

// endpointsOf returns the endpoints of the services of some types, in the order of the catalog.
func endpointsOf(catalog []tokens.CatalogEntry, types []string) iter.Seq[*tokens.Endpoint] {
	return func(yield func(*tokens.Endpoint) bool) {
		for i := range catalog {
			if !slices.Contains(types, catalog[i].Type) {
				continue
			}
			for j := range catalog[i].Endpoints {
				if !yield(&catalog[i].Endpoints[j]) {
					return
				}
			}
		}
	}
}
