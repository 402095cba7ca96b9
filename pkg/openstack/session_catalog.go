package openstack

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// ErrNoEndpoint says that the service catalog has no endpoint for a service in the
// region and on the interface that we were told.
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
		offered = strings.Join(e.Offered, ", ")
	}
	return fmt.Sprintf("the service catalog has no %s endpoint of type %s in %s; it has %s",
		e.Interface, e.Service, region, offered)
}

// endpointChoice picks endpoints out of a catalog.
type endpointChoice struct {
	// region is the configured one, "" when there is none.
	region, iface string
	// home and elsewhere are the regions that pin has fixed: for all services, and for
	// those that are in other regions only.
	home      string
	elsewhere map[string]string
}

func newEndpointChoice(cfg config.Global) (endpointChoice, error) {
	iface := strings.TrimSuffix(strings.ToLower(cfg.EndpointType), "url") // as in "publicURL"
	switch iface {
	case "":
		iface = "public"
	case "public", "internal", "admin":
	default:
		return endpointChoice{}, fmt.Errorf("os-endpoint-type %q: allowed are public, internal and admin", cfg.EndpointType)
	}
	return endpointChoice{region: cfg.Region, iface: iface}, nil
}

// find gives the first endpoint that fits, as OpenStack's own clients do.
func (c endpointChoice) find(catalog []tokens.CatalogEntry, types []string) (string, error) {
	region := c.regionOf(types[0])
	missing := ErrNoEndpoint{Service: types[0], Region: region, Interface: c.iface}
	for _, entry := range catalog {
		if !slices.Contains(types, entry.Type) {
			continue
		}
		for _, endpoint := range entry.Endpoints {
			if endpoint.Interface == c.iface &&
				(region == "" || endpoint.Region == region || endpoint.RegionID == region) {
				return endpoint.URL, nil
			}
			missing.Offered = append(missing.Offered, endpoint.Region+" "+endpoint.Interface)
		}
	}
	slices.Sort(missing.Offered)
	return "", missing
}

// LoadBalancer gives the client of the load balancer API, version 2. It costs no
// request where the catalog has that service; where it has not, the catalog is read
// anew, at most once a minute. The client is of the moment: endpoints may change with
// the next token.
func (s *Session) LoadBalancer(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, "v2.0", loadBalancerTypes())
}

// Network gives the client of the network API, version 2, as LoadBalancer does.
func (s *Session) Network(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, "v2.0", networkTypes())
}

// Compute gives the client of the compute API, version 2.1, as LoadBalancer does.
func (s *Session) Compute(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, "v2.1", computeTypes())
}

// KeyManager gives the client of the key manager API, version 1, as LoadBalancer
// does.
func (s *Session) KeyManager(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, "v1", keyManagerTypes())
}

// service makes a client by hand: gophercloud's constructors ask the service for
// its versions first, one request each.
func (s *Session) service(ctx context.Context, version string, types []string) (*gophercloud.ServiceClient, error) {
	address, err := s.endpoints.find(s.tokens.current.Load().catalog, types)
	if err != nil && s.refreshCatalog(ctx) {
		address, err = s.endpoints.find(s.tokens.current.Load().catalog, types)
	}
	if err != nil {
		return nil, err
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return nil, fmt.Errorf("the service catalog has a bad URL %q for %s", address, types[0])
	}
	root, base := splitVersion(parsed, version)
	return &gophercloud.ServiceClient{
		ProviderClient: s.provider,
		Endpoint:       root,
		ResourceBase:   base,
		Type:           types[0],
	}, nil
}

// refreshAge is how long a catalog that lacks a service is believed: services appear,
// and the endpoint of one may be made anew while we sign in.
const refreshAge = time.Minute

// refreshCatalog has Keystone give the service catalog anew, with a new token where
// the credentials can get one. It gives false when that was done less than a minute
// ago, or fails.
func (s *Session) refreshCatalog(ctx context.Context) bool {
	s.refreshing.Lock()
	now := s.tokens.clock.Now()
	due := s.refreshed.IsZero() || !now.Before(s.refreshed.Add(refreshAge))
	if due {
		s.refreshed = now
	}
	s.refreshing.Unlock()
	if !due {
		return false
	}
	current := s.tokens.current.Load()
	var err error
	if current.renewable {
		_, err = s.tokens.renew(ctx, current)
	} else if current, err = s.tokens.issue(ctx); err == nil {
		s.tokens.current.Store(current)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot read the service catalog anew")
	}
	return err == nil
}

// splitVersion gives the root of a service, where its version document is, and the
// base of its API. Catalogs have URLs with and without a version, and with a
// project after it:
//
//	http://host/load-balancer           root, base is root + version
//	http://host/load-balancer/v2.0/     base, root is what goes before
//	http://host:8774/v2.1/PROJECT       base, root is what goes before the version
//
// Both end in a slash.
func splitVersion(address *url.URL, version string) (root, base string) {
	plain := url.URL{Scheme: address.Scheme, Host: address.Host}
	segments := strings.FieldsFunc(address.Path, func(r rune) bool { return r == '/' })
	if n := len(segments); n > 0 && segments[n-1] == "lbaas" { // gophercloud adds it
		segments = segments[:n-1]
	}
	at := slices.IndexFunc(segments, request.IsVersion)
	if at < 0 {
		at = len(segments)
		segments = append(segments, version)
	}
	join := func(segments []string) string {
		return plain.JoinPath(append(slices.Clone(segments), "/")...).String()
	}
	return join(segments[:at]), join(segments)
}
