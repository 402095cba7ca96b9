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
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// Of two load balancers of a Service, the one with the published address is the first.
func TestFind_ChoosesAmongTwo(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	a, b := env.ours(us()), env.ours(us())
	for published, want := range map[string][]string{a.VIPAddress: {a.ID, b.ID}, b.VIPAddress: {b.ID, a.ID}} {
		found, err := env.find(us(), observe.Hints{Addresses: []string{published}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s is published: %s", published, diff)
		}
	}
}

func TestContents_HasInsertedHeadersThatAreOn(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	made := env.ours(us(), func(opts *octavia.LoadBalancer) {
		opts.Listeners = []octavia.Listener{{
			Name: us().ListenerName(0), Protocol: "HTTP", Port: 80, Tags: us().Tags(),
			InsertHeaders: map[string]string{"X-Forwarded-Proto": "true", "X-Forwarded-For": "True", "X-Forwarded-Port": "false"},
		}}
	})
	lb := env.contents(made.ID)
	if diff := cmp.Diff([]string{"X-Forwarded-For", "X-Forwarded-Proto"}, lb.Listeners[0].InsertHeaders); diff != "" {
		t.Error(diff)
	}
}

// A floating IP of cloud-provider-openstack is found by its ID and published address.
func TestFloatingIPs_FindsSpareOnesByID(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	fip := env.floatingIP(us().FloatingIPs().LegacyDescription(), "")
	for _, test := range []struct {
		ids  []string
		want int
	}{{[]string{fip.ID}, 1}, {nil, 0}} {
		var observed model.Observed
		if err := env.observer.FloatingIPs(t.Context(), us(), &observed, observe.FloatingIPHints{IDs: test.ids, Published: []string{fip.FloatingIP}}); err != nil {
			t.Fatal(err)
		}
		if len(observed.UnattachedFloatingIPs) != test.want {
			t.Errorf("with IDs %v: %+v", test.ids, observed.UnattachedFloatingIPs)
		}
	}
}

// Each request may fail: an unseen floating IP would be left behind.
func TestLeavingFloatingIPs_FailsWithAnyRequest(t *testing.T) {
	t.Parallel()
	for request := 1; request <= 3; request++ {
		env := newEnvironment(t, "")
		lb := env.contents(env.ours(us()).ID)
		fip := env.floatingIP("a person's", lb.VIP.PortID)
		env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/network/v2.0/floatingips", From: request, Status: http.StatusForbidden})
		err := env.observer.LeavingFloatingIPs(t.Context(), us(), &model.Observed{LoadBalancer: lb}, observe.FloatingIPHints{IDs: []string{fip.ID}})
		if !apierror.IsForbidden(err) {
			t.Errorf("request %d: error %v", request, err)
		}
	}
}

func TestMembersChanged_NotesDrainedAndSwitchedOffMembersOnly(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "2026.1")
	made := env.ours(us(), full)
	lb := env.contents(made.ID)
	members := lb.Listeners[0].Pool.Members
	for i, change := range []octavia.Changes{{"weight": 0}, {"admin_state_up": false}} {
		if err := env.session.Octavia().UpdateMember(t.Context(), lb.Listeners[0].Pool.ID, members.At(i).ID, change); err != nil {
			t.Fatal(err)
		}
		env.Settle()
	}
	if changed, err := env.observer.MembersChanged(t.Context(), lb, model.Full, false); err != nil || changed {
		t.Fatalf("changed %v, error %v", changed, err)
	}
	for i, l := range lb.Listeners {
		for n, m := range l.Pool.Members.All() {
			if m.Drained != (i == 0 && n == 0) || m.AdminDown != (i == 0 && n == 1) {
				t.Errorf("member %d of pool %d: drained %v, switched off %v", n, i, m.Drained, m.AdminDown)
			}
		}
	}
}

// A setting that no Service can request is found at any member, in a list or, if that takes Octavia
// too long, by a few short requests.
func TestContents_ShowWhichMemberWasChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		release string
		members int
	}{{"2026.1", 3}, {"2024.2", 3}, {"2024.2", 120}} {
		for name, change := range map[string]octavia.Changes{
			"weight": {"weight": 5}, "monitor_port": {"monitor_port": 9999}, "monitor_address": {"monitor_address": "127.100.9.9"}, "backup": {"backup": true},
		} {
			t.Run(fmt.Sprintf("%s of one of %d on %s", name, c.members, c.release), func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, c.release)
				made := env.ours(us(), full)
				pool := env.contents(made.ID).Listeners[0].Pool.ID
				all := make([]octavia.Member, c.members)
				for i := range all {
					all[i] = octavia.Member{Address: fmt.Sprintf("127.100.7.%d", i+1), Port: 30080}
				}
				if err := env.session.Octavia().SetMembers(t.Context(), pool, all, false); err != nil {
					t.Fatal(err)
				}
				env.Settle()
				lb := env.contents(made.ID)
				victim := lb.Listeners[0].Pool.Members.At(c.members / 2)
				if err := env.session.Octavia().UpdateMember(t.Context(), pool, victim.ID, change); err != nil {
					t.Fatal(err)
				}
				env.Settle()
				if changed, err := env.observer.MembersChanged(t.Context(), lb, model.Full, false); err != nil || !changed {
					t.Errorf("changed %v, error %v", changed, err)
				}
				for _, m := range env.contents(made.ID).Listeners[0].Pool.Members.All() {
					if odd := m.Backup || m.Weight != 0 || m.Unasked != "" || m.MonitorPort != 0; odd != (m.ID == victim.ID) {
						t.Errorf("member %+v, changed is %s", m, victim.Address)
					}
				}
			})
		}
	}
}
