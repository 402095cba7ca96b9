package observe_test

import (
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// withPorts has two listeners, each with a pool of two members and, if asked for, a health monitor, all of
// them with the tags of their Service.
func withPorts(id ownership.Identity, monitored bool) func(*octavia.LoadBalancer) {
	return func(opts *octavia.LoadBalancer) {
		for i := range 2 {
			pool := &octavia.NewPool{Pool: octavia.Pool{Name: id.PoolName(i), Tags: id.Tags(), Protocol: "TCP", Algorithm: "ROUND_ROBIN"}}
			for j := range 2 {
				pool.Members = append(pool.Members, octavia.Member{Address: "192.0.2." + strconv.Itoa(j+1), Port: 30080 + i})
			}
			if monitored {
				pool.Monitor = &octavia.HealthMonitor{Type: "TCP", Tags: id.Tags(), Delay: 5, Timeout: 3, MaxRetries: 1}
			}
			opts.Listeners = append(opts.Listeners, octavia.Listener{
				Name: id.ListenerName(i), Tags: id.Tags(), Protocol: "TCP", Port: 80 + i, DefaultPool: pool,
			})
		}
	}
}

func TestSettingsOf_ReadsWhatSettingsDoesOfEach(t *testing.T) {
	t.Parallel()
	for monitored, requests := range map[bool]int{false: 3, true: 4} {
		env := newEnvironment(t, "2026.1")
		want := map[*octavia.LoadBalancer]ownership.Identity{}
		for _, id := range []ownership.Identity{us(), another()} {
			want[env.ours(id, withPorts(id, monitored))] = id
		}
		env.Cloud.RequestLog.Reset()
		got, err := env.project().SettingsOf(t.Context(), []ownership.Identity{us(), another()})
		if err != nil {
			t.Fatal(err)
		}
		if all := env.Cloud.RequestLog.Requests(requestlog.Reads()); len(all) != requests {
			t.Errorf("%d requests, want %d: %v", len(all), requests, all)
		}
		for lb, id := range want {
			each, err := env.observer.Settings(t.Context(), id, *lb)
			if err != nil {
				t.Fatal(err)
			}
			together := got[lb.ID]
			together.LoadBalancer = *lb
			if diff := gocmp.Diff(each.Model(id), together.Model(id)); diff != "" || len(together.Listeners) != 2 {
				t.Errorf("monitors %v: %s", monitored, diff)
			}
			for _, pool := range each.Pools {
				if members := together.MemberIDs(pool.ID); len(members) != 2 || !slices.Equal(members, each.MemberIDs(pool.ID)) {
					t.Errorf("members %v, want %v", members, each.MemberIDs(pool.ID))
				}
			}
		}
	}
}

// Parts of another client, or without their tag, are not found by the tag of the Service: then the
// result is incomplete.
func TestSettingsOf_LeavesOutWhatTagsDoNotShowInFull(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*environment, *octavia.LoadBalancer) error{
		"a listener of another client": func(env *environment, lb *octavia.LoadBalancer) error {
			env.foreignListener(lb.ID, 9000)
			return nil
		},
		"a pool of another client": func(env *environment, lb *octavia.LoadBalancer) error {
			_, err := env.session.Octavia().CreatePool(t.Context(), octavia.Pool{
				LoadBalancerID: lb.ID, Name: "theirs", Protocol: "TCP", Algorithm: "ROUND_ROBIN",
			})
			return err
		},
		"a listener without its tags": func(env *environment, lb *octavia.LoadBalancer) error {
			_, err := env.session.Octavia().UpdateListener(t.Context(), lb.Listeners[0].ID, octavia.Changes{"tags": []string{}})
			return err
		},
		"a monitor with other tags": func(env *environment, lb *octavia.LoadBalancer) error {
			return env.session.Octavia().UpdateMonitor(t.Context(), lb.Pools[0].Monitor.ID, octavia.Changes{"tags": []string{"theirs"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, "2026.1")
			ours, theirs := env.ours(us(), withPorts(us(), true)), env.ours(another(), withPorts(another(), true))
			if err := change(env, ours); err != nil {
				t.Fatal(err)
			}
			env.Settle()
			got, err := env.project().SettingsOf(t.Context(), []ownership.Identity{us(), another()})
			if _, there := got[theirs.ID]; err != nil || !there || len(got) != 1 {
				t.Errorf("%d load balancers, %v; want that of the other Service only", len(got), err)
			}
		})
	}
}
