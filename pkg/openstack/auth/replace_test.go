package auth

import (
	"errors"
	"net/http"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

// A password that was changed in cloud.conf is used before the old one is refused, and the
// token of the old one until then: no request is refused for it.
//
//proves:94
func TestReplace_TakesOtherCredentialsWithoutARefusedRequest(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	clk := clocktesting.NewFakeClock(time.Now())
	cloud.Clock = clk
	s := signedIn(t, cloud.Config(), testOptions{Clock: clk})
	cloud.Set(func() { cloud.Keystone = onlyPassword(cloud, "n3w", "project-1") })
	cfg := cloud.Config()
	cfg.Password = "n3w"
	other, err := s.Try(t.Context(), cfg, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	if err := getServer(s); err != nil {
		t.Errorf("while the other credentials are tried: %v", err)
	}
	s.Use(other)
	cloud.Set(func() { delete(cloud.Valid, "token-1") })
	if err := getServer(s); err != nil {
		t.Errorf("with the other credentials: %v", err)
	}
	if cloud.SignInCount() != 2 {
		t.Errorf("%d token requests, want 2", cloud.SignInCount())
	}
	for _, request := range cloud.Requests() {
		if request.Token != "token-1" && request.Token != "token-2" {
			t.Errorf("a request with token %q", request.Token)
		}
	}
	await.Condition(t, "the end of the token is awaited", clk.HasWaiters)
	clk.Step(time.Hour)
	await.Condition(t, "a renewal with the other credentials", func() bool { return s.tokens.current.Load().id == "token-3" })
}

//proves:94
func TestReplace_ChangesNothingWhenRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		password, project string
		other             bool
	}{
		"a wrong password": {"wr0ng", "project-1", false},
		"another project":  {"n3w", "project-2", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := fakecloud.New(t)
			s := signedIn(t, cloud.Config(), testOptions{})
			cloud.Set(func() { cloud.Keystone = onlyPassword(cloud, "n3w", test.project) })
			cfg := cloud.Config()
			cfg.Password = test.password
			_, err := s.Try(t.Context(), cfg, http.DefaultTransport)
			var other *apierror.OtherProjectError
			if !apierror.IsCredentialsRefused(err) || errors.As(err, &other) != test.other {
				t.Errorf("got %v", err)
			}
			if err := getServer(s); err != nil || s.Refused() != nil || s.ProjectID() != "project-1" {
				t.Errorf("project %s, refused %v: %v", s.ProjectID(), s.Refused(), err)
			}
		})
	}
}

// A sign-in that failed before is no reason to wait once there are credentials that work.
func TestReplace_EndsTheWaitAfterARefusal(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	clk := clocktesting.NewFakeClock(time.Now())
	cloud.Clock = clk
	s := signedIn(t, cloud.Config(), testOptions{Clock: clk})
	cloud.RevokeAll()
	cloud.Set(func() { cloud.Keystone = onlyPassword(cloud, "n3w", "project-1") })
	if err := getServer(s); err == nil || s.Refused() == nil {
		t.Fatalf("with the old password: %v", err)
	}
	cfg := cloud.Config()
	cfg.Password = "n3w"
	other, err := s.Try(t.Context(), cfg, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	s.Use(other)
	if err := getServer(s); err != nil || s.Refused() != nil {
		t.Errorf("refused %v: %v", s.Refused(), err)
	}
}
