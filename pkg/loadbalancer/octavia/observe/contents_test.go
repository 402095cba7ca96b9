package observe_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// releases are those of Octavia with different reads.
func releases() []string { return []string{"zed", "2024.1", "2026.1"} }

// full adds two ports with monitors and three members each.
func full(opts *octavia.LoadBalancer) {
	id := us()
	for i, port := range []int{80, 443} {
		pool := octavia.NewPool{Pool: octavia.Pool{
			Name: id.PoolName(i), Protocol: "TCP", Algorithm: "ROUND_ROBIN", Tags: id.Tags(),
			Persistence: octavia.SessionPersistence{Type: "SOURCE_IP"},
			Monitor: &octavia.HealthMonitor{
				Name: id.MonitorName(i), Type: "HTTP", Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 2,
				HTTPMethod: "GET", URLPath: "/healthz", ExpectedCodes: "200", Tags: id.Tags(),
			},
		}}
		for n := range 3 {
			pool.Members = append(pool.Members, octavia.Member{
				Name: fmt.Sprintf("node-%d", n), Address: fmt.Sprintf("127.100.1.%d", n+1), Port: 30000 + port, MonitorPort: 31000,
			})
		}
		opts.Listeners = append(opts.Listeners, octavia.Listener{
			Name: id.ListenerName(i), Protocol: "TCP", Port: port, Tags: id.Tags(),
			AllowedCIDRs: []string{"192.168.0.0/16", "10.0.0.0/8"}, DefaultPool: &pool,
		})
	}
}

// contents reads a listed load balancer.
func (env *environment) contents(lbID string) *model.LoadBalancer {
	env.T.Helper()
	lb, err := env.session.Octavia().LoadBalancer(env.T.Context(), lbID)
	if err != nil {
		env.T.Fatal(err)
	}
	env.Cloud.RequestLog.Reset()
	observed, err := env.observer.Contents(env.T.Context(), us(), *lb)
	if err != nil {
		env.T.Fatal(err)
	}
	return observed
}

func TestContents_HaveListenersPoolsMonitorsAndMembers(t *testing.T) {
	t.Parallel()
	for _, release := range releases() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, release)
			made := env.ours(us(), full)
			lb := env.contents(made.ID)
			active := model.Status{Provisioning: "ACTIVE"}
			if lb.ID != made.ID || lb.Name != us().Name() || lb.VIP.PortID != made.VIPPortID || lb.Status.Provisioning != "ACTIVE" || lb.UpdatedAt.IsZero() {
				t.Errorf("load balancer %+v", lb)
			}
			if len(lb.Listeners) != 2 || len(lb.Orphans)+len(lb.Foreign) > 0 {
				t.Fatalf("listeners %v, orphans %v, foreign %v", lb.Listeners, lb.Orphans, lb.Foreign)
			}
			for i, l := range lb.Listeners {
				if l.Name != us().ListenerName(i) || l.ID == "" || l.Pool.ID == "" || l.Pool.Monitor == nil || l.Pool.Monitor.ID == "" {
					t.Fatalf("listener %+v", l)
				}
				if diff := cmp.Diff([]string{"10.0.0.0/8", "192.168.0.0/16"}, l.AllowedCIDRs); diff != "" {
					t.Error(diff)
				}
				if l.Pool.Algorithm != "ROUND_ROBIN" || l.Pool.Persistence.Type != model.SourceIP || l.Pool.Monitor.MaxRetriesDown != 2 || l.Pool.Members.Len() != 3 {
					t.Errorf("pool %+v", l.Pool)
				}
				for n, m := range l.Pool.Members.All() {
					m.Status.Operating = ""
					want := model.Member{
						ID: m.ID, Name: fmt.Sprintf("node-%d", n), Address: fmt.Sprintf("127.100.1.%d", n+1), Port: 30000 + l.Port, MonitorPort: 31000, Status: active,
					}
					if diff := cmp.Diff(want, m); diff != "" || m.ID == "" {
						t.Errorf("member %s: %s", m.ID, diff)
					}
				}
			}
		})
	}
}

