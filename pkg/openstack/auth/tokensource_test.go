package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

// watchedClock is a fake clock that knows when the timer ends that was made last.
type watchedClock struct {
	*clocktesting.FakeClock
	end atomic.Pointer[time.Time]
}

func newWatchedClock() *watchedClock {
	return &watchedClock{FakeClock: clocktesting.NewFakeClock(time.Now())}
}

// NewTimer implements clock.Clock.
func (c *watchedClock) NewTimer(d time.Duration) clock.Timer {
	timer, end := c.FakeClock.NewTimer(d), c.Now().Add(d)
	c.end.Store(&end)
	return timer
}

// awaitTimer waits until the timer that was made last ends after so long. One that is made after a
// step of the clock does not know of it.
func (c *watchedClock) awaitTimer(t *testing.T, d time.Duration) {
	t.Helper()
	await.Condition(t, "a timer of "+d.String(), func() bool {
		end := c.end.Load()
		return end != nil && end.Equal(c.Now().Add(d))
	})
}

// renewedInTime signs in with a fake clock that tests step.
func renewedInTime(t *testing.T, cloud *fakecloud.Cloud) (*Session, *watchedClock) {
	t.Helper()
	clk := newWatchedClock()
	cloud.Clock = clk
	s := signedIn(t, cloud.Config(), testOptions{Clock: clk, Retry: transport.RetryPolicy{Attempts: 1}})
	await.Condition(t, "the renewal waits", clk.HasWaiters)
	return s, clk
}

func TestRenewal_ComesBeforeExpiry(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s, clk := renewedInTime(t, cloud)
	clk.Step(50 * time.Minute)
	if err := getServer(s); err != nil || cloud.SignInCount() != 1 {
		t.Fatalf("after 50 of 60 minutes: %d token requests, %v", cloud.SignInCount(), err)
	}
	clk.Step(2 * time.Minute)
	await.Condition(t, "a second token", func() bool { return s.tokens.current.Load().id == "token-2" })
	if err := getServer(s); err != nil {
		t.Fatal(err)
	}
	served := cloud.Requests()
	if got := served[len(served)-1].Token; got != "token-2" || len(served) != 2 {
		t.Errorf("sent %q in %d requests; want the second token, and none refused", got, len(served))
	}
	for n := range 3 { // and so on
		await.Condition(t, "the next renewal waits", clk.HasWaiters)
		clk.Step(52 * time.Minute)
		await.Condition(t, "the next token", func() bool { return s.tokens.current.Load().id == fmt.Sprintf("token-%d", n+3) })
	}
}

// While Keystone is out of order the old token goes on as long as it lives.
func TestRenewal_HoldsUpNobodyWhileItFails(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s, clk := renewedInTime(t, cloud)
	cloud.Set(func() { cloud.Keystone = fakecloud.Answer(503) })
	clk.Step(52 * time.Minute)
	await.Condition(t, "a failed renewal", func() bool { return cloud.SignInCount() == 2 && clk.HasWaiters() })
	if err := getServer(s); err != nil {
		t.Errorf("with the old token: %v", err)
	}
	clk.Step(2 * time.Second)
	await.Condition(t, "another try", func() bool { return cloud.SignInCount() == 3 && clk.HasWaiters() })
	cloud.Set(func() { cloud.Keystone = nil })
	clk.Step(4 * time.Second)
	await.Condition(t, "a new token", func() bool { return s.tokens.current.Load().id == "token-2" })
}

// A process that slept through the renewal asks before it sends.
func TestToken_IsNotSentOnceExpired(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s, clk := renewedInTime(t, cloud)
	clk.Step(2 * time.Hour)
	if err := getServer(s); err != nil {
		t.Fatal(err)
	}
	for _, r := range cloud.Requests() {
		if r.Token != "token-2" {
			t.Errorf("sent %q", r.Token)
		}
	}
}

func TestToken_IsReplacedAfterRevocationAndWriteSentAgain(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	cloud.Services = fakecloud.Answer(201)
	s := signedIn(t, cloud.Config(), testOptions{})
	cloud.RevokeAll()
	client, _ := s.LoadBalancer(context.Background())
	body := map[string]any{"loadbalancer": map[string]any{"name": "a"}}
	if _, err := client.Post(context.Background(), client.ServiceURL("lbaas", "loadbalancers"), body, nil, nil); err != nil {
		t.Fatal(err)
	}
	served := cloud.Requests()
	if len(served) != 2 || served[1].Token != "token-2" || served[1].Body != served[0].Body || served[0].Body == "" {
		t.Errorf("requests %+v; want the same once more with a new token", served)
	}
}

func TestToken_IsReplacedOnceForManyAfterRevocation(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s, clk := renewedInTime(t, cloud)
	for round := range 3 {
		clk.Step(youngToken) // a young one is not replaced time and again
		cloud.RevokeAll()
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				if err := getServer(s); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if want := round + 2; cloud.SignInCount() != want {
			t.Fatalf("%d token requests, want %d", cloud.SignInCount(), want)
		}
	}
}

