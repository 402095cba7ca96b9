package driver

import (
	"sync"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Settings are the operator's settings of drivers.
type Settings struct {
	// DefaultProvider is the provider of load balancers if no setting has one.
	DefaultProvider string
	// Serial disables full creates and batches of members, for providers that are known to support
	// neither (provider-requires-serial-api-calls).
	Serial bool
	// Timing replaces that of all drivers, unless it is zero.
	Timing Timing
}

// Registry returns drivers from the table, without the features that their providers have refused
// since the process started, so that each is tried once. Its methods are safe for concurrent use.
type Registry struct {
	settings Settings

	mu sync.Mutex
	// byDefault is the present Settings.DefaultProvider.
	byDefault string
	refused   map[string]set // by provider
	// rangesBreak: see Quirks.RangesBreakFullCreate.
	rangesBreak bool
}

// NewRegistry returns a Registry without refusals.
func NewRegistry(settings Settings) *Registry {
	return &Registry{settings: settings, byDefault: settings.DefaultProvider, refused: map[string]set{}}
}

// SetDefault changes the provider of load balancers for which no setting has one.
func (r *Registry) SetDefault(provider string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byDefault = provider
}

func (r *Registry) defaultProvider() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byDefault
}

// For returns the driver of a provider in a release of Octavia.
func (r *Registry) For(provider string, version model.Version) Driver {
	d := Of(provider, version)
	if r.settings.Serial {
		d = d.Without(FullCreate, MemberBatches)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	d.refused |= r.refused[provider]
	d.Quirks.RangesBreakFullCreate = r.rangesBreak
	return d
}

// Timing returns the timing of a provider's driver; "" is the default provider.
func (r *Registry) Timing(provider string) Timing {
	switch {
	case r.settings.Timing != Timing{}:
		return r.settings.Timing
	case provider == "":
		provider = r.defaultProvider()
	}
	return profileOf(provider).timing
}

// Refuse records that a request that needs a feature was refused, and reports whether to retry
// without it. The provider has answered 501, which is ignored for drivers with a known source, or,
// if onItsWay is set, a proxy or the API has refused the request.
//
//	on its way   source known   refused before   noted and reported
//	no           yes            any              no
//	any          any            yes              no
//	no           no             no               yes
//	yes          any            no               yes
func (r *Registry) Refuse(provider string, f Feature, onItsWay bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if profileOf(provider).sourceKnown && !onItsWay || r.refused[provider].has(f) {
		return false
	}
	r.refused[provider] = r.refused[provider].with(f)
	return true
}

// Retract removes a refusal that had another cause.
func (r *Registry) Retract(provider string, f Feature) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[provider] = r.refused[provider].without(f)
}

// RefuseRanges records that Octavia fails to create load balancers together with source ranges, for
// any provider.
func (r *Registry) RefuseRanges() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rangesBreak = true
}
