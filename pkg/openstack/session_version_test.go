package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

func serveVersion(id string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"versions":[{"id":"v2.0","status":"SUPPORTED"},{"id":%q,"status":"CURRENT"}]}`, id)
	}
}

func TestLoadBalancerVersion_CostsOneRequestPerAge(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	cloud.Services = serveVersion("v2.26")
	clk := clocktesting.NewFakeClock(time.Now())
	s := newSession(t, cloud.Config(), SessionOptions{Clock: clk, VersionAge: 10 * time.Minute})

	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if v, err := s.LoadBalancerVersion(context.Background()); err != nil || v != (model.Version{Major: 2, Minor: 26}) {
				t.Errorf("%v, %v", v, err)
			}
		})
	}
	all.Wait()
	served := cloud.Requests()
	if len(served) != 1 || served[0].Path != "/load-balancer/" || served[0].Token != "token-1" {
		t.Fatalf("requests %+v; want one for the root, signed", served)
	}

	cloud.Set(func() { cloud.Services = serveVersion("v2.30") })
	clk.Step(9 * time.Minute)
	if v, err := s.LoadBalancerVersion(context.Background()); err != nil || v != (model.Version{Major: 2, Minor: 26}) {
		t.Errorf("within the age: %v, %v", v, err)
	}
	clk.Step(2 * time.Minute)
	if v, err := s.LoadBalancerVersion(context.Background()); err != nil || v != (model.Version{Major: 2, Minor: 30}) {
		t.Errorf("after the age: %v, %v", v, err)
	}
}

// An old answer must not stand in for one that cannot be had.
func TestLoadBalancerVersion_FailsInsteadOfReturningOldAnswer(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	cloud.Services = serveVersion("v2.26")
	clk := clocktesting.NewFakeClock(time.Now())
	s := newSession(t, cloud.Config(), SessionOptions{Clock: clk, Retry: transport.RetryPolicy{Attempts: 1}})
	if _, err := s.LoadBalancerVersion(context.Background()); err != nil {
		t.Fatal(err)
	}
	clk.Step(11 * time.Minute)
	cloud.Set(func() { cloud.Services = fakecloud.Answer(503) })
	v, err := s.LoadBalancerVersion(context.Background())
	if v != (model.Version{}) || apierror.StatusCode(err) != 503 {
		t.Errorf("%v, %v; want none and a 503", v, err)
	}
	cloud.Set(func() { cloud.Services = serveVersion("v2.26") })
	if v, err := s.LoadBalancerVersion(context.Background()); err != nil || v != (model.Version{Major: 2, Minor: 26}) {
		t.Errorf("the error was kept: %v, %v", v, err)
	}
}

func TestLoadBalancerVersion_OutlivesFirstCaller(t *testing.T) {
	t.Parallel()
	arrived, proceed := make(chan struct{}), make(chan struct{})
	cloud := fakecloud.New(t)
	cloud.Services = func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-proceed
		serveVersion("v2.26")(w, r)
	}
	s := newSession(t, cloud.Config(), SessionOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan error)
	go func() {
		_, err := s.LoadBalancerVersion(ctx)
		first <- err
	}()
	<-arrived
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled caller got %v", err)
	}
	close(proceed)
	if v, err := s.LoadBalancerVersion(context.Background()); err != nil || v != (model.Version{Major: 2, Minor: 26}) {
		t.Errorf("%v, %v", v, err)
	}
	if n := len(cloud.Requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// behind answers the root document, the versioned root and lists.
func behind(root, versioned, lists http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/load-balancer/":
			root(w, r)
		case "/load-balancer/v2.0/":
			versioned(w, r)
		default:
			lists(w, r)
		}
	}
}

// Behind a gateway, or at a path of its own, Octavia may refuse to tell its version.
// Services are served all the same, with what every Octavia can do.
func TestLoadBalancerVersion_IsOldestWhereOctaviaHidesIt(t *testing.T) {
	t.Parallel()
	one := fakecloud.AnswerBody(200, `{"loadbalancers":[]}`)
	for name, test := range map[string]struct {
		services http.HandlerFunc
		want     model.Version
		status   int
	}{
		"401":                        {behind(fakecloud.Answer(401), fakecloud.Answer(401), one), model.OldestVersion, 0},
		"403":                        {behind(fakecloud.Answer(403), fakecloud.Answer(403), one), model.OldestVersion, 0},
		"404":                        {behind(fakecloud.Answer(404), fakecloud.AnswerBody(200, `"v2"`), one), model.OldestVersion, 0},
		"a portal's page":            {behind(fakecloud.AnswerBody(200, "<html>"), fakecloud.Answer(404), one), model.OldestVersion, 0},
		"nothing known":              {behind(fakecloud.AnswerBody(200, `{"versions":[{"id":"next","status":"CURRENT"}]}`), fakecloud.Answer(404), one), model.OldestVersion, 0},
		"below the version":          {behind(fakecloud.Answer(404), serveVersion("v2.26"), one), model.Version{Major: 2, Minor: 26}, 0},
		"nothing works":              {behind(fakecloud.Answer(403), fakecloud.Answer(403), fakecloud.Answer(403)), model.Version{}, 403},
		"a proxy without the server": {behind(fakecloud.Answer(404), fakecloud.Answer(404), fakecloud.Answer(404)), model.Version{}, 404},
		"out of order":               {behind(fakecloud.Answer(500), serveVersion("v2.26"), one), model.Version{}, 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := fakecloud.New(t)
			cloud.Services = test.services
			s := newSession(t, cloud.Config(), SessionOptions{Retry: transport.RetryPolicy{Attempts: 1}})
			v, err := s.LoadBalancerVersion(context.Background())
			if v != test.want || apierror.StatusCode(err) != test.status || (err != nil) != (test.status != 0) {
				t.Errorf("%v, status %d, want %v and %d: %v", v, apierror.StatusCode(err), test.want, test.status, err)
			}
		})
	}
}

func TestLoadBalancerVersion_IsReadAgainWhereItIsHiddenOnce(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	var asked atomic.Int32
	root := func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			fakecloud.Answer(403)(w, r)
			return
		}
		serveVersion("v2.26")(w, r)
	}
	cloud.Services = behind(root, fakecloud.Answer(404), fakecloud.AnswerBody(200, `{"loadbalancers":[]}`))
	s := newSession(t, cloud.Config(), SessionOptions{})
	if v, err := s.LoadBalancerVersion(context.Background()); err != nil || v != (model.Version{Major: 2, Minor: 26}) {
		t.Errorf("%v, %v", v, err)
	}
}

// A service that gives no (whole) answer at its root has not refused to report its version, even if lists
// are answered.
func TestLoadBalancerVersion_IsNoGuessWhereThereIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, root := range map[string]http.HandlerFunc{
		"none": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"half of one": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"versions":[{"id":"v2.26",`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := fakecloud.New(t)
			cloud.Services = behind(root, root, fakecloud.AnswerBody(200, `{"loadbalancers":[]}`))
			s := newSession(t, cloud.Config(), SessionOptions{Retry: transport.RetryPolicy{Attempts: 1}})
			v, err := s.LoadBalancerVersion(context.Background())
			var silent *apierror.NoAnswerError
			if v != (model.Version{}) || !errors.As(err, &silent) {
				t.Errorf("%v, %v; want none and no answer", v, err)
			}
		})
	}
}

