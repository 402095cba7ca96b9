package auth

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

// refusing answers as Keystone does where it does not take the credentials.
func refusing(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, `{"error":{"code":401,"title":"Unauthorized","message":"The request you have made requires authentication."}}`)
}

// A pause after each failure, so that Keystone is neither overloaded nor given
// reason to lock the account.
func TestSignIn_PausesForEverybodyAfterFailure(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, test := range map[string]struct {
		keystone http.HandlerFunc
		pauses   []time.Duration
	}{
		"refused":             {refusing, []time.Duration{time.Minute, time.Minute}},
		"forbidden":           {fakecloud.Answer(403), []time.Duration{time.Minute}},
		"out of order":        {fakecloud.Answer(500), []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, time.Minute, time.Minute}},
		"overloaded, a while": {fakecloud.Answer(429, "Retry-After", "45"), []time.Duration{45 * time.Second, 45 * time.Second}},
		"overloaded, a day":   {fakecloud.Answer(503, "Retry-After", "86400"), []time.Duration{limiter.LongestPause}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := fakecloud.New(t)
			s, clk := renewedInTime(t, cloud)
			cloud.RevokeAll()
			cloud.Set(func() { cloud.Keystone = test.keystone })
			for n, pause := range test.pauses {
				var all sync.WaitGroup
				for range 300 {
					all.Go(func() {
						var auth *apierror.AuthenticationError
						if err := getServer(s); !errors.As(err, &auth) {
							t.Errorf("want an AuthenticationError, got %v", err)
						}
					})
				}
				all.Wait()
				if cloud.SignInCount() != n+2 {
					t.Fatalf("%d token requests after %d failures", cloud.SignInCount(), n+1)
				}
				clk.awaitTimer(t, pause)
				clk.Step(pause - time.Millisecond)
				if err := getServer(s); err == nil || cloud.SignInCount() != n+2 {
					t.Fatalf("%d token requests within the pause of %s: %v", cloud.SignInCount(), pause, err)
				}
				clk.Step(time.Millisecond)
				await.Condition(t, "another try in the background", func() bool { return cloud.SignInCount() == n+3 })
			}
		})
	}
}

func TestSignIn_ResumesWhenKeystoneIsBack(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s, clk := renewedInTime(t, cloud)
	cloud.RevokeAll()
	cloud.Set(func() { cloud.Keystone = fakecloud.Answer(500) })
	if err := getServer(s); err == nil {
		t.Fatal("no error")
	}
	cloud.Set(func() { cloud.Keystone = nil })
	clk.awaitTimer(t, firstSignInPause)
	clk.Step(firstSignInPause)
	await.Condition(t, "a token", func() bool { return s.tokens.current.Load().id == "token-2" })
	if err := getServer(s); err != nil {
		t.Error(err)
	}
	cloud.RevokeAll()
	cloud.Set(func() { cloud.Keystone = fakecloud.Answer(500) })
	clk.Step(youngToken)
	_ = getServer(s)
	if pause := s.tokens.failed.Load().again.Sub(clk.Now()); pause != firstSignInPause {
		t.Errorf("the pause begins anew with %s, want %s", pause, firstSignInPause)
	}
}

// One service that takes no token at all, for want of its own account, costs neither
// Keystone nor the other services.
func TestSignIn_IsNotRepeatedForServiceThatRefusesEveryToken(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s, clk := renewedInTime(t, cloud)
	cloud.Set(func() { cloud.Services = fakecloud.Answer(401) })
	clk.Step(youngToken)
	for range 10 {
		signIns, asked := cloud.SignInCount(), len(cloud.Requests())
		done := make(chan struct{})
		go func() { // a token of the second of a revocation is worth nothing either
			for len(cloud.Requests()) < asked+2 {
				time.Sleep(time.Millisecond)
			}
			clk.Step(issueResolution)
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
					clk.Step(0)
				}
			}
		}()
		for range 100 {
			if err := getServer(s); apierror.StatusCode(err) != 401 {
				t.Errorf("want the service's 401, got %v", err)
			}
		}
		close(done)
		if n := cloud.SignInCount() - signIns; n != 2 {
			t.Errorf("%d new tokens within %s, want 2", n, youngToken)
		}
		if n := len(cloud.Requests()) - asked; n != 102 {
			t.Errorf("%d requests for 100 calls, want 102", n)
		}
		clk.Step(youngToken)
	}
}

// An outage proves nothing about the credentials.
func TestRefused_IgnoresOutageOfKeystone(t *testing.T) {
	t.Parallel()
	for name, keystone := range map[string]http.HandlerFunc{
		"error": fakecloud.Answer(500), "gateway": fakecloud.Answer(502), "overload": fakecloud.Answer(429), "a proxy's 404": fakecloud.Answer(404),
	} {
		cloud := fakecloud.New(t)
		s, _ := renewedInTime(t, cloud)
		cloud.RevokeAll()
		cloud.Set(func() { cloud.Keystone = keystone })
		if err := getServer(s); err == nil || s.Refused() != nil {
			t.Errorf("%s: refused %v: %v", name, s.Refused(), err)
		}
	}
}
