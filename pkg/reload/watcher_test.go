package reload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
)

// secret is a directory as the kubelet mounts a Secret: every file is a symlink into
// ..data, which is a symlink to the directory that has them all, and is replaced at once.
type secret struct {
	t    *testing.T
	dir  string
	next int
}

func (s *secret) path(name string) string { return filepath.Join(s.dir, name) }

// set replaces all files.
func (s *secret) set(files map[string]string) {
	s.t.Helper()
	s.next++
	data := fmt.Sprintf("..%d", s.next)
	check(s.t, os.Mkdir(s.path(data), 0o700))
	for name, text := range files {
		check(s.t, os.WriteFile(filepath.Join(s.dir, data, name), []byte(text), 0o600))
		if _, err := os.Lstat(s.path(name)); err != nil {
			check(s.t, os.Symlink(filepath.Join("..data", name), s.path(name)))
		}
	}
	check(s.t, os.Symlink(data, s.path("..data_tmp")))
	check(s.t, os.Rename(s.path("..data_tmp"), s.path("..data")))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fakeSession records the passwords that it gets, and returns refuse.
type fakeSession struct {
	passwords []string
	refuse    error
	expiry    auth.Expiry
}

func (s *fakeSession) Expiry(context.Context) auth.Expiry { return s.expiry }

func (s *fakeSession) Replace(_ context.Context, cfg config.Global, _ transport.TLS) error {
	s.passwords = append(s.passwords, cfg.Password)
	return s.refuse
}

// followed is a Watcher of a cloud.conf in a mounted Secret.
type followed struct {
	*Watcher
	*secret
	session  *fakeSession
	clock    *clocktesting.FakeClock
	recorder *record.FakeRecorder
	applied  []*config.Config
	refuse   error
}

const sound = "[Global]\nauth-url=https://keystone\nuser-id=ccm\npassword=one\ntenant-id=p\n"

// with returns a cloud.conf with another password.
func with(password string) string {
	return strings.ReplaceAll(sound, "password=one", "password="+password)
}

func follow(t *testing.T, files map[string]string) *followed {
	t.Helper()
	f := &followed{secret: &secret{t: t, dir: t.TempDir()}, session: &fakeSession{}, recorder: record.NewFakeRecorder(100), clock: clocktesting.NewFakeClock(time.Now())}
	f.set(files)
	read := func() (*config.Config, []config.Warning, error) { return config.LoadFile(f.path("cloud.conf"), nil) }
	conf, _, err := read()
	check(t, err)
	tls, err := transport.ReadTLS(conf.Global)
	check(t, err)
	m := NewMetrics()
	check(t, m.Register(metrics.NewKubeRegistry().Register))
	f.Watcher = New(Options{
		Read: read, Config: conf, Files: tls, Session: f.session,
		Apply: func(conf *config.Config) error {
			if f.refuse == nil {
				f.applied = append(f.applied, conf)
			}
			return f.refuse
		},
		About: &v1.ConfigMap{}, Recorder: f.recorder, Clock: f.clock, Metrics: m,
	})
	f.looks(2)
	f.wantEvents()
	return f
}

// looks lets the Watcher look so often.
func (f *followed) looks(n int) {
	for range n {
		f.clock.Step(lookPeriod)
		f.step(f.t.Context())
		f.warnOfExpiry(f.t.Context())
	}
}

// wantEvents fails the test unless these are the events since the last call.
func (f *followed) wantEvents(want ...string) {
	f.t.Helper()
	for _, text := range want {
		select {
		case got := <-f.recorder.Events:
			if !strings.Contains(got, text) {
				f.t.Errorf("event %q, want %q", got, text)
			}
			if strings.Contains(got, "s3cret") {
				f.t.Errorf("event %q has a secret", got)
			}
		default:
			f.t.Errorf("no event, want %q", text)
		}
	}
	if len(f.recorder.Events) > 0 {
		f.t.Errorf("one event too many: %s", <-f.recorder.Events)
	}
}

// counts compares the metrics.
func (f *followed) counts(applied, refused, pending float64) {
	f.t.Helper()
	m := f.options.Metrics
	for name, c := range map[string]struct {
		metric metrics.CounterMetric
		want   float64
	}{
		"applied": {m.reloads.WithLabelValues(resultApplied), applied},
		"refused": {m.reloads.WithLabelValues(resultRefused), refused},
	} {
		if got, err := testutil.GetCounterMetricValue(c.metric); err != nil || got != c.want {
			f.t.Errorf("%s: %v, want %v (%v)", name, got, c.want, err)
		}
	}
	if got, err := testutil.GetGaugeMetricValue(m.refused); err != nil || got != pending {
		f.t.Errorf("refused at present: %v, want %v (%v)", got, pending, err)
	}
}

func (f *followed) signIns(want ...string) {
	f.t.Helper()
	if got := strings.Join(f.session.passwords, " "); got != strings.Join(want, " ") {
		f.t.Errorf("signed in with %q, want %q", got, want)
	}
}

//proves:94
func TestWatcher_TakesCredentialsOfReplacedSecretOnce(t *testing.T) {
	t.Parallel()
	f := follow(t, map[string]string{"cloud.conf": sound})
	f.set(map[string]string{"cloud.conf": with("s3cret")})
	f.looks(1)
	f.signIns() // it may be changing still
	f.looks(5)
	f.signIns("s3cret")
	f.wantEvents("Normal ConfigurationChanged The configuration has changed and is in force: [Global] password")
	f.counts(1, 0, 0)
	if len(f.applied) > 0 {
		t.Error("load balancers were notified of new credentials")
	}
}

func TestWatcher_SeesNoChangeInOtherWordsForTheSame(t *testing.T) {
	t.Parallel()
	f := follow(t, map[string]string{"cloud.conf": sound})
	f.set(map[string]string{"cloud.conf": "# the same\n" + sound + "[LoadBalancer]\nlb-method=ROUND_ROBIN\n"})
	f.looks(5)
	f.signIns()
	f.wantEvents()
	f.counts(0, 0, 0)
}

// cloud.conf stays, and a file that it names changes.
//
//proves:94
func TestWatcher_FollowsCloudsYAMLAndCertificates(t *testing.T) {
	t.Parallel()
	clouds := "clouds:\n  here:\n    auth:\n      auth_url: https://keystone\n      user_id: ccm\n      password: one\n      project_id: p\n"
	f := follow(t, map[string]string{"cloud.conf": sound, "clouds.yaml": clouds, "ca.crt": authority(t)})
	conf := func(clouds, ca string) map[string]string {
		return map[string]string{
			"cloud.conf":  fmt.Sprintf("[Global]\nuse-clouds=true\nclouds-file=%s\nca-file=%s\n", f.path("clouds.yaml"), f.path("ca.crt")),
			"clouds.yaml": clouds, "ca.crt": ca,
		}
	}
	ca := authority(t)
	f.set(conf(clouds, ca))
	f.looks(5)
	f.signIns("one")
	f.wantEvents("[Global] ca-file")
	f.set(conf(strings.ReplaceAll(clouds, "password: one", "password: two"), ca))
	f.looks(5)
	f.signIns("one", "two")
	f.wantEvents("[Global] password")
	f.set(conf(strings.ReplaceAll(clouds, "password: one", "password: two"), authority(t)))
	f.looks(5)
	f.signIns("one", "two", "two")
	f.wantEvents("a file that ca-file, cert-file or key-file names")
	f.set(conf(strings.ReplaceAll(clouds, "password: one", "password: two"), "no certificate"))
	f.looks(5)
	f.signIns("one", "two", "two")
	f.wantEvents("Warning ConfigurationRefused A change of the configuration is refused, and the previous settings stay in force: read ca-file: no certificate in")
	f.counts(3, 1, 1)
}

//proves:94
func TestWatcher_RefusesWhatCannotBeReadUntilItIsCorrected(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]string{
		"syntax":  "[Global\n",
		"missing": "[Global]\nauth-url=https://keystone\nuser-id=ccm\n",
		"empty":   "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := follow(t, map[string]string{"cloud.conf": sound})
			f.set(map[string]string{"cloud.conf": wrong})
			f.looks(20)
			f.wantEvents("Warning ConfigurationRefused")
			f.counts(0, 1, 1)
			f.signIns()
			f.set(map[string]string{"cloud.conf": sound})
			f.looks(5)
			f.wantEvents("Normal ConfigurationChanged The configuration is equal to the one in force again")
			f.signIns()
			f.counts(0, 1, 0)
			f.looks(5)
			f.wantEvents()
		})
	}
}