func TestContents_CostOneRequestPerKindAndPool(t *testing.T) {
	t.Parallel()
	common := map[string]int{lbaas + "listeners": 1, lbaas + "pools": 1, lbaas + "healthmonitors": 1, lbaas + "pools/{id}/members": 2}
	for release, extra := range map[string]string{"zed": lbaas + "loadbalancers/{id}/status", "2026.1": ""} {
		env := newEnvironment(t, release)
		lb := env.ours(us(), full)
		env.contents(lb.ID)
		want := map[string]int{}
		for route, n := range common {
			want[route] = n
		}
		if extra != "" {
			want[extra] = 1
		}
		if diff := cmp.Diff(want, env.reads()); diff != "" {
			t.Errorf("%s: %s", release, diff)
		}
	}
}

func TestContents_CostNoRequestForEmptyLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	lb := env.contents(env.ours(us()).ID)
	if len(lb.Listeners)+len(lb.Orphans)+len(lb.Foreign) > 0 {
		t.Errorf("contents %+v", lb)
	}
	if got := env.reads(); len(got) > 0 {
		t.Errorf("requests %v", got)
	}
}

func TestContents_CountPartsOfOthersAsForeign(t *testing.T) {
	t.Parallel()
	for _, release := range releases() {
		env := newEnvironment(t, release)
		made := env.ours(us(), full)
		listenerID := env.foreignListener(made.ID, 9090)
		orphans := map[string]string{}
		for _, name := range []string{"somebody's", us().PoolName(7)} {
			tags := []string{"production"}
			if name != "somebody's" {
				tags = us().Tags()
			}
			pool, err := env.session.Octavia().CreatePool(t.Context(), octavia.Pool{
				LoadBalancerID: made.ID, Name: name, Protocol: "TCP", Algorithm: "ROUND_ROBIN", Tags: tags,
			})
			if err != nil {
				t.Fatal(err)
			}
			env.Settle()
			orphans[name] = pool.ID
			if _, err := env.session.Octavia().AddMember(t.Context(), pool.ID, octavia.Member{Address: "127.100.1.9", Port: 1}); err != nil {
				t.Fatal(err)
			}
			env.Settle()
		}
		lb := env.contents(made.ID)
		want := []model.Foreign{
			{Kind: "listener", ID: listenerID, Name: "somebody's", Key: model.ListenerKey{Transport: model.TCP, Port: 9090}},
			{Kind: "pool", ID: orphans["somebody's"], Name: "somebody's"},
		}
		if diff := cmp.Diff(want, lb.Foreign); diff != "" {
			t.Errorf("%s: %s", release, diff)
		}
		if len(lb.Orphans) != 1 || lb.Orphans[0].ID != orphans[us().PoolName(7)] || lb.Orphans[0].Members.Len() != 1 {
			t.Errorf("%s: orphans %+v", release, lb.Orphans)
		}
		if len(lb.Listeners) != 2 {
			t.Errorf("%s: listeners %+v", release, lb.Listeners)
		}
	}
}

func TestContents_ShowMembersOutOfService(t *testing.T) {
	t.Parallel()
	for _, release := range releases() {
		for what, monitors := range map[string]bool{"with monitors": true, "without": false} {
			t.Run(release+" "+what, func(t *testing.T) {
				t.Parallel()
				membersOutOfService(t, release, monitors)
			})
		}
	}
}

