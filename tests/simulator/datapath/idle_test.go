package datapath

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

func newFakeClock() *clocktesting.FakeClock {
	return clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))
}

func withClock(clock clock.Clock) func(*Options) { return func(o *Options) { o.Clock = clock } }

func TestIdle_CountsSilenceOnlyDuringTurn(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	i := newIdle(clock, 10*time.Second)
	steps := []struct {
		name string
		do   func()
		want time.Duration
	}{
		{"nobody's turn", func() { clock.Step(time.Minute) }, 10 * time.Second},
		{"a turn begins", i.expect, 10 * time.Second},
		{"silence", func() { clock.Step(7 * time.Second) }, 3 * time.Second},
		{"heard", i.touch, 10 * time.Second},
		{"silence again", func() { clock.Step(4 * time.Second) }, 6 * time.Second},
		{"a second turn changes nothing", i.expect, 6 * time.Second},
		{"one of two turns ends", i.relax, 6 * time.Second},
		{"the other ends", i.relax, 10 * time.Second},
		{"and begins anew", i.expect, 10 * time.Second},
		{"too long", func() { clock.Step(time.Minute) }, -50 * time.Second},
	}
	for _, step := range steps {
		step.do()
		if got := i.left(); got != step.want {
			t.Errorf("%s: %s left, want %s", step.name, got, step.want)
		}
	}
}

func TestIdle_EndsWatchWithoutExpiryWhenDone(t *testing.T) {
	t.Parallel()
	i := newIdle(newFakeClock(), time.Second)
	done := make(chan struct{})
	close(done)
	i.watch(done, func() { t.Error("expired") })
	newIdle(newFakeClock(), 0).watch(nil, func() { t.Error("expired without a limit") })
}

func TestIdle_CountsUploadAsTurnOfClientNotMember(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	client, member := newIdle(clock, time.Minute), newIdle(clock, time.Second)
	member.expect()
	body := &upload{ReadCloser: io.NopCloser(readerFunc(func([]byte) (int, error) {
		clock.Step(30 * time.Second)
		if got := client.left(); got != 30*time.Second {
			t.Errorf("while the client is read: %s left for it, want 30s", got)
		}
		if got := member.left(); got != time.Second {
			t.Errorf("while the client is read: %s left for the member, want all of 1s", got)
		}
		return 0, io.EOF
	})), client: client, member: member}
	_, _ = body.Read(nil)
	if got := client.left(); got != time.Minute {
		t.Errorf("after that: %s left for the client, want all of 1m", got)
	}
	if got := member.left(); got != time.Second {
		t.Errorf("after that: %s left for the member, want 1s", got)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// passes lets time pass until check returns true.
func passes(t *testing.T, clock *clocktesting.FakeClock, d time.Duration, check func() bool) {
	t.Helper()
	deadline := time.Now().Add(await.Patience)
	for !check() {
		if time.Now().After(deadline) {
			t.Fatalf("nothing ended, however often %s passed", d)
		}
		clock.Step(d)
	}
}

// over reports whether the connection has ended.
func (s *session) over() bool {
	_ = s.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	_, err := s.reader.ReadByte()
	return err != nil && !os.IsTimeout(err)
}

func TestTCP_EndsSilentConnections(t *testing.T) {
	t.Parallel()
	tests := map[string]Timeouts{
		"by the client's timeout": {ClientData: 50 * time.Second},
		"by the member's timeout": {MemberData: 50 * time.Second},
	}
	for name, timeouts := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lb := balancer(t, "TCP", backend(t, "a"))
			lb.Listeners[0].Timeouts = timeouts
			clock := newFakeClock()
			start(t, newMemory(lb), withClock(clock))
			s := open(t, vip(lb))
			if err := s.echo("before"); err != nil {
				t.Fatal(err)
			}
			passes(t, clock, time.Minute, s.over)
		})
	}
}

func TestTCP_KeepsConnectionWithTrafficBeyondItsTimeouts(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	lb.Listeners[0].Timeouts = Timeouts{ClientData: time.Minute, MemberData: time.Minute}
	clock := newFakeClock()
	start(t, newMemory(lb), withClock(clock))
	s := open(t, vip(lb))
	for range 10 {
		clock.Step(20 * time.Second) // less than half: the last touch may come after a step
		if err := s.echo("still here"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHTTP_CutsOffSilentClient(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"before a request":           "",
		"in the middle of its head":  "GET / HTTP/1.1\r\nHo",
		"in the middle of its body":  "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf",
		"after it was answered once": "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lb := balancer(t, ProtocolHTTP, webMember(t, "a"))
			lb.Listeners[0].Timeouts.ClientData = time.Minute
			clock := newFakeClock()
			serveWeb(t, lb, withClock(clock))
			w := dialWire(t, vip(lb))
			_, _ = io.WriteString(w, text)
			if strings.HasPrefix(name, "after") {
				if _, err := w.read(); err != nil {
					t.Fatal(err)
				}
			}
			passes(t, clock, 2*time.Minute, func() bool {
				_ = w.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
				_, err := w.reader.ReadByte()
				return err != nil && !os.IsTimeout(err)
			})
		})
	}
}

// hanging is a member that does not answer until proceed.
func hanging(t *testing.T) (m Member, asked, proceed chan struct{}) {
	t.Helper()
	asked, proceed = make(chan struct{}, 1), make(chan struct{})
	return webMemberOf(t, "a", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-proceed:
		case <-r.Context().Done():
		}
	})), asked, proceed
}

func TestHTTP_KeepsClientThatWaitsForSlowMember(t *testing.T) {
	t.Parallel()
	slow, asked, proceed := hanging(t)
	lb := balancer(t, ProtocolHTTP, slow)
	lb.Listeners[0].Timeouts = Timeouts{ClientData: time.Second, MemberData: time.Hour}
	clock := newFakeClock()
	serveWeb(t, lb, withClock(clock))
	w := dialWire(t, vip(lb))
	_, _ = io.WriteString(w, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	<-asked
	for range 5 {
		clock.Step(time.Minute)
	}
	close(proceed)
	if got, err := w.read(); err != nil || got.StatusCode != http.StatusOK {
		t.Errorf("got %v, %v; want 200", got.Response, err)
	}
}

func TestHTTP_Answers504WhenMemberIsSilent(t *testing.T) {
	t.Parallel()
	slow, asked, _ := hanging(t)
	lb := balancer(t, ProtocolHTTP, slow)
	lb.Listeners[0].Timeouts = Timeouts{ClientData: time.Second, MemberData: time.Minute}
	clock := newFakeClock()
	serveWeb(t, lb, withClock(clock))
	w := dialWire(t, vip(lb))
	_, _ = io.WriteString(w, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	<-asked
	clock.Step(2 * time.Minute)
	if got, err := w.read(); err != nil || got.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("got %v, %v; want 504", got.Response, err)
	}
}
