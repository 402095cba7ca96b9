package refusal

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Reasons of refusals. They are label values of a metric.
const (
	// Invalid: a value is not allowed.
	Invalid = "invalid"
	// Unsupported: the provider, or this release of OpenStack, does not support the request.
	Unsupported = "unsupported"
	// Unavailable: an object that the Service needs does not exist: a class of cloud.conf, a
	// certificate, flavor, network, address.
	Unavailable = "unavailable"
	// NotOwned: the object belongs to another owner, which does not share it.
	NotOwned = "not_owned"
	// Quota: a quota, or a limit of cloud.conf, is exhausted.
	Quota = "quota"
	// Conflict: an existing object conflicts, such as another listener on the port.
	Conflict = "conflict"
	// Cloud: OpenStack refuses a change for another reason.
	Cloud = "cloud"
)

// Reasons returns all reasons.
func Reasons() []string {
	return []string{Invalid, Unsupported, Unavailable, NotOwned, Quota, Conflict, Cloud}
}

// Stated returns the reason of the condition for a refusal, which is one of Reasons; "" for "".
func Stated(why string) reason.Reason {
	return map[string]reason.Reason{
		Invalid: reason.Invalid, Unsupported: reason.Unsupported, Unavailable: reason.Unavailable, NotOwned: reason.NotOwned,
		Quota: reason.QuotaExceeded, Conflict: reason.Conflict, Cloud: reason.RefusedByCloud,
	}[why]
}

// ByCloud reports whether OpenStack refused a change, so that the plan was interrupted.
func ByCloud(err error) bool { return apierror.IsRefused(err) }

// Reason returns the reason of a refusal; "" if the error is no refusal, and another attempt may
// succeed without any change.
//
//	error                                                      reason
//	a field of the Service, or a value of cloud.conf           see reasonOfField
//	a network, subnet or floating IP that is unavailable;     Unavailable
//	a certificate that cannot be checked
//	source ranges that cannot be enforced                      Unsupported
//	a quota of the project, or of cloud.conf                   Quota
//	a load balancer of another owner                           NotOwned
//	a conflict, with a load balancer that is not in ERROR      Conflict
//	a write that OpenStack refuses                             Quota, Conflict, Unsupported (501), else Cloud
//	a load balancer in ERROR, and anything else                none
func Reason(err error) string {
	var (
		invalid     *field.Error
		unavailable *lookup.Error
		floatingIP  *observe.FloatingIPError
		unenforced  *securitygroup.UnenforcedError
		limit       *state.QuotaError
		notOurs     *observe.NotOursError
		blocked     *BlockedError
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &invalid):
		return reasonOfField(invalid)
	case errors.As(err, &unavailable), errors.As(err, &floatingIP):
		return Unavailable
	case errors.As(err, &unenforced):
		return Unsupported
	case errors.As(err, &limit), ByCloud(err) && apierror.IsQuota(err):
		return Quota
	case errors.As(err, &notOurs):
		return NotOwned
	case errors.As(err, &blocked) && !blocked.Failed, ByCloud(err) && apierror.IsConflict(err):
		return Conflict
	case ByCloud(err) && apierror.IsUnsupported(err):
		return Unsupported
	case ByCloud(err):
		return Cloud
	}
	return ""
}

// reasonOfField returns the reason for a refused field.
//
//	field or kind of error              reason
//	the load balancer that is named     NotOwned
//	the class, and missing objects      Unavailable
//	forbidden, not supported            Unsupported
//	any other                           Invalid
func reasonOfField(err *field.Error) string {
	switch {
	case err.Field == annotation.Path(annotation.Class).String(), err.Type == field.ErrorTypeNotFound:
		return Unavailable
	case err.Type == field.ErrorTypeForbidden && err.Field == annotation.Path(annotation.LoadBalancerID).String():
		return NotOwned
	case err.Type == field.ErrorTypeForbidden, err.Type == field.ErrorTypeNotSupported:
		return Unsupported
	}
	return Invalid
}
