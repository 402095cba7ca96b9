package auth

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// ErrNoEndpoint reports that the catalog has no endpoint of a service in the configured region and
// on the configured interface.
type ErrNoEndpoint struct {
	// Service is the type: "load-balancer".
	Service string
	// Region is "" for any region.
	Region string
	// Interface is public, internal or admin.
	Interface string
	// Offered are the existing endpoints of the service, as "REGION INTERFACE".
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

// Limits of the endpoints in an error, and of their length.
const (
	mostOffered = 10
	longestList = 500
)

// IsNoOctavia reports whether an error is that the catalog has no endpoint of the load balancer service.
func IsNoOctavia(err error) bool {
	var none ErrNoEndpoint
	return errors.As(err, &none) && slices.Contains(loadBalancerTypes(), none.Service)
}

// printable returns a text of the catalog in a form for errors: short, and in one line.
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
	// region is the configured one, "" if there is none.
	region, iface string
	// pinned and exceptions are the regions that pin has selected: for all services, and for those
	// that exist only in other regions.
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

// find returns the first matching endpoint, as OpenStack's own clients do.
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
