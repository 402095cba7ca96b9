package refusal

import "errors"

// ErrNothingKept says that a refused Service has no load balancer that could be kept as
// it is.
var ErrNothingKept = errors.New("the Service has no load balancer yet")

// BlockedError says what is in the way of what the Service asks for. Failed is set where
// that is the load balancer itself, which is in ERROR.
type BlockedError struct {
	Why    string
	Failed bool
}

// Error implements error.
func (e *BlockedError) Error() string { return e.Why }
