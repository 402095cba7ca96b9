// Package keystone is the identity service of the simulated cloud: it authenticates users with the
// v3 API, issues tokens with a service catalog, and validates the tokens of requests to the other
// services.
package keystone

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Options describe a Keystone. The zero value is a working service with the
// domain "default", one region and no users.
type Options struct {
	// Clock decides when tokens expire; nil means the real clock.
	Clock clock.PassiveClock
	// TokenLifetime is the lifetime of a token; zero means an hour, as in Keystone's [token]
	// expiration.
	TokenLifetime time.Duration
	// BaseURL is the scheme and host that catalog URLs start with, such as http://127.0.0.1:8080.
	// Empty: the host of the request.
	BaseURL string
	// Regions of the catalog; nil means RegionOne alone.
	Regions []string
	// Services of the catalog; nil means DefaultServices.
	Services []Service
	// Domains besides "default".
	Domains []Domain
}

// Service is one entry of the catalog. Every region lists it under the
// interfaces public, internal and admin.
type Service struct {
	// Type as clients look it up ("load-balancer") and the free Name.
	Type, Name string
	// Path below the base URL in the catalog. A Path with a scheme is a whole URL.
	Path string
	// Regions that have it; nil means all.
	Regions []string
}

// DefaultServices returns the catalog of a usual cloud: Octavia and Neutron without a version in
// their URL, Keystone and Nova with one.
func DefaultServices() []Service {
	return []Service{
		{Type: "identity", Name: "keystone", Path: "/identity/v3"},
		{Type: "compute", Name: "nova", Path: "/compute/v2.1"},
		{Type: "network", Name: "neutron", Path: "/network"},
		{Type: "load-balancer", Name: "octavia", Path: "/load-balancer"},
		{Type: "image", Name: "glance", Path: "/image"},
		{Type: "key-manager", Name: "barbican", Path: "/key-manager"},
	}
}

// Keystone is a running identity service. All methods may be called at the
// same time.
type Keystone struct {
	options Options
	handler http.Handler

	mu          sync.Mutex
	baseURL     string
	domains     map[string]Domain
	projects    map[string]Project
	users       map[string]User
	credentials map[string]ApplicationCredential
	trusts      map[string]Trust
	tokens      map[string]*token
	revoked     time.Time // no token of this second or before is worth anything
}

// New returns a Keystone with the domain "default" and no users.
func New(options Options) *Keystone {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.TokenLifetime == 0 {
		options.TokenLifetime = time.Hour
	}
	if options.Regions == nil {
		options.Regions = []string{"RegionOne"}
	}
	if options.Services == nil {
		options.Services = DefaultServices()
	}
	k := &Keystone{
		options:     options,
		baseURL:     options.BaseURL,
		domains:     map[string]Domain{DefaultDomain: {ID: DefaultDomain, Name: "Default"}},
		projects:    map[string]Project{},
		users:       map[string]User{},
		credentials: map[string]ApplicationCredential{},
		trusts:      map[string]Trust{},
		tokens:      map[string]*token{},
	}
	for _, domain := range options.Domains {
		k.domains[domain.ID] = domain
	}
	k.handler = k.routes()
	return k
}

// SetServices changes the services in the catalog of later tokens.
func (k *Keystone) SetServices(services []Service) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.options.Services = services
}

// SetBaseURL changes the base URL in the catalog of later tokens.
func (k *Keystone) SetBaseURL(url string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.baseURL = url
}
