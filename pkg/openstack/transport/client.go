package transport

import (
	"net/http"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// maxRedirects is for reads; a write is never redirected.
const maxRedirects = 3

// NewClient returns gophercloud's client on a transport. It neither has a token nor
// renews one: that is the transport's task, as gophercloud holds up every request while
// it renews, and fails them all when the one that began it is canceled.
func NewClient(transport http.RoundTripper, userAgent string) *gophercloud.ProviderClient {
	client := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: transport, CheckRedirect: sameHostReads}}
	client.UseTokenLock()
	client.UserAgent.Prepend(userAgent)
	return client
}

// sameHostReads lets net/http follow a redirect only for a read and only on the
// same host: every request carries a token, and a redirected write would turn
// into a read.
func sameHostReads(req *http.Request, via []*http.Request) error {
	first := via[0]
	if request.IsWrite(first.Method) || len(via) > maxRedirects ||
		req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}
