package octavia_test

import (
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// begin sends a request beside the test, and waits until so many wait by the clock.
func (w *world) begin(waiting int, method, path string, body any) <-chan answer {
	w.t.Helper()
	done := make(chan answer, 1)
	go func() { done <- w.call(method, path, body) }()
	for w.clock.Waiters() < waiting && len(done) == 0 {
		time.Sleep(time.Millisecond)
	}
	return done
}

// bare is a load balancer with nothing in it, whose work takes no time.
func (w *world) bare() object {
	return object{"loadbalancer": object{"provider": "amphora", "vip_subnet_id": w.subnet.ID}}
}

// undone fails when a request has been answered.
func undone(t *testing.T, done <-chan answer) {
	t.Helper()
	select {
	case got := <-done:
		t.Fatalf("answered at once: %d %s", got.status, got.text)
	default:
	}
}

// finish lets time pass until a request is answered.
func (w *world) finish(done <-chan answer) answer {
	w.t.Helper()
	for range 1000 {
		select {
		case got := <-done:
			return got
		case <-time.After(time.Millisecond):
			w.clock.Step(100 * time.Millisecond)
		}
	}
	w.t.Fatal("never answered")
	return answer{}
}

func TestCreationsOfAProjectWaitForOneAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, octavia.Options{VIPPortDelay: 2 * time.Second})
	began := w.clock.Now()
	first := w.begin(1, "POST", "loadbalancers", w.bare())
	second := w.begin(2, "POST", "loadbalancers", w.bare())
	undone(t, first)
	w.clock.Step(2 * time.Second)
	if got := <-first; got.status != 201 {
		t.Fatalf("%d %s", got.status, got.text)
	}
	undone(t, second)
	if got := w.finish(second); got.status != 201 {
		t.Fatalf("%d %s", got.status, got.text)
	}
	if took := w.clock.Since(began); took < 4*time.Second {
		t.Errorf("two ports of 2s each took %s", took)
	}
}

func TestWhileAVIPPortIsMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, octavia.Options{VIPPortDelay: 2 * time.Second, ProjectLockTimeout: time.Hour})
	lb := w.finish(w.begin(1, "POST", "loadbalancers", w.bare())).json["loadbalancer"].(object)
	id := lb["id"].(string)

	slow := w.begin(1, "POST", "loadbalancers", w.bare())
	w.must(200, "PUT", "loadbalancers/"+id, object{"loadbalancer": object{"name": "changes do not wait"}})
	w.wantStatus("loadbalancers/"+id, "ACTIVE")
	listener := w.begin(2, "POST", "listeners", object{"listener": object{"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 80}})
	undone(t, listener)
	undone(t, slow)
	for what, done := range map[string]<-chan answer{"slow": slow, "listener": listener} {
		if got := w.finish(done); got.status != 201 {
			t.Errorf("%s: %d %s", what, got.status, got.text)
		}
	}
}

func TestOtherProjectsDoNotWaitForAVIPPort(t *testing.T) {
	t.Parallel()
	w := newWorld(t, octavia.Options{VIPPortDelay: 2 * time.Second})
	first := w.begin(1, "POST", "loadbalancers", w.bare())
	elsewhere := &world{t: t, Octavia: w.Octavia, clock: w.clock, subnet: w.subnet}
	elsewhere.caller = keystone.Caller{ProjectID: "another-project", Roles: w.caller.Roles}
	second := elsewhere.begin(2, "POST", "loadbalancers", w.bare())
	w.clock.Step(2 * time.Second)
	for what, done := range map[string]<-chan answer{"first": first, "second": second} {
		if got := <-done; got.status != 201 {
			t.Errorf("%s: %d %s", what, got.status, got.text)
		}
	}
}

func TestProjectThatIsLockedTooLongIsBusy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, octavia.Options{VIPPortDelay: time.Minute})
	first := w.begin(1, "POST", "loadbalancers", w.bare())
	second := w.begin(2, "POST", "loadbalancers", w.bare())
	w.clock.Step(50 * time.Second)
	want := "Project busy.  Unable to lock the project.  Please try again."
	if got := <-second; got.status != 503 || got.fault != want {
		t.Errorf("%d %s", got.status, got.text)
	}
	undone(t, first)
	w.clock.Step(10 * time.Second)
	if got := <-first; got.status != 201 {
		t.Errorf("%d %s", got.status, got.text)
	}
}
