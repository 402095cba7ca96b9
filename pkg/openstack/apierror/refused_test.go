package apierror

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
)

func TestIsRefused_ExcludesWhatEndsByItself(t *testing.T) {
	t.Parallel()
	answer := func(method string, status int, body string) error {
		return fmt.Errorf("create it: %w", gophercloud.ErrUnexpectedResponseCode{Method: method, Actual: status, Body: []byte(body)})
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a quota of Octavia":      {answer(http.MethodPost, http.StatusForbidden, `{"faultstring": "Quota has been met for resources: Pool"}`), true},
		"a quota of Neutron":      {answer(http.MethodPost, http.StatusConflict, `{"NeutronError": {"type": "OverQuota", "message": "no"}}`), true},
		"an address that is used": {answer(http.MethodPost, http.StatusConflict, `{"NeutronError": {"type": "IpAddressAlreadyAllocated", "message": "no"}}`), true},
		"a value":                 {answer(http.MethodPut, http.StatusBadRequest, `{"faultstring": "no"}`), true},
		"an option":               {answer(http.MethodPost, http.StatusNotImplemented, `{"faultstring": "no"}`), true},
		"a role":                  {answer(http.MethodPost, http.StatusForbidden, `{"faultstring": "Policy does not allow this request to be performed."}`), true},
		"it is being changed":     {answer(http.MethodPut, http.StatusConflict, `{"faultstring": "Load Balancer x is immutable and cannot be updated."}`), false},
		"it is gone":              {answer(http.MethodPut, http.StatusNotFound, `{"faultstring": "no"}`), false},
		"busy":                    {answer(http.MethodPost, http.StatusServiceUnavailable, `{"faultstring": "Project busy."}`), false},
		"too many requests":       {answer(http.MethodPost, http.StatusTooManyRequests, ""), false},
		"a read":                  {answer(http.MethodGet, http.StatusForbidden, `{"faultstring": "no"}`), false},
		"not signed in":           {&AuthenticationError{answer(http.MethodPost, http.StatusForbidden, "")}, false},
		"no answer":               {errors.New("connection reset"), false},
		"nothing":                 {nil, false},
	} {
		if got := IsRefused(c.err); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
