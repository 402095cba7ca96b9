package auth

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// LoadBalancer returns the client of the load balancer API, version 2. It sends no request if the
// catalog has the service; otherwise it reads the catalog again, at most once a minute. Do not keep
// the client: endpoints may change with the next token.
func (s *Session) LoadBalancer(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, s.endpoints, "v2.0", loadBalancerTypes())
}

// Network returns the client of the network API, version 2, as LoadBalancer does.
func (s *Session) Network(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, s.endpoints, "v2.0", networkTypes())
}

// Compute returns the client of the compute API, version 2.1, as LoadBalancer does.
func (s *Session) Compute(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, s.endpoints, "v2.1", computeTypes())
}

// KeyManager returns the client of the key manager API, version 1, as LoadBalancer
// does.
func (s *Session) KeyManager(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, s.endpoints, "v1", keyManagerTypes())
}

// Regional is a view of a session that uses compute and network of another region.
type Regional struct {
	session   *Session
	endpoints endpointSelector
}

// InRegion returns the view of the session in a region. The catalog need not have the region yet.
func (s *Session) InRegion(region string) *Regional {
	return &Regional{s, endpointSelector{region: region, iface: s.endpoints.iface}}
}

// ProjectID returns the project of the session.
func (r *Regional) ProjectID() string { return r.session.ProjectID() }

// Compute returns the client of the compute API of the region, as that of the session does.
func (r *Regional) Compute(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return r.session.service(ctx, r.endpoints, "v2.1", computeTypes())
}

// Network returns the client of the network API of the region, as that of the session does.
func (r *Regional) Network(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return r.session.service(ctx, r.endpoints, "v2.0", networkTypes())
}

// Keystone returns the client of the identity API, version 3, of the session.
func (s *Session) Keystone() *gophercloud.ServiceClient {
	return &gophercloud.ServiceClient{ProviderClient: s.provider, Endpoint: s.keystone.current().client.Endpoint, Type: "identity"}
}

// service builds a client. gophercloud's constructors would read the versions of the service first,
// one request each.
func (s *Session) service(ctx context.Context, endpoints endpointSelector, version string, types []string) (*gophercloud.ServiceClient, error) {
	address, err := endpoints.find(s.tokens.current.Load().catalog, types)
	if err != nil && s.refreshCatalog(ctx) {
		address, err = endpoints.find(s.tokens.current.Load().catalog, types)
	}
	if err != nil {
		return nil, err
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return nil, fmt.Errorf("the service catalog has no URL for %s, but something else", types[0]) // not quoted, because it may contain a password
	}
	root, base := splitVersion(parsed, version)
	return &gophercloud.ServiceClient{
		ProviderClient: s.provider,
		Endpoint:       root,
		ResourceBase:   base,
		Type:           types[0],
	}, nil
}

// refreshAge is how long a catalog without a service is trusted: services are added, and endpoints
// may be recreated during the sign-in.
const refreshAge = time.Minute

// refreshCatalog reads the service catalog again, with a new token if possible. It returns false if
// it did so less than a minute ago, or fails.
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
	} else {
		err = s.tokens.readAgain(ctx, current)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot read the service catalog again")
	}
	return err == nil
}

// splitVersion returns the root of a service, which has its version document, and the base of its
// API. Catalogs have URLs with and without a version, and with a project after it:
//
//	http://host/load-balancer           root, base is root + version
//	http://host/load-balancer/v2.0/     base, root is what goes before
//	http://host:8774/v2.1/PROJECT       base, root is what goes before the version
//
// Both end in a slash.
func splitVersion(address *url.URL, version string) (root, base string) {
	segments := strings.FieldsFunc(address.Path, func(r rune) bool { return r == '/' })
	if n := len(segments); n > 0 && segments[n-1] == "lbaas" { // gophercloud adds it
		segments = segments[:n-1]
	}
	at := slices.IndexFunc(segments, rest.IsVersion)
	if at < 0 {
		at = len(segments)
		segments = append(segments, version)
	}
	join := func(segments []string) string {
		path := "/"
		if len(segments) > 0 {
			path += strings.Join(segments, "/") + "/"
		}
		return (&url.URL{Scheme: address.Scheme, Host: address.Host, Path: path}).String()
	}
	return join(segments[:at]), join(segments)
}
