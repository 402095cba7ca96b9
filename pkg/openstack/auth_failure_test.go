package openstack

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// refusing answers as Keystone does where it does not take the credentials.
func refusing(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, `{"error":{"code":401,"title":"Unauthorized","message":"The request you have made requires authentication."}}`)
}

// A pause after each failure, so that Keystone is neither overloaded nor given
// reason to lock the account.
func TestFailedSignInsArePacedForEverybody(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keystone http.HandlerFunc
		pauses   []time.Duration
	}{
		"refused":             {refusing, []time.Duration{time.Minute, time.Minute}},
		"forbidden":           {answer(403), []time.Duration{time.Minute}},
		"out of order":        {answer(500), []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}},
		"overloaded, a while": {answer(429, "Retry-After", "45"), []time.Duration{45 * time.Second, 45 * time.Second}},
		"overloaded, a day":   {answer(503, "Retry-After", "86400"), []time.Duration{longestPause}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := newFakeCloud(t)
			s, clk := renewedInTime(t, cloud)
			cloud.revokeAll()
			cloud.set(func() { cloud.keystone = test.keystone })
			for n, pause := range test.pauses {
				if pause < time.Second {
					pause *= time.Second
				}
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
				if cloud.signInCount() != n+2 {
					t.Fatalf("%d token requests after %d failures", cloud.signInCount(), n+1)
				}
				clk.Step(pause - time.Millisecond)
				if err := getServer(s); err == nil || cloud.signInCount() != n+2 {
					t.Fatalf("%d token requests within the pause of %s: %v", cloud.signInCount(), pause, err)
				}
				clk.Step(time.Millisecond)
				eventually(t, "another try in the background", func() bool { return cloud.signInCount() == n+3 })
			}
		})
	}
}

func TestSignInsGoOnWhenKeystoneIsBack(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	s, clk := renewedInTime(t, cloud)
	cloud.revokeAll()
	cloud.set(func() { cloud.keystone = answer(500) })
	if err := getServer(s); err == nil {
		t.Fatal("no error")
	}
	cloud.set(func() { cloud.keystone = nil })
	clk.Step(firstSignInPause)
	eventually(t, "a token", func() bool { return s.tokens.current.Load().id == "token-2" })
	if err := getServer(s); err != nil {
		t.Error(err)
	}
	cloud.revokeAll()
	cloud.set(func() { cloud.keystone = answer(500) })
	clk.Step(youngToken)
	_ = getServer(s)
	if pause := s.tokens.failed.Load().again.Sub(clk.Now()); pause != firstSignInPause {
		t.Errorf("the pause begins anew with %s, want %s", pause, firstSignInPause)
	}
}

