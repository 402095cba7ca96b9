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
	// refusedRetry is the delay of the next attempt for a refused Service. Each attempt is an
	// event. A change of the Service queues it immediately.
	refusedRetry = 5 * time.Minute
	// timeoutRetry is the delay of the next attempt for a Service with a slow load balancer.
	timeoutRetry = 30 * time.Second
	// quotaRetry is the delay of the next attempt after a quota or an address pool was exhausted:
	// only an operator can resolve that.
	quotaRetry = 5 * time.Minute
)

// Explain returns the error of a refused Service: the refusal, and the state of its load balancer,
// which is never truncated. failure is the reason why that could not be reconciled with the nodes,
// ErrNothingKept if there is none, nil if it was. The error wraps both. If another attempt makes
// sense only after a delay, it is also an *api.RetryError; timeout is that of Retry.
func Explain(refusal, failure error, timeout time.Duration) error {
	rest := kept(refusal, failure)
	if failure != nil && !errors.Is(failure, ErrNothingKept) {
		rest = "; and its load balancer cannot follow its nodes or pods: " + message.Truncate(failure.Error(), message.MaxError/2)
	}
	err := &refusedError{message.Truncate(refusal.Error(), message.MaxError-len(rest)) + rest, errors.Join(refusal, failure), failure}
	reason := Reason(refusal)
	if failure == nil && (reason == Invalid || reason == Unsupported) {
		return &retryError{err, api.NewRetryError(err.text, refusedRetry)}
	}
	return Retry(err, timeout)
}

// Stuck returns the reason why the load balancer of a refused Service could not be reconciled with
// the nodes; "" if it was, or there is none.
func Stuck(err error) string {
	var refused *refusedError
	if !errors.As(err, &refused) || refused.failure == nil || errors.Is(refused.failure, ErrNothingKept) {
		return ""
	}
	return refused.failure.Error()
}

// Standing returns the part of Explain's text that does not change between attempts, which excludes
// the reason why the load balancer cannot follow the nodes.
func Standing(refusal, failure error) string {
	rest := kept(refusal, failure)
	if errors.Is(failure, ErrNothingKept) {
		rest = nothingServes
	} else if failure != nil {
		rest = cannotFollow
	}
	return message.Truncate(refusal.Error(), message.MaxError-len(rest)) + rest
}

// WithIgnored appends the settings without effect, "" for none, to the result of Standing, as far as there is room.
func WithIgnored(standing, ignored string) string {
	room := message.MaxError - len(standing) - len(withoutEffect)
	if ignored == "" || room < leastIgnored {
		return standing
	}
	return standing + withoutEffect + message.Truncate(ignored, room)
}

// Parts splits the result of Standing into the reason of the refusal and the state of the load
// balancer; rest is "" if the text does not end with that. It drops what WithIgnored has appended.
func Parts(standing string) (why, rest string) {
	if at := strings.LastIndex(standing, withoutEffect); at >= 0 {
		standing = standing[:at]
	}
	for _, rest := range []string{keepsSettings, restGoesOn, nothingServes, cannotFollow} {
		if why, has := strings.CutSuffix(standing, rest); has {
			return why, strings.TrimPrefix(rest, separator)
		}
	}
	return standing, ""
}

// NothingServes is the state of a refused Service without a load balancer.
const NothingServes = "nothing serves the Service yet"

// The states of the load balancer of a refused Service.
const (
	separator     = "; "
	keepsSettings = separator + "the load balancer keeps its last good settings and follows its nodes or pods"
	restGoesOn    = separator + "the rest goes on: the load balancer follows its nodes or pods"
	nothingServes = separator + NothingServes
	withoutEffect = separator + "without effect: "
	cannotFollow  = separator + "its load balancer cannot follow its nodes or pods at the moment"
)

// leastIgnored is the least room for settings without effect, in bytes: about the name of an annotation.
const leastIgnored = 60

// kept returns the state of the load balancer of a refused Service; "" if the reconciliation
// failed.
func kept(refusal, failure error) string {
	switch {
	case failure != nil:
		return ""
	case ByCloud(refusal):
		return restGoesOn
	}
	return keepsSettings
}

// Retry returns an *api.RetryError for errors that need a fixed delay instead of an exponential
// one: if the operation has reached its timeout, which is 0 otherwise, and if a quota or an address
// pool is exhausted. It returns other errors unchanged, and nil for nil.
func Retry(err error, timeout time.Duration) error {
	switch {
	case err != nil && timeout > 0:
		return api.NewRetryError(fmt.Sprintf("the load balancer is not ready after %s, looking again in %s: %v", timeout, timeoutRetry, err), timeoutRetry)
	case ByCloud(err) && apierror.IsQuota(err):
		return api.NewRetryError(fmt.Sprintf("%v; trying again in %s", err, quotaRetry), quotaRetry)
	}
	return err
}

// Later returns an error with a fixed delay: an *api.RetryError that also wraps err.
func Later(err error, after time.Duration) error {
	return &retryError{err, api.NewRetryError(err.Error(), after)}
}

// refusedError is a refusal with the state of the load balancer.
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
