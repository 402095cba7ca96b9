package transport

import (
	"net/http"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// maxRedirects applies to reads; writes are never redirected.
const maxRedirects = 3

// NewClient returns gophercloud's client for a transport. It has no token: the transport adds and
// renews it. gophercloud's own renewal blocks every request, and fails them all if the first one is
// canceled.
func NewClient(transport http.RoundTripper, userAgent string) *gophercloud.ProviderClient {
	client := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: transport, CheckRedirect: sameHostReads}}
	client.UseTokenLock()
	client.UserAgent.Prepend(userAgent)
	return client
}

// sameHostReads permits net/http to follow redirects only for reads on the same host: every request
// carries a token, and a redirected write would become a read.
func sameHostReads(req *http.Request, via []*http.Request) error {
	first := via[0]
	if rest.IsWrite(first.Method) || len(via) > maxRedirects ||
		req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}