// Where the root has no version document, the other places have to be without one as definitely.
func TestLoadBalancerVersion_IsNoGuessWhereOnlyTheRootIsHidden(t *testing.T) {
	t.Parallel()
	hidden, lists := fakecloud.Answer(404), fakecloud.AnswerBody(200, `{"loadbalancers":[]}`)
	drop := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	var asked atomic.Int32
	secondly := func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			hidden(w, r)
			return
		}
		fakecloud.Answer(503)(w, r)
	}
	for name, services := range map[string]http.HandlerFunc{
		"no answer below the version": behind(hidden, drop, lists),
		"503 below the version":       behind(hidden, fakecloud.Answer(503), lists),
		"503 when it is asked again":  behind(secondly, hidden, lists),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := fakecloud.New(t)
			cloud.Services = services
			s := newSession(t, cloud.Config(), SessionOptions{Retry: transport.RetryPolicy{Attempts: 1}})
			if v, err := s.LoadBalancerVersion(context.Background()); v != (model.Version{}) || err == nil {
				t.Errorf("%v, %v; want none and an error", v, err)
			}
		})
	}
}

// What was named below the version is as well known as what the root has named.
func TestLoadBalancerVersion_FailsWhereTheOtherPlaceHidesKnownVersion(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	lists := fakecloud.AnswerBody(200, `{"loadbalancers":[]}`)
	cloud.Services = behind(fakecloud.Answer(404), serveVersion("v2.26"), lists)
	clk := clocktesting.NewFakeClock(time.Now())
	s := newSession(t, cloud.Config(), SessionOptions{Clock: clk, VersionAge: time.Minute})
	for range 2 {
		if v, err := s.LoadBalancerVersion(context.Background()); err != nil || v != (model.Version{Major: 2, Minor: 26}) {
			t.Fatalf("%v, %v", v, err)
		}
		clk.Step(2 * time.Minute)
	}
	cloud.Set(func() { cloud.Services = behind(fakecloud.Answer(404), fakecloud.Answer(404), lists) })
	if v, err := s.LoadBalancerVersion(context.Background()); v != (model.Version{}) || apierror.StatusCode(err) != 404 {
		t.Errorf("%v, %v; want none and the 404", v, err)
	}
}

// An Octavia that has reported its version and refuses to later is broken, not older.
func TestLoadBalancerVersion_FailsWhereOctaviaHidesKnownVersion(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	cloud.Services = serveVersion("v2.26")
	clk := clocktesting.NewFakeClock(time.Now())
	s := newSession(t, cloud.Config(), SessionOptions{Clock: clk, VersionAge: time.Minute})
	if _, err := s.LoadBalancerVersion(context.Background()); err != nil {
		t.Fatal(err)
	}
	clk.Step(2 * time.Minute)
	cloud.Set(func() {
		cloud.Services = behind(fakecloud.Answer(404), fakecloud.Answer(404), fakecloud.AnswerBody(200, `{"loadbalancers":[]}`))
	})
	if v, err := s.LoadBalancerVersion(context.Background()); v != (model.Version{}) || apierror.StatusCode(err) != 404 {
		t.Errorf("%v, %v; want none and the 404", v, err)
	}
}

func TestLoadBalancerVersion_IsNotAskedForWhenConfigured(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s := newSession(t, cloud.Config(), SessionOptions{LoadBalancerVersion: model.Version{Major: 2, Minor: 20}})
	if v, err := s.LoadBalancerVersion(context.Background()); err != nil || v != (model.Version{Major: 2, Minor: 20}) || len(cloud.Requests()) != 0 {
		t.Errorf("%v, %d requests: %v", v, len(cloud.Requests()), err)
	}
}
