package refusal

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

const (
	// refusedRetry is when a Service is tried again whose refusal ends when the Service is
	// changed, which queues it at once, or when the controller is restarted: each attempt
	// is an event.
	refusedRetry = 5 * time.Minute
	// timeoutRetry is when a Service whose load balancer is slow is tried again.
	timeoutRetry = 30 * time.Second
	// quotaRetry is when a load balancer is tried again that lacks something because a quota,
	// or the pool that addresses come from, is used up: only an operator can do something
	// about it.
	quotaRetry = 5 * time.Minute
)

// Explain returns the error of a refused Service: what is refused, and what becomes of the
// load balancer that it has, for which there is room however long the first is. Failure is
// why that could not be reconciled with the nodes, ErrNothingKept where there is none, nil
// where it was. The error wraps both. Where another attempt makes sense only after a while
// it is an *api.RetryError too; timeout is that of Retry.
func Explain(refusal, failure error, timeout time.Duration) error {
	rest := kept(refusal, failure)
	if failure != nil && !errors.Is(failure, ErrNothingKept) {
		rest = "; and its load balancer cannot follow the nodes: " + message.Truncate(failure.Error(), message.MaxError/2)
	}
	err := &refusedError{message.Truncate(refusal.Error(), message.MaxError-len(rest)) + rest, errors.Join(refusal, failure), failure}
	reason := Reason(refusal)
	if failure == nil && (reason == Invalid || reason == Unsupported) {
		return &retryError{err, api.NewRetryError(err.text, refusedRetry)}
	}
	return Retry(err, timeout)
}

// Stuck returns why the load balancer of a refused Service could not be reconciled with the nodes,
// as Explain was told; "" where it was, or there is none.
func Stuck(err error) string {
	var refused *refusedError
	if !errors.As(err, &refused) || refused.failure == nil || errors.Is(refused.failure, ErrNothingKept) {
		return ""
	}
	return refused.failure.Error()
}

// Standing returns what Explain says of a refused Service, as far as it is the same however often
// that is tried: why its load balancer cannot follow the nodes is not.
func Standing(refusal, failure error) string {
	rest := kept(refusal, failure)
	if errors.Is(failure, ErrNothingKept) {
		rest = nothingServes
	} else if failure != nil {
		rest = cannotFollow
	}
	return message.Truncate(refusal.Error(), message.MaxError-len(rest)) + rest
}

// Parts returns of what Standing says why the Service is refused, and what becomes of its load
// balancer; "" for the latter where the text does not end in that.
func Parts(standing string) (why, rest string) {
	for _, rest := range []string{keepsSettings, restGoesOn, nothingServes, cannotFollow} {
		if why, has := strings.CutSuffix(standing, rest); has {
			return why, strings.TrimPrefix(rest, separator)
		}
	}
	return standing, ""
}

// NothingServes is what Parts returns for a Service that has nothing yet.
const NothingServes = "nothing serves the Service yet"

// What becomes of the load balancer of a Service that is refused.
const (
	separator     = "; "
	keepsSettings = separator + "the load balancer keeps its last good settings and follows the nodes"
	restGoesOn    = separator + "the rest goes on: the load balancer follows the nodes"
	nothingServes = separator + NothingServes
	cannotFollow  = separator + "its load balancer cannot follow the nodes at the moment"
)

// kept says what becomes of the load balancer of a refused Service; "" where that has failed.
func kept(refusal, failure error) string {
	switch {
	case failure != nil:
		return ""
	case ByCloud(refusal):
		return restGoesOn
	}
	return keepsSettings
}

// Retry returns an *api.RetryError in place of an error after which the Service is to be
// tried again at a certain time, and not after a growing delay; else the error itself.
// That is where the operation has reached its timeout, 0 where it has not, and where a
// quota or an address pool is used up. Nil stays nil.
func Retry(err error, timeout time.Duration) error {
	switch {
	case err != nil && timeout > 0:
		return api.NewRetryError(fmt.Sprintf("the load balancer is not ready after %s, looking again in %s: %v", timeout, timeoutRetry, err), timeoutRetry)
	case ByCloud(err) && apierror.IsQuota(err):
		return api.NewRetryError(fmt.Sprintf("%v; trying again in %s", err, quotaRetry), quotaRetry)
	}
	return err
}

// Later returns an error after which the Service is to be tried again after a time: an
// *api.RetryError that wraps it too.
func Later(err error, after time.Duration) error {
	return &retryError{err, api.NewRetryError(err.Error(), after)}
}

// refusedError is a refusal together with what becomes of the load balancer.
type refusedError struct {
	text    string
	cause   error
	failure error
}

func (e *refusedError) Error() string { return e.text }
func (e *refusedError) Unwrap() error { return e.cause }

// retryError wraps an error and the *api.RetryError that goes with it.
type retryError struct {
	error
	retry *api.RetryError
}

func (e *retryError) Unwrap() []error { return []error{e.error, e.retry} }
