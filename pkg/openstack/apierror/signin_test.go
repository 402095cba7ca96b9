package apierror

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"
)

func TestIsKeystoneAway_OnlyWhereKeystoneHasRefusedNothing(t *testing.T) {
	t.Parallel()
	keystone := func(status int, body string) error {
		return &AuthenticationError{Err: refused("POST", "/v3/auth/tokens", status, body)}
	}
	const fault = `{"error":{"code":404,"message":"Could not find application credential."}}`
	for name, test := range map[string]struct {
		err           error
		away, refused bool
	}{
		"it cannot be reached":      {&AuthenticationError{Err: &NoAnswerError{Service: "Keystone", Method: "POST", Err: io.EOF}}, true, false},
		"it is overloaded":          {keystone(429, ""), true, false},
		"it fails":                  {keystone(500, ""), true, false},
		"a proxy's 404":             {keystone(404, "<html>"), true, false},
		"its own 404":               {keystone(404, fault), false, true},
		"a wrong password":          {keystone(401, ""), false, true},
		"a locked account":          {keystone(403, ""), false, true},
		"a request it cannot read":  {keystone(400, ""), false, false},
		"a token that has expired":  {&AuthenticationError{Err: &TokenExpiredError{At: time.Unix(0, 0)}}, false, true},
		"another project":           {&AuthenticationError{Err: &OtherProjectError{Signed: "a", Given: "b"}}, false, true},
		"another service is away":   {&NoAnswerError{Service: "Nova", Method: "GET", Err: io.EOF}, false, false},
		"an error of configuration": {errors.New("auth-url is not an http or https URL"), false, false},
	} {
		err := fmt.Errorf("sign in: %w", test.err)
		if IsKeystoneAway(err) != test.away || IsCredentialsRefused(err) != test.refused {
			t.Errorf("%s: away %t, refused %t; want %t, %t", name, IsKeystoneAway(err), IsCredentialsRefused(err), test.away, test.refused)
		}
	}
}

func TestIgnoreNotFound_KeepsEveryOtherError(t *testing.T) {
	t.Parallel()
	if err := IgnoreNotFound(Wrap(octaviaRefused(404, "Pool 1 not found."), "delete pool 1")); err != nil {
		t.Errorf("an object that is gone: %v", err)
	}
	for name, err := range map[string]error{
		"nothing":       nil,
		"locked":        octaviaRefused(409, "Load Balancer 1 is immutable and cannot be updated."),
		"a proxy's 404": refused("DELETE", "/v2.0/lbaas/x", 404, `{"code":404,"title":"Not Found","description":""}`),
	} {
		if got := IgnoreNotFound(err); (got == nil) != (err == nil) {
			t.Errorf("%s: %v became %v", name, err, got)
		}
	}
}
