package transport

import (
	"errors"
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// ErrReadOnly is the error of a request that would write and was not sent, because this
// transport only reads.
var ErrReadOnly = errors.New("nothing is written to OpenStack here: this is a bug of the program, ask its authors to mend it")

// readOnly passes on what reads, and signing in, and nothing else: whatever the code above it
// does, no write reaches OpenStack.
type readOnly struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t readOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	kind := request.KindOf(req.Method, req.URL.Path)
	if !request.IsWrite(req.Method) || req.Method == http.MethodPost && kind.Class == request.Token {
		return t.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, &apierror.NoAnswerError{Service: kind.Service, Method: req.Method, Err: ErrReadOnly}
}
