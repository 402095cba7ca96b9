package apierror

import (
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// IsRefused reports whether a service has answered a write with a refusal that stands until
// the request, a quota or something else in the cloud changes: a value that it does not
// take, an exhausted quota, a name or address that is taken, a role that is missing. It
// is false for what ends by itself (a load balancer that is being changed, a service that
// is busy or down), for reads, and for what is not there any more.
func IsRefused(err error) bool {
	r := refusalOf(err)
	switch {
	case !request.IsWrite(r.method):
		return false
	case r.isQuota(), r.status == http.StatusForbidden, r.status == http.StatusRequestEntityTooLarge:
		return true
	}
	return IsInvalid(err) || IsConflict(err) && !IsLocked(err)
}
