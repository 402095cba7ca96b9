package refusal

import "errors"

// ErrNothingKept reports that a refused Service has no load balancer to keep.
var ErrNothingKept = errors.New("the Service has no load balancer yet")

// BlockedError reports an object that conflicts with the request of the Service. Failed is set if
// that is the load balancer itself, which is in ERROR.
type BlockedError struct {
	Why    string
	Failed bool
}

// Error implements error.
func (e *BlockedError) Error() string { return e.Why }
