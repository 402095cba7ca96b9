package auth

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

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
func onlyPassword(cloud *fakecloud.Cloud, password, project string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given := fmt.Sprint(cloud.SignIns[len(cloud.SignIns)-1])
		if !strings.Contains(given, "password:"+password) {
			refusing(w, r)
			return
		}
		cloud.Issued++
		id := fmt.Sprintf("token-%d", cloud.Issued)
		cloud.Valid[id] = true
		w.Header().Set("X-Subject-Token", id)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"token":{"project":{"id":%q},"catalog":[{"type":"compute","endpoints":[{"interface":"public","region":"RegionOne","url":%q}]}]}}`,
			project, cloud.URL+"/compute/v2.1")
	}
}

// The password was changed and the Secret with it: no restart is needed.
//
//proves:94
func TestReread_TakesNewCredentialsWhenOldAreRefused(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	clk := newWatchedClock()
	cloud.Clock = clk
	file := &reread{cfg: cloud.Config()}
	s := signedIn(t, cloud.Config(), testOptions{Clock: clk, Reread: file.load})
	if err := s.Refused(); err != nil {
		t.Fatal(err)
	}
	cloud.RevokeAll()
	cloud.Set(func() { cloud.Keystone = onlyPassword(cloud, "n3w", "project-1") })
	if err := getServer(s); apierror.StatusCode(err) != 401 {
		t.Fatalf("with the old password: %v", err)
	}
	if err := s.Refused(); err == nil || !strings.Contains(err.Error(), "Keystone answered 401") {
		t.Errorf("refused: %v", err)
	}

	file.set(func(r *reread) { r.err = errors.New("the Secret is being written") })
	clk.awaitTimer(t, longestSignInPause)
	clk.Step(longestSignInPause)
	await.Condition(t, "another try with the old password", func() bool { return cloud.SignInCount() == 3 && clk.HasWaiters() })

	file.set(func(r *reread) { r.err = nil; r.cfg.Password = "n3w" })
	clk.awaitTimer(t, longestSignInPause)
	clk.Step(longestSignInPause)
	await.Condition(t, "a token", func() bool { return s.tokens.current.Load().id == "token-2" })
	if err := getServer(s); err != nil || s.Refused() != nil {
		t.Errorf("with the new password: %v, refused: %v", err, s.Refused())
	}
	if cloud.SignInCount() != 4 {
		t.Errorf("%d token requests, want 4: the new password is tried at once", cloud.SignInCount())
	}
}

// The Secret had the new password before the first refusal.
func TestReread_CostsOneRefusal(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	file := &reread{cfg: cloud.Config()}
	s := signedIn(t, cloud.Config(), testOptions{Reread: file.load})
	file.set(func(r *reread) { r.cfg.Password = "n3w" })
	cloud.RevokeAll()
	cloud.Set(func() { cloud.Keystone = onlyPassword(cloud, "n3w", "project-1") })
	if err := getServer(s); err != nil || s.Refused() != nil || cloud.SignInCount() != 3 {
		t.Errorf("%d token requests, refused %v: %v", cloud.SignInCount(), s.Refused(), err)
	}
}

// The configuration leads to another cloud, and the token ends before the session is replaced.
func TestReread_SendsNoCredentialsOfAnotherKeystone(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"another host": "http://keystone.invalid/v3", "another path": "/identity-two/v3", "another scheme": "https://keystone.invalid/v3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := fakecloud.New(t)
			file := &reread{cfg: cloud.Config()}
			s := signedIn(t, cloud.Config(), testOptions{Reread: file.load})
			if strings.HasPrefix(url, "/") {
				url = cloud.URL + url
			}
			file.set(func(r *reread) { r.cfg.AuthURL, r.cfg.Password = url, "n3w" })
			cloud.RevokeAll()
			cloud.Set(func() { cloud.Keystone = onlyPassword(cloud, "n3w", "project-1") })
			if err := getServer(s); apierror.StatusCode(err) != 401 {
				t.Errorf("got %v", err)
			}
			if given := fmt.Sprint(cloud.SignIns); strings.Contains(given, "n3w") {
				t.Errorf("the old Keystone has got %s", given)
			}
		})
	}
}

func TestReread_RefusesCredentialsOfAnotherProject(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	file := &reread{cfg: cloud.Config()}
	s := signedIn(t, cloud.Config(), testOptions{Reread: file.load})
	file.set(func(r *reread) { r.cfg.Password = "n3w" })
	cloud.RevokeAll()
	cloud.Set(func() { cloud.Keystone = onlyPassword(cloud, "n3w", "project-2") })
	err := getServer(s)
	var other *apierror.OtherProjectError
	if !errors.As(err, &other) || other.Given != "project-2" || s.ProjectID() != "project-1" || s.Refused() == nil {
		t.Errorf("project %s, refused %v: %v", s.ProjectID(), s.Refused(), err)
	}
	if asked := len(cloud.Requests()); asked != 1 {
		t.Errorf("%d requests, want none in the other project", asked)
	}
}

func TestReread_TakesNewTokenOfConfiguration(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	clk := clocktesting.NewFakeClock(time.Now())
	cloud.Clock = clk
	cfg := config.Global{AuthURL: cloud.URL, Token: "given"}
	file := &reread{cfg: cfg}
	s := signedIn(t, cfg, testOptions{Clock: clk, Reread: file.load})
	await.Condition(t, "the end of the token is awaited", clk.HasWaiters)
	clk.Step(time.Hour)
	await.Condition(t, "the end of the token is told", func() bool { return s.Refused() != nil })
	file.set(func(r *reread) { r.cfg.Token = "another" })
	await.Condition(t, "the next look is awaited", clk.HasWaiters)
	clk.Step(longestSignInPause)
	await.Condition(t, "the new token", func() bool { return s.tokens.current.Load().id == "another" })
	if cloud.SignInCount() != 2 || s.Refused() != nil {
		t.Errorf("%d token requests, want 2; refused: %v", cloud.SignInCount(), s.Refused())
	}
}
