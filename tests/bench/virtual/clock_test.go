package virtual_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/bench/virtual"
)

func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func newClock(t *testing.T) *virtual.Clock {
	t.Helper()
	c := virtual.New(start())
	t.Cleanup(c.Close)
	return c
}

// None of these tests runs beside another: while one works, no clock moves.

func TestClock_SleepsAnHourAtOnce(t *testing.T) {
	c := newClock(t)
	c.Sleep(time.Hour)
	if passed := c.Since(start()); passed != time.Hour {
		t.Errorf("%s passed", passed)
	}
}

func TestClock_FiresTimersInOrderAtTheirTime(t *testing.T) {
	c := newClock(t)
	var mu sync.Mutex
	var fired []time.Duration
	var done sync.WaitGroup
	for _, d := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second} {
		done.Add(1)
		c.AfterFunc(d, func() {
			defer done.Done()
			mu.Lock()
			defer mu.Unlock()
			fired = append(fired, c.Since(start()))
		})
	}
	done.Wait()
	for i, at := range fired {
		if want := time.Duration(i+1) * time.Second; at != want {
			t.Errorf("timer %d fired after %s, want %s", i, at, want)
		}
	}
}

func TestClock_DoesNotFireStoppedTimer(t *testing.T) {
	c := newClock(t)
	stopped, reset := c.NewTimer(time.Second), c.NewTimer(time.Second)
	if !stopped.Stop() || stopped.Stop() || !reset.Reset(time.Minute) {
		t.Error("a timer does not know whether it is running")
	}
	if at := <-reset.C(); at.Sub(start()) != time.Minute {
		t.Errorf("the timer that was reset fired after %s", at.Sub(start()))
	}
	select {
	case <-stopped.C():
		t.Error("the stopped timer fired")
	default:
	}
}

func TestClock_TicksUntilStopped(t *testing.T) {
	c := newClock(t)
	ticker := c.NewTicker(time.Minute)
	for i := range 3 {
		if at := <-ticker.C(); at.Sub(start()) != time.Duration(i+1)*time.Minute {
			t.Errorf("tick %d after %s", i, at.Sub(start()))
		}
	}
	ticker.Stop()
	c.Sleep(time.Hour)
	select {
	case <-ticker.C():
		t.Error("it ticks on")
	default:
	}
}

func TestClock_TakesNoTimeForWorkAndNetwork(t *testing.T) {
	c := newClock(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c.Sleep(time.Second)
		_, _ = w.Write(make([]byte, 1<<20))
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	const requests = 50
	for range requests {
		get(t, server.URL)
	}
	// The kernel can hold back a packet for longer than a nap, so a timer may come
	// a little early, but there is no other timer here.
	if passed := c.Since(start()); passed != requests*time.Second {
		t.Errorf("%d requests of a second took %s", requests, passed)
	}
}

func TestClock_LeavesTimeAloneInIdle(t *testing.T) {
	c := newClock(t)
	var done sync.WaitGroup
	done.Go(func() { c.Sleep(time.Second) })
	c.Idle()
	// The sleeper may be through when Idle is asked for late, never further.
	if passed := c.Since(start()); passed > time.Second {
		t.Errorf("%s passed", passed)
	}
	done.Wait()
}

func get(t *testing.T, url string) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
}