// A password that Keystone rejects is seldom tried again: the old one, which works, must not
// be locked out with it.
//
//proves:94
func TestWatcher_KeepsCredentialsInForceWhenOthersDoNotSignIn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refuse error
		pause  time.Duration
	}{
		"rejected": {gophercloud.ErrUnexpectedResponseCode{Actual: http.StatusUnauthorized}, rejectedPeriod},
		"away":     {errors.New("connection refused"), retryPeriod},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := follow(t, map[string]string{"cloud.conf": sound})
			f.session.refuse = test.refuse
			f.set(map[string]string{"cloud.conf": with("two")})
			f.looks(int(test.pause / lookPeriod))
			f.signIns("two")
			f.wantEvents("[Global] password")
			f.looks(2)
			f.signIns("two", "two")
			f.wantEvents() // reported already
			f.counts(0, 1, 1)
			f.session.refuse = nil
			f.looks(int(test.pause/lookPeriod) + 1)
			f.signIns("two", "two", "two")
			f.wantEvents("Normal ConfigurationChanged")
			f.counts(1, 1, 0)
			f.looks(int(2 * test.pause / lookPeriod))
			f.signIns("two", "two", "two")
		})
	}
}

//proves:94
func TestWatcher_AppliesSettingsOfLoadBalancers(t *testing.T) {
	t.Parallel()
	f := follow(t, map[string]string{"cloud.conf": sound})
	f.set(map[string]string{"cloud.conf": sound + "[LoadBalancer]\nfloating-network-id=ext\n[LoadBalancerClass \"dmz\"]\nsubnet-id=s\n"})
	f.looks(5)
	f.signIns()
	f.wantEvents(`in force: [LoadBalancer] floating-network-id, [LoadBalancerClass "dmz"]`)
	if len(f.applied) != 1 || f.applied[0].LoadBalancer.FloatingNetworkID != "ext" || f.applied[0].LoadBalancerClass["dmz"] == nil {
		t.Errorf("applied: %v", f.applied)
	}
}

