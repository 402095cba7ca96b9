package apierror

import (
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// IsRefused reports whether a service refused a write, and will do so until the request, a quota or
// another object changes: an invalid value, an exhausted quota, a name or address in use, a missing
// role. It is false for temporary errors (a load balancer in a PENDING status, a busy service), for
// reads, and for missing objects.
func IsRefused(err error) bool {
	r := refusalOf(err)
	switch {
	case !rest.IsWrite(r.method):
		return false
	case r.isQuota(), r.status == http.StatusForbidden, r.status == http.StatusRequestEntityTooLarge:
		return true
	}
	return IsInvalid(err) || IsConflict(err) && !IsLocked(err)
}
