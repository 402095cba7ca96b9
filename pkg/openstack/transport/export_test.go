package transport

import (
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
)

// Through returns the way of every request, to a base of the test's.
func Through(base http.RoundTripper, options Options) http.RoundTripper {
	options = options.withDefaults()
	return newChain(unpooled{base}, options, limiter.New(options.Limits, options.Clock, options.Metrics.forLimiter()), nil)
}

// unpooled keeps no connections.
type unpooled struct{ http.RoundTripper }

func (unpooled) CloseIdleConnections() {}
