package transport

import (
	"errors"
	"net/http"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// ErrReadOnly is the error of a write that was not sent, because the transport is read-only.
var ErrReadOnly = errors.New("nothing is written to OpenStack: this session is read-only")

// readOnly refuses every request that could change the cloud. It admits GET, HEAD and OPTIONS, and
// the POST of a sign-in at Keystone.
type readOnly struct {
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *readOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	kind := rest.KindOf(req.Method, req.URL.Path)
	signIn := req.Method == http.MethodPost && kind.Class == rest.Token
	if signIn || !rest.IsWrite(req.Method) {
		return t.next.RoundTrip(req)
	}
	if req.Body != nil {
		defer req.Body.Close()
	}
	klog.FromContext(req.Context()).Error(ErrReadOnly, "Refused a write to OpenStack", "service", kind.Service, "request", kind.Name)
	return nil, &apierror.NoAnswerError{Service: kind.Service, Method: req.Method, Err: ErrReadOnly}
}
