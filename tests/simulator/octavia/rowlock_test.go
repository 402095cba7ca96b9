package octavia_test

import (
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// begin sends a request beside the test, and waits until so many wait by the clock.
func (env *environment) begin(waiting int, method, path string, body any) <-chan answer {
	env.t.Helper()
	done := make(chan answer, 1)
	go func() { done <- env.call(method, path, body) }()
	for env.clock.Waiters() < waiting && len(done) == 0 {
		time.Sleep(time.Millisecond)
	}
	return done
}

// bare returns the body of an empty load balancer without delays.
func (env *environment) bare() object {
	return object{"loadbalancer": object{"provider": "amphora", "vip_subnet_id": env.subnet.ID}}
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
func (env *environment) finish(done <-chan answer) answer {
	env.t.Helper()
	for range 1000 {
		select {
		case got := <-done:
			return got
		case <-time.After(time.Millisecond):
			env.clock.Step(100 * time.Millisecond)
		}
	}
	env.t.Fatal("never answered")
	return answer{}
}

func TestProjectLock_MakesCreationsWaitForEachOther(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{VIPPortDelay: 2 * time.Second})
	began := env.clock.Now()
	first := env.begin(1, "POST", "loadbalancers", env.bare())
	second := env.begin(2, "POST", "loadbalancers", env.bare())
	undone(t, first)
	env.clock.Step(2 * time.Second)
	if got := <-first; got.status != 201 {
		t.Fatalf("%d %s", got.status, got.text)
	}
	undone(t, second)
	if got := env.finish(second); got.status != 201 {
		t.Fatalf("%d %s", got.status, got.text)
	}
	if took := env.clock.Since(began); took < 4*time.Second {
		t.Errorf("two ports of 2s each took %s", took)
	}
}

func TestProjectLock_DelaysCreationsButNotChanges(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{VIPPortDelay: 2 * time.Second, ProjectLockTimeout: time.Hour})
	lb := env.finish(env.begin(1, "POST", "loadbalancers", env.bare())).json["loadbalancer"].(object)
	id := lb["id"].(string)

	slow := env.begin(1, "POST", "loadbalancers", env.bare())
	env.must(200, "PUT", "loadbalancers/"+id, object{"loadbalancer": object{"name": "changes do not wait"}})
	env.wantStatus("loadbalancers/"+id, "ACTIVE")
	listener := env.begin(2, "POST", "listeners", object{"listener": object{"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 80}})
	undone(t, listener)
	undone(t, slow)
	for what, done := range map[string]<-chan answer{"slow": slow, "listener": listener} {
		if got := env.finish(done); got.status != 201 {
			t.Errorf("%s: %d %s", what, got.status, got.text)
		}
	}
}

func TestProjectLock_DoesNotDelayOtherProjects(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{VIPPortDelay: 2 * time.Second})
	first := env.begin(1, "POST", "loadbalancers", env.bare())
	elsewhere := &environment{t: t, Octavia: env.Octavia, clock: env.clock, subnet: env.subnet}
	elsewhere.caller = keystone.Caller{ProjectID: "another-project", Roles: env.caller.Roles}
	second := elsewhere.begin(2, "POST", "loadbalancers", env.bare())
	env.clock.Step(2 * time.Second)
	for what, done := range map[string]<-chan answer{"first": first, "second": second} {
		if got := <-done; got.status != 201 {
			t.Errorf("%s: %d %s", what, got.status, got.text)
		}
	}
}

func TestProjectLock_AnswersBusyAfterTimeout(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{VIPPortDelay: time.Minute})
	first := env.begin(1, "POST", "loadbalancers", env.bare())
	second := env.begin(2, "POST", "loadbalancers", env.bare())
	env.clock.Step(50 * time.Second)
	want := "Project busy.  Unable to lock the project.  Please try again."
	if got := <-second; got.status != 503 || got.fault != want {
		t.Errorf("%d %s", got.status, got.text)
	}
	undone(t, first)
	env.clock.Step(10 * time.Second)
	if got := <-first; got.status != 201 {
		t.Errorf("%d %s", got.status, got.text)
	}
}