// One service that takes no token at all, for want of its own account, costs neither
// Keystone nor the other services.
func TestOneServicesRefusalsDoNotStormKeystone(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	s, clk := renewedInTime(t, cloud)
	cloud.set(func() { cloud.services = answer(401) })
	clk.Step(youngToken)
	for range 10 {
		signIns, asked := cloud.signInCount(), len(cloud.requests())
		done := make(chan struct{})
		go func() { // a token of the second of a revocation is worth nothing either
			for len(cloud.requests()) < asked+2 {
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
		if n := cloud.signInCount() - signIns; n != 2 {
			t.Errorf("%d new tokens within %s, want 2", n, youngToken)
		}
		if n := len(cloud.requests()) - asked; n != 102 {
			t.Errorf("%d requests for 100 calls, want 102", n)
		}
		clk.Step(youngToken)
	}
}

// reread is a configuration that tests change.
type reread struct {
	mu  sync.Mutex
	cfg config.Global
	err error
}

func (r *reread) load() (config.Global, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cfg, r.err
}

func (r *reread) set(change func(*reread)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

// onlyPassword makes the cloud's Keystone take one password, for a project.
func onlyPassword(cloud *fakeCloud, password, project string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given := fmt.Sprint(cloud.signIns[len(cloud.signIns)-1])
		if !strings.Contains(given, "password:"+password) {
			refusing(w, r)
			return
		}
		cloud.issued++
		id := fmt.Sprintf("token-%d", cloud.issued)
		cloud.valid[id] = true
		w.Header().Set("X-Subject-Token", id)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"token":{"project":{"id":%q},"catalog":[{"type":"compute","endpoints":[{"interface":"public","region":"RegionOne","url":%q}]}]}}`,
			project, cloud.URL+"/compute/v2.1")
	}
}

// The password was changed and the Secret with it: no restart is needed.
//
//proves:94
func TestNewCredentialsAreTakenOverWhenTheOldAreRefused(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	clk := clocktesting.NewFakeClock(time.Now())
	cloud.clock = clk
	file := &reread{cfg: cloud.config()}
	s := cloud.session(t, cloud.config(), SessionOptions{Clock: clk, Reread: file.load})
	if err := s.Refused(); err != nil {
		t.Fatal(err)
	}
	cloud.revokeAll()
	cloud.set(func() { cloud.keystone = onlyPassword(cloud, "n3w", "project-1") })
	if err := getServer(s); apierror.StatusCode(err) != 401 {
		t.Fatalf("with the old password: %v", err)
	}
	if err := s.Refused(); err == nil || !strings.Contains(err.Error(), "Keystone answered 401") {
		t.Errorf("refused: %v", err)
	}

	file.set(func(r *reread) { r.err = errors.New("the Secret is being written") })
	clk.Step(longestSignInPause)
	eventually(t, "another try with the old password", func() bool { return cloud.signInCount() == 3 && clk.HasWaiters() })

	file.set(func(r *reread) { r.err = nil; r.cfg.Password = "n3w" })
	clk.Step(longestSignInPause)
	eventually(t, "a token", func() bool { return s.tokens.current.Load().id == "token-2" })
	if err := getServer(s); err != nil || s.Refused() != nil {
		t.Errorf("with the new password: %v, refused: %v", err, s.Refused())
	}
	if cloud.signInCount() != 4 {
		t.Errorf("%d token requests, want 4: the new password is tried at once", cloud.signInCount())
	}
}

// The Secret had the new password before the first refusal.
func TestRotatedCredentialsCostOneRefusal(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	file := &reread{cfg: cloud.config()}
	s := cloud.session(t, cloud.config(), SessionOptions{Reread: file.load})
	file.set(func(r *reread) { r.cfg.Password = "n3w" })
	cloud.revokeAll()
	cloud.set(func() { cloud.keystone = onlyPassword(cloud, "n3w", "project-1") })
	if err := getServer(s); err != nil || s.Refused() != nil || cloud.signInCount() != 3 {
		t.Errorf("%d token requests, refused %v: %v", cloud.signInCount(), s.Refused(), err)
	}
}

func TestCredentialsOfAnotherProjectAreNotTakenOver(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	file := &reread{cfg: cloud.config()}
	s := cloud.session(t, cloud.config(), SessionOptions{Reread: file.load})
	file.set(func(r *reread) { r.cfg.Password = "n3w" })
	cloud.revokeAll()
	cloud.set(func() { cloud.keystone = onlyPassword(cloud, "n3w", "project-2") })
	err := getServer(s)
	var other *apierror.OtherProjectError
	if !errors.As(err, &other) || other.Given != "project-2" || s.ProjectID() != "project-1" || s.Refused() == nil {
		t.Errorf("project %s, refused %v: %v", s.ProjectID(), s.Refused(), err)
	}
	if asked := len(cloud.requests()); asked != 1 {
		t.Errorf("%d requests, want none in the other project", asked)
	}
}

func TestNewTokenInTheConfigurationIsTakenOver(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	clk := clocktesting.NewFakeClock(time.Now())
	cloud.clock = clk
	cfg := config.Global{AuthURL: cloud.URL, Token: "given"}
	file := &reread{cfg: cfg}
	s := cloud.session(t, cfg, SessionOptions{Clock: clk, Reread: file.load})
	eventually(t, "the end of the token is awaited", clk.HasWaiters)
	clk.Step(time.Hour)
	eventually(t, "the end of the token is told", func() bool { return s.Refused() != nil })
	file.set(func(r *reread) { r.cfg.Token = "another" })
	eventually(t, "the next look is awaited", clk.HasWaiters)
	clk.Step(longestSignInPause)
	eventually(t, "the new token", func() bool { return s.tokens.current.Load().id == "another" })
	if cloud.signInCount() != 2 || s.Refused() != nil {
		t.Errorf("%d token requests, want 2; refused: %v", cloud.signInCount(), s.Refused())
	}
}

// An outage says nothing about the credentials.
func TestOutageIsNoRefusal(t *testing.T) {
	t.Parallel()
	for name, keystone := range map[string]http.HandlerFunc{
		"error": answer(500), "gateway": answer(502), "overload": answer(429), "a proxy's 404": answer(404),
	} {
		cloud := newFakeCloud(t)
		s, _ := renewedInTime(t, cloud)
		cloud.revokeAll()
		cloud.set(func() { cloud.keystone = keystone })
		if err := getServer(s); err == nil || s.Refused() != nil {
			t.Errorf("%s: refused %v: %v", name, s.Refused(), err)
		}
	}
}

// A token without an end, once, does not stop the renewals.
func TestTokenWithoutExpiryIsRenewedAsWell(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	cloud.keystone = onlyPassword(cloud, "pa55word", "project-1")
	s, clk := renewedInTime(t, cloud)
	for n := range 3 {
		clk.Step(unknownLife)
		eventually(t, "the next token", func() bool { return s.tokens.current.Load().id == fmt.Sprintf("token-%d", n+2) && clk.HasWaiters() })
	}
}

// The tokens of an application credential live no longer than it does.
func TestRenewalsHaveAFloor(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	var short token
	short.setLife(asked, asked, asked.Add(2*time.Second))
	if age := short.renewAt.Sub(asked); age != minRenewal {
		t.Errorf("renewed in the background after %s, want %s", age, minRenewal)
	}
}