func membersOutOfService(t *testing.T, release string, monitors bool) {
	env := newEnvironment(t, release)
	made := env.ours(us(), full, func(opts *octavia.LoadBalancer) {
		for _, l := range opts.Listeners {
			if !monitors {
				l.DefaultPool.Monitor = nil
			}
		}
	})
	pool := env.contents(made.ID).Listeners[0].Pool
	for i, change := range []func(*octavia.Member){
		func(m *octavia.Member) { m.Weight = new(0) },
		func(m *octavia.Member) { m.AdminStateUp = new(false) },
		func(m *octavia.Member) { m.Backup = true },
	} {
		member := pool.Members.At(i)
		opts := octavia.Member{Name: member.Name, Address: member.Address, Port: member.Port}
		change(&opts)
		if err := env.session.Octavia().SetMembers(t.Context(), pool.ID, []octavia.Member{opts}, true); err != nil {
			t.Fatal(err)
		}
		env.Settle()
	}
	for i, l := range env.contents(made.ID).Listeners {
		for n, m := range l.Pool.Members.All() {
			if m.Drained != (i+n == 0) || m.AdminDown != (i == 0 && n == 1) || m.Backup != (i == 0 && n == 2) {
				t.Errorf("member %d of pool %d: weight 0 %v, admin down %v, backup %v", n, i, m.Drained, m.AdminDown, m.Backup)
			}
		}
	}
}

func TestContents_ReturnErrorsOfOctavia(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ release, route string }{
		{"2026.1", lbaas + "listeners"}, {"2026.1", lbaas + "pools"}, {"2026.1", lbaas + "healthmonitors"}, {"2026.1", lbaas + "pools/{id}/members"},
		{"zed", lbaas + "loadbalancers/{id}/status"}, {"zed", lbaas + "pools/{id}/members"},
	} {
		t.Run(test.release+" "+test.route, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, test.release)
			env.ours(us(), full)
			found, err := env.observer.Claimed(t.Context(), us())
			if err != nil || len(found) != 1 {
				t.Fatalf("found %d, error %v", len(found), err)
			}
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: test.route, Status: http.StatusForbidden})
			if lb, err := env.observer.Contents(t.Context(), us(), found[0]); !apierror.IsForbidden(err) {
				t.Errorf("contents %+v, error %v", lb, err)
			}
		})
	}
}

// TestCreated_EqualsWhatIsRead compares a read with the answer to a creation, after the status tree
// has added the statuses and the values that Octavia omits at first, and with the members as sent.
func TestCreated_EqualsWhatIsRead(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	made := env.ours(us(), full)
	created := observe.Created(*made).Model(us())
	tree, err := env.session.Octavia().StatusTree(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	read := env.contents(made.ID)
	for i, l := range read.Listeners {
		for _, m := range l.Pool.Members.All() {
			m.ID, m.Status = "", model.Status{}
			created.Listeners[i].Pool.Members = created.Listeners[i].Pool.Members.With(model.MembersOf(m))
		}
	}
	observe.Statuses(created, tree)
	created.UpdatedAt = read.UpdatedAt // the answer is of an earlier time
	if diff := cmp.Diff(read, created); diff != "" {
		t.Error(diff)
	}
}

func TestStatuses_FillInStatusesAndIDsOfChildren(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	made := env.ours(us(), full)
	env.foreignListener(made.ID, 9090)
	lb := env.contents(made.ID)
	l := &lb.Listeners[0]
	for _, id := range []string{l.ID, l.Pool.ID, l.Pool.Monitor.ID, l.Pool.Members.At(1).ID} {
		if err := env.Cloud.Octavia.SetChildStatus(id, "ERROR"); err != nil {
			t.Fatal(err)
		}
	}
	memberID, monitorID := l.Pool.Members.At(1).ID, l.Pool.Monitor.ID
	fixture.EditMember(&l.Pool, 1, func(m *model.Member) { m.ID = "" }) // as after a batch
	l.Pool.Monitor.ID = ""
	tree, err := env.session.Octavia().StatusTree(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	observe.Statuses(lb, tree)
	if got := len(lb.Unsound()); got != 4 {
		t.Errorf("%d children are unsound, want 4: %v", got, lb.Unsound())
	}
	if l.Pool.Members.At(1).ID != memberID || l.Pool.Monitor.ID != monitorID {
		t.Error("the IDs of member and monitor were not filled in")
	}
}
