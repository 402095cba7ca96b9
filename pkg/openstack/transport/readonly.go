package transport

import (
	"errors"
	"net/http"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// ErrReadOnly is the error of a write that was not sent, because the transport only reads.
var ErrReadOnly = errors.New("nothing is written to OpenStack: this session is read-only")

// readOnly refuses every request that could change something in the cloud, whoever asks for
// it: GET, HEAD and OPTIONS pass, and the POST by which Keystone signs in.
type readOnly struct {
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *readOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	kind := request.KindOf(req.Method, req.URL.Path)
	signIn := req.Method == http.MethodPost && kind.Class == request.Token
	if signIn || !request.IsWrite(req.Method) {
		return t.next.RoundTrip(req)
	}
	if req.Body != nil {
		defer req.Body.Close()
	}
	klog.FromContext(req.Context()).Error(ErrReadOnly, "A write was asked for and not sent", "service", kind.Service, "request", kind.Name)
	return nil, &apierror.NoAnswerError{Service: kind.Service, Method: req.Method, Err: ErrReadOnly}
}
