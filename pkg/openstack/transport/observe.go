package transport

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// observeTransport measures and logs every request.
type observeTransport struct {
	next    http.RoundTripper
	metrics *Metrics
	clock   clock.Clock
}

// RoundTrip passes the request on.
func (t *observeTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	kind, started := rest.KindOf(req.Method, req.URL.Path), t.clock.Now()
	ctx, end := telemetry.Span(req.Context(), kind.Name)
	resp, err := t.next.RoundTrip(identified(ctx, req))
	took := t.clock.Since(started)
	status, requestID := 0, ""
	if resp != nil {
		status, requestID = resp.StatusCode, apierror.RequestIDOf(resp.Header)
	}
	t.metrics.observe(kind, status, took)
	telemetry.Note(ctx, attribute.String("openstack.request_id", requestID), attribute.String("http.request.method", req.Method),
		attribute.String("url.path", req.URL.Path), attribute.Int("http.response.status_code", status))
	end(err)
	if rest.IsWrite(req.Method) && kind.Class != rest.Token && status/100 == 2 {
		telemetry.Wrote(ctx, requestID)
	}
	if log := klog.FromContext(req.Context()).V(5); log.Enabled() {
		log.Info("OpenStack request", "request", kind.Name, "method", req.Method,
			"path", req.URL.Path, "status", status, "took", took, "requestID", requestID, "err", err)
	}
	return resp, err
}

// globalID is the header for the common ID of all requests of a client that belong together.
// OpenStack's services log it beside their own, and forward it to each other.
const globalID = "X-Openstack-Request-Id"

// identified returns a request with a context and with its global request ID, if it has one.
func identified(ctx context.Context, req *http.Request) *http.Request {
	id := telemetry.RequestID(ctx)
	if id == "" {
		return req
	}
	return rest.With(ctx, req, globalID, id)
}