// A token that Keystone issues in the second of a revocation is invalid too, regardless of the
// number of requests that notice it.
func TestToken_IsReplacedOnceForManyInSecondOfRevocation(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s, clk := renewedInTime(t, cloud)
	clk.Step(youngToken)
	cloud.RevokeAll()
	if err := getServer(s); err != nil {
		t.Fatal(err)
	}
	cloud.RevokeAll()
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if err := getServer(s); err != nil {
				t.Error(err)
			}
		})
	}
	await.Condition(t, "all refused", func() bool { return len(cloud.Requests()) == 2+40 })
	if cloud.SignInCount() != 2 {
		t.Errorf("%d token requests within the second, want 2", cloud.SignInCount())
	}
	await.Condition(t, "a token of another second", func() bool {
		clk.Step(issueResolution)
		return cloud.SignInCount() == 3
	})
	all.Wait()
	if cloud.SignInCount() != 3 {
		t.Errorf("%d token requests, want 3", cloud.SignInCount())
	}
}

// The caller that happens to ask for the new token may give up; the others and the
// token do not depend on it.
func TestRenewal_OutlivesFirstCaller(t *testing.T) {
	t.Parallel()
	arrived, proceed := make(chan struct{}), make(chan struct{})
	cloud := fakecloud.New(t)
	s := signedIn(t, cloud.Config(), testOptions{})
	stale := s.tokens.current.Load()
	issue := s.tokens.issue
	s.tokens.issue = func(ctx context.Context) (*token, error) {
		close(arrived)
		<-proceed
		return issue(ctx)
	}
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan error)
	go func() {
		_, err := s.tokens.renew(ctx, stale)
		first <- err
	}()
	<-arrived
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) || apierror.IsUnsure(err) {
		t.Errorf("the cancelled caller got %v", err)
	}
	close(proceed)
	if fresh, err := s.tokens.renew(context.Background(), stale); err != nil || fresh.id != "token-2" {
		t.Errorf("%v, %v", fresh, err)
	}
}

func TestSignIn_IsTriedOnceWithRefusedCredentials(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s := signedIn(t, cloud.Config(), testOptions{})
	cloud.RevokeAll()
	cloud.Set(func() { cloud.Keystone = fakecloud.Answer(401) })
	err := getServer(s)
	var auth *apierror.AuthenticationError
	if !errors.As(err, &auth) || apierror.StatusCode(err) != 401 || apierror.IsUnsure(err) || apierror.IsNotFound(err) {
		t.Errorf("status %d: %v", apierror.StatusCode(err), err)
	}
	if cloud.SignInCount() != 2 || len(cloud.Requests()) != 1 {
		t.Errorf("%d token requests, %d others; want 2 and 1", cloud.SignInCount(), len(cloud.Requests()))
	}
}

func TestToken_IsReplacedTwiceAtMostForOneRequest(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	cloud.Services = fakecloud.Answer(401)
	err := getServer(signedIn(t, cloud.Config(), testOptions{}))
	if apierror.StatusCode(err) != 401 || len(cloud.Requests()) != 3 || cloud.SignInCount() != 3 {
		t.Errorf("%d requests, %d sign-ins: %v", len(cloud.Requests()), cloud.SignInCount(), err)
	}
}

// A wrong path in Keystone's proxy must not make load balancers look deleted.
func TestErrors_HideNotFoundOfKeystone(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s := signedIn(t, cloud.Config(), testOptions{})
	cloud.RevokeAll()
	cloud.Set(func() { cloud.Keystone = fakecloud.Answer(404) })
	if err := getServer(s); err == nil || apierror.IsNotFound(err) {
		t.Errorf("not found: %v", err)
	}
}

func TestToken_ReportsThatBareOneCannotBeRenewed(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	cloud.Clock = clk
	s := signedIn(t, config.Global{AuthURL: cloud.URL, Token: "given"}, testOptions{Clock: clk})
	clk.Step(55 * time.Minute)
	cloud.RevokeAll()
	err := getServer(s)
	var expired *apierror.TokenExpiredError
	if !errors.As(err, &expired) || !expired.At.IsZero() || !strings.Contains(err.Error(), "was refused") {
		t.Errorf("revoked: %v", err)
	}
	clk.Step(10 * time.Minute)
	err = apierror.Wrap(getServer(s), "read server 1")
	const want = "read server 1: not signed in: the token in the configuration expired at 2026-01-01T13:00:00Z " +
		"and cannot be renewed: give a new one, or a password or application credential"
	if err == nil || err.Error() != want {
		t.Errorf("expired:\n got %v\nwant %s", err, want)
	}
	if cloud.SignInCount() != 1 {
		t.Errorf("%d token requests, want the first only", cloud.SignInCount())
	}
}
