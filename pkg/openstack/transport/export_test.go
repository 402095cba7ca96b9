package transport

import "net/http"

// Through returns the way of every request, to a base of the test's.
func Through(base http.RoundTripper, options Options) http.RoundTripper {
	return newChain(base, options.withDefaults(), nil)
}
