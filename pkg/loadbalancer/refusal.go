package loadbalancer

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// The reasons why Services are refused: what a Service asks for cannot be until somebody
// changes the Service, the configuration or the cloud. They are label values of a metric.
const (
	// RefusedInvalid: a value is not allowed.
	RefusedInvalid = "invalid"
	// RefusedUnsupported: the provider, or this release of OpenStack, cannot do it.
	RefusedUnsupported = "unsupported"
	// RefusedUnavailable: what the Service names or needs is not there: a class of
	// cloud.conf, a certificate, flavor, network, address.
	RefusedUnavailable = "unavailable"
	// RefusedNotOwned: it is another's, who does not share it.
	RefusedNotOwned = "not_owned"
	// RefusedQuota: a quota, or a limit of cloud.conf, is used up.
	RefusedQuota = "quota"
	// RefusedConflict: something that is there is in the way, as a port that is taken.
	RefusedConflict = "conflict"
	// RefusedCloud: OpenStack refuses a change for another reason.
	RefusedCloud = "cloud"
)

// RefusedReasons are all of them.
func RefusedReasons() []string {
	return []string{RefusedInvalid, RefusedUnsupported, RefusedUnavailable, RefusedNotOwned, RefusedQuota, RefusedConflict, RefusedCloud}
}

// blockedError tells that something that is there is in the way of what the Service asks
// for; failed, that it is the load balancer itself, which is in ERROR.
type blockedError struct {
	why    string
	failed bool
}

func (e *blockedError) Error() string { return e.why }

// byCloud tells that the cloud has refused a change, so that a plan has ended in its middle.
func byCloud(err error) bool { return openstack.IsRefused(err) }

// reasonOf gives why a Service is refused, "" where the error is none that says so.
func reasonOf(err error) string {
	var (
		one       *field.Error
		lacking   *lookup.Error
		floating  *observe.FloatingIPError
		selected  *desire.NoneSelectedError
		open      *securitygroup.UnenforcedError
		namespace *state.QuotaError
		blocked   *blockedError
		cert      *certificateError
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &one):
		return reasonOfField(one)
	case errors.As(err, &lacking), errors.As(err, &floating), errors.As(err, &cert):
		return RefusedUnavailable
	case errors.As(err, &selected):
		return RefusedInvalid
	case errors.As(err, &open):
		return RefusedUnsupported
	case errors.As(err, &namespace), byCloud(err) && openstack.IsQuota(err):
		return RefusedQuota
	case notOurs(err):
		return RefusedNotOwned
	case errors.As(err, &blocked) && !blocked.failed, byCloud(err) && openstack.IsConflict(err):
		return RefusedConflict
	case byCloud(err) && openstack.IsUnsupported(err):
		return RefusedUnsupported
	case byCloud(err):
		return RefusedCloud
	}
	return ""
}

func reasonOfField(err *field.Error) string {
	switch {
	case err.Field == annotation.Path(annotation.LoadBalancerID).String():
		return RefusedNotOwned
	case err.Field == annotation.Path(annotation.Class).String(), err.Type == field.ErrorTypeNotFound:
		return RefusedUnavailable
	case err.Type == field.ErrorTypeForbidden, err.Type == field.ErrorTypeNotSupported:
		return RefusedUnsupported
	}
	return RefusedInvalid
}

// refusalRetry is when a Service is tried again whose refusal ends when the Service is
// changed, which brings it back at once, or the controller is started anew: each try is an
// event.
const refusalRetry = 5 * time.Minute

// explainRefusal gives the error of a refused Service: what is refused, and what becomes
// of what it has, which is to be told however long the first is. Failure is why that could
// not be kept alive; nil where it was.
func (r *Reconciler) explainRefusal(ctx context.Context, refusal, failure error) error {
	var goesOn string
	switch {
	case failure == nil && byCloud(refusal):
		goesOn = "; the rest goes on: the load balancer follows the nodes"
	case failure == nil:
		goesOn = "; the load balancer keeps its last good settings and follows the nodes"
	case !errors.Is(failure, errNothingKept):
		goesOn = "; and its load balancer cannot be brought to the nodes: " + message.Cut(failure.Error(), message.MaxError/2)
	}
	told := &refusedError{message.Cut(refusal.Error(), message.MaxError-len(goesOn)) + goesOn, errors.Join(refusal, failure)}
	reason := reasonOf(refusal)
	if failure == nil && (reason == RefusedInvalid || reason == RefusedUnsupported) {
		return &laterError{told, api.NewRetryError(told.text, refusalRetry)}
	}
	return r.explain(ctx, told)
}

// refusedError is a refusal with what becomes of the load balancer.
type refusedError struct {
	text  string
	cause error
}

func (e *refusedError) Error() string { return e.text }
func (e *refusedError) Unwrap() error { return e.cause }

// laterError asks for another try at a time.
type laterError struct {
	error
	later *api.RetryError
}

func (e *laterError) Unwrap() []error { return []error{e.error, e.later} }

// waits refuses a plan, before anything is written, for the limits of cloud.conf. What
// else waits, unsettled finds before the plan is told.
func (p *pass) waits(todo plan.Plan) error {
	if p.follows != nil {
		return nil
	}
	return p.withinLimits(todo)
}
