package cloudprovider

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// Every Service is synced, because only a round finds out which ones a change affects.
//
//proves:94
func TestReconfigure_SyncsAllServicesThatAreManaged(t *testing.T) {
	t.Parallel()
	e, clk := &engine{}, clocktesting.NewFakeClock(time.Now())
	var apply func(*config.Config) error
	following := make(chan struct{})
	p := startedWith(t, Options{
		Client:           fake.NewClientset(kubeSystem(), publishedService("one"), publishedService("two"), service("unmanaged")),
		NewLoadBalancers: func(string, Newest) (LoadBalancers, error) { return e, nil },
		Follow:           followWith(&apply, following), Clock: clk, Recorder: record.NewFakeRecorder(10),
	})
	balancer(t, p)
	<-following
	changed := &config.Config{}
	if err := apply(changed); err != nil {
		t.Fatal(err)
	}
	await.Condition(t, "both are repaired", func() bool {
		clk.Step(time.Second)
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.calls) >= 2
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Equal(e.calls, []string{"repair", "repair"}) || !slices.Equal(e.configurations, []*config.Config{changed}) {
		t.Errorf("called %v with configurations %v", e.calls, e.configurations)
	}
}

//proves:94
func TestReconfigure_RefusesWhatWouldHaveServicesRefused(t *testing.T) {
	t.Parallel()
	e := &engine{}
	var apply func(*config.Config) error
	following := make(chan struct{})
	startedWith(t, Options{
		Client:           fake.NewClientset(kubeSystem()),
		NewLoadBalancers: func(string, Newest) (LoadBalancers, error) { return e, nil },
		Follow:           followWith(&apply, following),
	})
	<-following
	for want, conf := range map[string]*config.Config{
		"wrong section": {Refused: config.Refused{LoadBalancers: []error{errors.New("wrong section")}}},
		"wrong class":   {Refused: config.Refused{Classes: map[string][]error{"a": {errors.New("wrong class")}}}},
		"no-such":       {LoadBalancer: config.LoadBalancer{DenyAnnotations: "no-such"}},
	} {
		if err := apply(conf); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if len(e.configurations) > 0 {
		t.Errorf("the engine has %v", e.configurations)
	}
}

// A standby reads cloud.conf too, and uses it when it becomes the leader.
func TestReconfigure_OfAStandbyCountsWhenItLeads(t *testing.T) {
	t.Parallel()
	e := &engine{}
	var apply func(*config.Config) error
	following := make(chan struct{})
	p := New(t.Context(), Options{
		Client:           fake.NewClientset(kubeSystem()),
		NewLoadBalancers: func(string, Newest) (LoadBalancers, error) { return e, nil },
		Follow:           followWith(&apply, following),
		Stop:             func(err error) { t.Errorf("stopped: %v", err) },
	})
	<-following
	changed := &config.Config{}
	if err := apply(changed); err != nil {
		t.Fatal(err)
	}
	p.Initialize(nil, t.Context().Done())
	balancer(t, p)
	if !slices.Equal(e.configurations, []*config.Config{changed}) {
		t.Errorf("the engine has %v", e.configurations)
	}
}

// This test covers the whole way from the file to the cloud: another password is used while the old
// one is valid, and a wrong one is refused, without a restart.
//
//proves:94
func TestConnect_FollowsCloudConf(t *testing.T) {
	t.Parallel()
	cloud, c := connection(t, func(*config.Config) {})
	clk, recorder := clocktesting.NewFakeClock(time.Now()), record.NewFakeRecorder(10)
	path, text := filepath.Join(t.TempDir(), "cloud.conf"), cloud.CloudConf()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	c.Reread = func() (*config.Config, []config.Warning, error) { return config.LoadFile(path, nil) }
	var err error
	if c.Config, _, err = c.Reread(); err != nil {
		t.Fatal(err)
	}
	c.Clock, c.Recorder = clk, recorder
	p, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	told := func(want string) {
		t.Helper()
		await.Condition(t, want, func() bool {
			clk.Step(time.Second)
			select {
			case event := <-recorder.Events:
				if !strings.Contains(event, want) || strings.Contains(event, "wr0ng") {
					t.Errorf("told %q, want %q", event, want)
				}
				return true
			default:
				return false
			}
		})
	}
	cloud.RequestLog.Reset()
	write(strings.Replace(text, "password="+c.Config.Global.Password, "password=wr0ng", 1))
	told(v1.EventTypeWarning + " ConfigurationRefused")
	if err := p.Ready(); err != nil {
		t.Errorf("what is in force is refused: %v", err)
	}
	write(text + "\n[LoadBalancer]\nmax-ports=7\n[LoadBalancerClass \"dmz\"]\nlb-method=SOURCE_IP\n")
	told("in force: [LoadBalancer] max-ports, [LoadBalancerClass \"dmz\"]")
	if signIns := len(cloud.RequestLog.Requests()); signIns != 1 {
		t.Errorf("%d requests, want the one sign-in that was refused", signIns)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
