package transport

import (
	"net/http"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// observeTransport measures and logs every request.
type observeTransport struct {
	next    http.RoundTripper
	metrics *Metrics
	clock   clock.Clock
}

// RoundTrip passes the request on.
func (t *observeTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	kind, started := request.KindOf(req.Method, req.URL.Path), t.clock.Now()
	resp, err := t.next.RoundTrip(req)
	took := t.clock.Since(started)
	status, requestID := 0, ""
	if resp != nil {
		status, requestID = resp.StatusCode, apierror.RequestIDOf(resp.Header)
	}
	t.metrics.observe(kind, status, took)
	klog.FromContext(req.Context()).V(5).Info("OpenStack request", "request", kind.Name, "method", req.Method,
		"path", req.URL.Path, "status", status, "took", took, "requestID", requestID, "err", err)
	return resp, err
}