// New credentials do not wait for a setting that is wrong, or that cannot be changed.
//
//proves:94
func TestWatcher_RefusesSettingsAndTakesCredentials(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text   string
		refuse error
		event  string
	}{
		"a setting that needs a restart": {"[Route]\nrouter-id=r\n[LoadBalancer]\nfloating-network-id=ext\n", nil, "[Route] router-id: a change needs a restart"},
		"a wrong setting":                {"[LoadBalancer]\nlb-method=WRONG\n", errors.New("lb-method is wrong"), "lb-method is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := follow(t, map[string]string{"cloud.conf": sound})
			f.refuse = test.refuse
			f.set(map[string]string{"cloud.conf": with("two") + test.text})
			f.looks(5)
			f.signIns("two")
			f.wantEvents("[Global] password", test.event)
			f.counts(1, 1, 1)
			if len(f.applied) > 0 {
				t.Errorf("applied: %v", f.applied)
			}
		})
	}
}

// A region needs a restart. The password of the same edit does not wait for that: the old one may
// be worth nothing by then.
func TestWatcher_TakesCredentialsBesideAKeyThatNeedsARestart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ lines, event string }{
		"another region":        {"region=another\n", "[Global] region: a change needs a restart of the cloud-controller-manager"},
		"another endpoint type": {"os-endpoint-type=internal\n", "[Global] os-endpoint-type: a change needs a restart"},
		"both":                  {"region=another\nos-endpoint-type=internal\n", "[Global] region, [Global] os-endpoint-type: a change needs a restart"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := follow(t, map[string]string{"cloud.conf": sound})
			f.set(map[string]string{"cloud.conf": sound + test.lines})
			f.looks(5)
			f.signIns()
			f.wantEvents(test.event)
			f.set(map[string]string{"cloud.conf": with("two") + test.lines})
			f.looks(5)
			f.signIns("two")
			f.wantEvents("in force: [Global] password", test.event)
			if f.global.Region != "" || f.global.EndpointType != "" || f.global.Password != "two" {
				t.Errorf("in force: %+v", f.global)
			}
			f.set(map[string]string{"cloud.conf": with("two")})
			f.looks(5)
			f.signIns("two")
			f.wantEvents("The configuration is equal to the one in force again")
		})
	}
}

// The password may be in any part of an invalid URL, so no event contains the URL.
func TestWatcher_RepeatsNoURLThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://ccm:s3cret%40keystone/v3", "ccm:s3cret@keystone/v3", "https:/ccm:s3cret@keystone", "https://ccm:s3cret@keystone/v3"} {
		f := follow(t, map[string]string{"cloud.conf": sound})
		f.set(map[string]string{"cloud.conf": strings.Replace(sound, "https://keystone", url, 1)})
		f.looks(5)
		f.wantEvents("Warning ConfigurationRefused")
		f.signIns()
	}
}

func TestWatcher_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := follow(t, map[string]string{"cloud.conf": sound})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { f.Run(ctx); close(ended) }()
	stop()
	<-ended
}
