package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/control/client"
)

// page is what the narrator writes on; it may be read at the same time.
type page struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.text.String()
}

func (p *page) await(t *testing.T, want string) {
	t.Helper()
	await.Eventually(t, want, func(context.Context) error {
		if !strings.Contains(p.String(), want) {
			return errors.New(p.String())
		}
		return nil
	})
}

func narrate(t *testing.T) (*narrator, *page) {
	t.Helper()
	p := &page{}
	n := newNarrator(p, false)
	t.Cleanup(n.close)
	return n, p
}

func TestNarrator_PrintsTimeAndText(t *testing.T) {
	t.Parallel()
	n, p := narrate(t)
	n.title("A chapter")
	n.say("%d things", 2)
	n.final("demo: OK")
	want := regexp.MustCompile(`^\n +\d+\.\ds == A chapter\n +\d+\.\ds    2 things\ndemo: OK\n$`)
	if !want.MatchString(p.String()) {
		t.Errorf("said %q", p)
	}
}

func TestNarrator_PrintsWaitsInPlaceOnTerminal(t *testing.T) {
	t.Parallel()
	p := &page{}
	n := newNarrator(p, true)
	t.Cleanup(n.close)
	n.waitFor("waiting for %s", "Godot")
	p.await(t, "... waiting for Godot (2 s)")
	p.await(t, "... waiting for Godot (3 s)")
	n.say("he is here")
	if said := p.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, clearLine+n.stamp(n.last)+"    he is here\n") {
		t.Errorf("said %q", said)
	}
}

func TestNarrator_PrintsWaitsMoreAndMoreRarelyElsewhere(t *testing.T) {
	t.Parallel()
	p := &page{}
	n := &narrator{to: p} // without a clock of its own
	n.waitFor("waiting for %s", "Godot")
	for second := range 120 {
		n.last = time.Time{} // each line is printed now, not in the second that it is about
		n.fill(n.since.Add(time.Duration(second) * time.Second))
	}
	want := []string{"(2 s)", "(8 s)", "(32 s)"}
	if got := regexp.MustCompile(`\(\d+ s\)`).FindAllString(p.String(), -1); !slices.Equal(got, want) {
		t.Errorf("said %q, want %q", got, want)
	}
}

func lb(status string, members ...string) client.LoadBalancer {
	text := `{"name":"web","provisioning_status":"` + status + `","pools":[{"members":[`
	for i, m := range members {
		if i > 0 {
			text += ","
		}
		text += `{"operating_status":"` + m + `"}`
	}
	var made client.LoadBalancer
	if err := json.Unmarshal([]byte(text+`]}]}`), &made); err != nil {
		panic(err)
	}
	return made
}

func TestWatcher_ReportsEveryChangeOnce(t *testing.T) {
	t.Parallel()
	n, p := narrate(t)
	w := &watcher{out: n, loadBalancers: map[string]string{}}
	for _, all := range [][]client.LoadBalancer{
		{lb("PENDING_CREATE")},
		{lb("PENDING_CREATE")},
		{lb("ACTIVE", "ONLINE", "ERROR", "ONLINE")},
		{},
		{},
	} {
		w.compare(all)
	}
	var lines []string
	for line := range strings.Lines(p.String()) {
		_, what, _ := strings.Cut(line, "load balancer ")
		lines = append(lines, strings.TrimSpace(what))
	}
	want := []string{"web: PENDING_CREATE", "web: ACTIVE, members: 1 ERROR, 2 ONLINE", "web: gone"}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("printed %q, want %q", lines, want)
	}
}

func TestWatcher_ReportsEventsOnce(t *testing.T) {
	t.Parallel()
	n, p := narrate(t)
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "e", UID: "1"},
		Type:       "Normal", Reason: "EnsuredLoadBalancer", Message: "Ensured load balancer", Count: 1,
	}
	w := startWatcher(t.Context(), n, fake.NewClientset(event), "demo", client.Cloud{URL: "http://127.0.0.1:0"})
	p.await(t, "event    Normal EnsuredLoadBalancer: Ensured load balancer")
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	if got := strings.Count(p.String(), "EnsuredLoadBalancer"); got != 1 {
		t.Errorf("printed %d times", got)
	}
}

func TestCloud_ReportsRefusalWithItsReason(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"no address is left"}`, http.StatusConflict)
	}))
	t.Cleanup(refusing.Close)
	_, err := client.Cloud{URL: refusing.URL}.AddServer(t.Context(), "node-1")
	for _, want := range []string{"POST servers", "409", "no address is left"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want it to contain %q", err, want)
		}
	}
}

func TestDemo_EndsAtChapterThatFails(t *testing.T) {
	t.Parallel()
	n, p := narrate(t)
	d := &demo{out: n}
	broken := errors.New("broken")
	err := d.play(t.Context(), []chapter{
		{"One", patience, func(context.Context) error { return nil }},
		{"Two", patience, func(context.Context) error { return broken }},
		{"Three", patience, func(context.Context) error { return nil }},
	})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "Two: ") {
		t.Errorf("err = %v, want Two: broken", err)
	}
	if strings.Contains(p.String(), "Three") {
		t.Error("the story went on")
	}
}

func TestDemo_NamesChapterThatTakesTooLong(t *testing.T) {
	t.Parallel()
	n, _ := narrate(t)
	err := (&demo{out: n}).play(t.Context(), []chapter{{"Slow", time.Millisecond, func(ctx context.Context) error {
		return await.Success(ctx, func(context.Context) error { return errors.New("no external IP") })
	}}})
	for _, want := range []string{"Slow: ", "not done in 1ms", "no external IP"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want it to contain %q", err, want)
		}
	}
}

func TestDemo_StopsInReverseOrder(t *testing.T) {
	t.Parallel()
	var ended []string
	d := &demo{}
	broken := errors.New("broken")
	for _, name := range []string{"control plane", "cloud", "node"} {
		d.later(func() error {
			ended = append(ended, name)
			if name == "cloud" {
				return broken
			}
			return nil
		})
	}
	if err := d.stop(); !errors.Is(err, broken) {
		t.Errorf("err = %v, want broken", err)
	}
	if got := strings.Join(ended, ", "); got != "node, cloud, control plane" {
		t.Errorf("ended %s", got)
	}
}

// TestDemo_EndsOnInterrupt is not parallel: the signal is the whole process's.
func TestDemo_EndsOnInterrupt(t *testing.T) {
	guard := make(chan os.Signal, 1) // so that the signal never ends the test binary
	signal.Notify(guard, os.Interrupt)
	defer signal.Stop(guard)

	ctx, stop := interruptible(t.Context())
	defer stop()
	n, _ := narrate(t)
	err := (&demo{out: n}).play(ctx, []chapter{{"Waiting", patience, func(ctx context.Context) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}}})
	if !errors.Is(err, errInterrupted) {
		t.Errorf("err = %v, want interrupted", err)
	}
}

// TestDemo_OutlivesTheReaderOfItsOutput is not parallel: the signal is the whole process's. Ctrl-C
// ends tee first, in "make playground | tee log", and the playground is to sweep its directory then.
func TestDemo_OutlivesTheReaderOfItsOutput(t *testing.T) {
	defer signal.Reset(syscall.SIGPIPE)
	_, stop := interruptible(t.Context())
	stop()
	if !signal.Ignored(syscall.SIGPIPE) {
		t.Error("a closed pipe ends the program before it has swept")
	}
}
