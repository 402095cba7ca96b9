package drift_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// routed makes a Service of provider router known.
func (f *fixture) routed(uid types.UID, reported ...string) {
	steps := map[string]bool{}
	for _, step := range reported {
		steps[step] = true
	}
	f.store.Update(uid, func(e *state.Entry) {
		e.SetRouted(&state.Routed{Service: types.NamespacedName{Namespace: "routed", Name: string(uid)}, LoadBalancer: &model.LoadBalancer{ID: "port"}, Reported: steps, Unnamed: true})
	})
}

// leftOf returns a load balancer with the tags of a Service.
func leftOf(uid, cluster string) project.LoadBalancer {
	id := identity()
	id.ServiceUID, id.ClusterID = uid, cluster
	return project.LoadBalancer{ID: "left-" + uid + "-" + cluster, Status: model.StatusActive, Tags: id.Tags()}
}

// A change to provider router that was interrupted and taken back leaves a load balancer in Octavia.
func TestWatch_FindsLoadBalancersThatRoutedServicesHaveLeft(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		for _, uid := range []types.UID{"left", "busy", "reported", "none", "restored"} {
			f.routed(uid)
		}
		f.routed("reported", "a step")
		f.cloud.marks = map[types.UID]bool{"left": true, "busy": false, "reported": true, "none": true, "restored": true}
		f.cloud.others = []project.LoadBalancer{
			leftOf("left", "other"), leftOf("left", "cluster"), leftOf("busy", "cluster"), leftOf("reported", "cluster"), leftOf("restored", "other"),
		}
		f.watch()
		const reason = "a load balancer of the Service is left in Octavia"
		slices.Sort(f.cloud.marked)
		if want := []string{"busy: " + reason, "left: " + reason}; !slices.Equal(f.cloud.marked, want) {
			t.Errorf("marked %q, want %q", f.cloud.marked, want)
		}
		if want := []types.NamespacedName{{Namespace: "routed", Name: "left"}}; !slices.Equal(f.drifted, want) {
			t.Errorf("reported %v, want %v", f.drifted, want)
		}
		for uid, want := range map[types.UID][]string{"left": {"left-left-cluster"}, "busy": nil, "reported": nil, "restored": nil} {
			if got := f.store.Get(uid).Made.Entered; !slices.Equal(got, want) {
				t.Errorf("%s: load balancers to clean are %q, want %q", uid, got, want)
			}
		}
	})
}

func TestWatch_ReportsDriftOfRoutedServicesAndOfTheirGroups(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.cloud.routed = []types.NamespacedName{{Namespace: "routed", Name: "vip"}}
		f.cloud.marks = map[types.UID]bool{"marked": true, "busy": false}
		f.cloud.groups = map[string]string{"marked": "a rule is gone", "busy": "a rule is gone", "unknown": "a rule is gone"}
		f.watch()
		if want := []types.NamespacedName{{Namespace: "routed", Name: "vip"}, {Namespace: "routed", Name: "marked"}}; !slices.Equal(f.drifted, want) {
			t.Errorf("reported %v, want %v", f.drifted, want)
		}
		if slices.Sort(f.cloud.reread); !slices.Equal(f.cloud.reread, []string{"marked", "unknown"}) {
			t.Errorf("groups of %q are read again", f.cloud.reread)
		}
	})
}

// noOctavia returns the error of a cloud without load balancers.
func noOctavia(t *testing.T) error {
	t.Helper()
	err := error(auth.ErrNoEndpoint{Service: "load-balancer"})
	if !auth.IsNoOctavia(err) {
		t.Fatal("it is another error")
	}
	return err
}

// With provider router the cloud needs no Octavia.
func TestWatch_LooksAtRoutedServicesWithoutOctavia(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err     error
		applied bool
		looks   bool
	}{
		"no Octavia":                               {noOctavia(t), false, true},
		"no Octavia any more":                      {noOctavia(t), true, false},
		"no answer, without any load balancer":     {errors.New("broken"), false, false},
		"Octavia answers, with a load balancer":    {nil, true, true},
		"Octavia answers, without a load balancer": {nil, false, true},
	} {
		run(t, interval, func(f *fixture) {
			f.cloud.lookErr = test.err
			f.cloud.routed = []types.NamespacedName{{Namespace: "routed", Name: "vip"}}
			if !test.applied {
				f.store.Update(uid, (*state.Entry).DropApplied)
			}
			f.watch()
			if looks := len(f.drifted) > 0; looks != test.looks {
				t.Errorf("%s: it looks at Services of provider router: %v", name, looks)
			}
		})
	}
}

// A move to another load balancer that was taken back leaves parts there, which the Services on it show.
func TestWatch_FindsPartsOnLoadBalancersThatDoNotServe(t *testing.T) {
	t.Parallel()
	const left = "parts of the Service are left on another load balancer"
	foreign := func(f *fixture, of ...string) {
		lb := f.cloud.contents()
		for _, uid := range of {
			lb.Foreign = append(lb.Foreign, model.Foreign{Kind: "listener", ID: "part of " + uid, ServiceUID: uid})
		}
		f.change(func(a *state.Applied) { a.Contents = lb })
	}
	for name, test := range map[string]struct {
		change func(f *fixture, guest *state.Applied)
		want   string
	}{
		"a listener":                    {func(*fixture, *state.Applied) {}, left},
		"among those of others":         {func(f *fixture, _ *state.Applied) { foreign(f, "", "unknown", "guest") }, left},
		"none":                          {func(f *fixture, _ *state.Applied) { foreign(f) }, ""},
		"it is served there":            {func(_ *fixture, guest *state.Applied) { guest.LoadBalancer.ID = "lb" }, ""},
		"drift is only reported":        {func(_ *fixture, guest *state.Applied) { guest.Reported = map[string]bool{"a step": true} }, ""},
		"the Service was changed since": {func(_ *fixture, guest *state.Applied) { guest.Seen.Since = time.Now().Add(time.Second) }, ""},
		"it is being changed":           {func(f *fixture, _ *state.Applied) { f.busy["guest"] = true }, ""},
		"it is known to have parts there": {func(f *fixture, _ *state.Applied) {
			f.store.Update("guest", func(e *state.Entry) { e.Made.Enter("lb") })
		}, ""},
		"the load balancer has changed":    {func(f *fixture, _ *state.Applied) { f.cloud.seen.UpdatedAt = time.Now() }, ""},
		"nothing is known of its contents": {func(f *fixture, _ *state.Applied) { noContents(f) }, ""},
	} {
		run(t, interval, func(f *fixture) {
			foreign(f, "guest")
			guest := *f.applied()
			guest.Service.Name, guest.LoadBalancer.ID, guest.Contents, guest.Depth, guest.Identity.ServiceUID = "guest", "lb-2", nil, model.Listed, "guest"
			f.cloud.others = []project.LoadBalancer{{ID: "lb-2", Status: model.StatusActive, UpdatedAt: guest.Seen.UpdatedAt}}
			test.change(f, &guest)
			f.store.Update("guest", func(e *state.Entry) { entered := e.Made; e.SetApplied(&guest); e.Made = entered })
			f.watch()
			e := f.store.Get("guest")
			if e.Drift.Reason != test.want || slices.Contains(f.drifted, guest.Service) != (test.want != "") {
				t.Errorf("%s: drift %q, reported %v", name, e.Drift.Reason, f.drifted)
			}
			if test.want != "" && !slices.Equal(e.Made.Entered, []string{"lb"}) {
				t.Errorf("%s: load balancers to clean are %q", name, e.Made.Entered)
			}
		})
	}
}

// A round of the Service has failed or waits: the difference is its own. A refused Service keeps its state.
func TestWatch_LeavesUnsettledServicesToTheirRounds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		unsettled, refused bool
		want               string
	}{
		"settled": {false, false, "the load balancer is gone"}, "unsettled": {true, false, ""}, "refused": {true, true, "the load balancer is gone"},
	} {
		run(t, interval, func(f *fixture) {
			gone(f)
			f.store.Update(uid, func(e *state.Entry) {
				if test.unsettled {
					e.Unsettled.Since = time.Now()
				}
				if test.refused {
					e.Refusal.Refuse("quota", false)
				}
			})
			f.watch()
			f.assertDrift(test.want)
			if len(f.seen) > 0 {
				t.Errorf("%s: its health is reported", name)
			}
		})
	}
}

// A member changes between service and maintenance without another client touching its settings.
func TestWatch_ReadsMembersOnlyIfTheirServiceContradictsWhatIsKnown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		known     func(*model.Member)
		operating string
		reads     bool
	}{
		"in service":             {func(*model.Member) {}, "ONLINE", false},
		"without a monitor":      {func(*model.Member) {}, "NO_MONITOR", false},
		"fails its checks":       {func(*model.Member) {}, "ERROR", false},
		"was drained":            {func(m *model.Member) { m.Drained = true }, "ONLINE", true},
		"was disabled":           {func(m *model.Member) { m.AdminDown = true }, "ONLINE", true},
		"is drained":             {func(m *model.Member) { m.Drained = true }, "DRAINING", false},
		"became drained":         {func(*model.Member) {}, "DRAINING", true},
		"is disabled":            {func(m *model.Member) { m.AdminDown = true }, "OFFLINE", false},
		"became disabled":        {func(*model.Member) {}, "OFFLINE", true},
		"drained, fails":         {func(m *model.Member) { m.Drained = true }, "ERROR", false},
		"disabled, then drained": {func(m *model.Member) { m.AdminDown = true }, "DRAINING", true},
	} {
		run(t, interval, func(f *fixture) {
			f.withContents(func(lb *model.LoadBalancer) {
				members := &lb.Listeners[0].Pool.Members
				*members = members.Map(func(i int, m model.Member) model.Member {
					if i == 1 {
						test.known(&m)
					}
					return m
				})
			})
			f.cloud.seen.UpdatedAt, f.cloud.seen.Operating = time.Now().Add(-time.Minute), "DEGRADED"
			f.cloud.tree.Listeners[0].Pools[0].Members[1].OperatingStatus = test.operating
			f.watch()
			if reads := slices.Contains(f.cloud.reads, "members"); reads != test.reads {
				t.Errorf("%s: members are read: %v", name, reads)
			}
		})
	}
}

// A listener with the metrics of the load balancer has no pool.
func TestWatch_ComparesPartsOfAllKinds(t *testing.T) {
	t.Parallel()
	metrics := octavia.Listener{ID: "metrics", Name: identity().ListenerName(9), Tags: identity().Tags(), Protocol: "PROMETHEUS", Port: 9000, AdminStateUp: true, ProvisioningStatus: model.StatusActive}
	for name, test := range map[string]struct {
		change func(*fixture)
		want   string
	}{
		"the same": {func(*fixture) {}, ""},
		"a pool is another": {func(f *fixture) {
			f.cloud.parts.Pools[0].ID, f.cloud.parts.Listeners[0].DefaultPoolID = "theirs", "theirs"
		}, state.ReasonChanged},
		"the listener without a pool is another": {func(f *fixture) { f.cloud.parts.Listeners[1].ID = "theirs" }, state.ReasonChanged},
		"a foreign pool came": {func(f *fixture) {
			f.cloud.parts.Pools = append(f.cloud.parts.Pools, octavia.Pool{ID: "theirs", Name: "theirs"})
		}, state.ReasonChanged},
	} {
		run(t, interval, func(f *fixture) {
			f.cloud.parts.Listeners = append(f.cloud.parts.Listeners, metrics)
			withContentsRead(f)
			f.change(func(a *state.Applied) { a.Confirmed = false })
			test.change(f)
			f.watch()
			if got := f.store.Get(uid).Drift.Reason; got != test.want {
				t.Errorf("%s: drift %q, want %q", name, got, test.want)
			}
		})
	}
}

// Annotations name a load balancer for people, the record is only for the next process.
func TestPersistRecords_RecordsNoLoadBalancerThatAnotherServiceEnters(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.change(func(a *state.Applied) { a.Persisted = state.Persisted{} })
		f.store.Update("guest", func(e *state.Entry) { e.Made.Enter("lb") })
		written := f.records(nil)
		f.advance(time.Minute)
		f.assertWritten(*written, address())
		f.assertRecorded()
		f.store.Update("guest", func(e *state.Entry) { e.Made.Entered = nil })
		f.advance(time.Minute)
		f.assertWritten(*written, address())
		f.assertRecorded(f.record())
	})
}

func TestPersistRecords_RecordsNothingAtItsEndThatAnotherServiceEnters(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.change(func(a *state.Applied) { a.Persisted = state.Persisted{} })
		f.store.Update("guest", func(e *state.Entry) { e.Made.Enter("lb") })
		if recorded := f.end(); len(recorded) > 0 {
			t.Errorf("recorded %q", recorded)
		}
	})
}

// The address of a confirmed state is written at once, that of a change of ours after the second of its updated_at.
func TestPersistRecords_WritesAddressOfAConfirmedStateAtOnce(t *testing.T) {
	t.Parallel()
	for confirmed, want := range map[bool]int{true: 1, false: 0} {
		run(t, interval, func(f *fixture) {
			written := f.records(nil)
			f.advance(3 * time.Second)
			f.change(func(a *state.Applied) {
				a.Confirmed, a.Seen.Since, a.Persisted.Address = confirmed, time.Now(), false
			})
			f.advance(2 * time.Second)
			if len(*written) != want {
				t.Errorf("confirmed %v: written %+v", confirmed, *written)
			}
			f.advance(5 * time.Second)
			f.assertWritten(*written, address())
		})
	}
}

func TestRecordOf_NamesWhatTheAnnotationsHold(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.change(func(a *state.Applied) {
			a.LoadBalancer.Named, a.LoadBalancer.Share, a.Persisted.Address = "named", "edge", false
		})
		written := f.records(nil)
		f.advance(10 * time.Second)
		want := address()
		want.Named, want.Share = "named", "edge"
		f.assertWritten(*written, want)
	})
}

func TestPersistRecords_WaitsBeforeItRemovesALeftLoadBalancer(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		written := f.records(nil)
		f.advance(3 * time.Second)
		f.store.Update(uid, func(e *state.Entry) {
			e.SetRouted(&state.Routed{Service: web(), LoadBalancer: &model.LoadBalancer{ID: "port"}, Since: time.Now()})
		})
		f.advance(2 * time.Second) // writes before may not have reached the informer
		f.assertWritten(*written)
		f.advance(5 * time.Second)
		f.assertWritten(*written, annotation.Record{Service: uid, Left: true})
	})
}

// Without a drift watch, states that this process is changing are confirmed after their change.
func TestPersistRecords_ConfirmsLaterWhatIsBeingChanged(t *testing.T) {
	t.Parallel()
	run(t, 0, func(f *fixture) {
		f.ensured()
		f.busy["lb"] = true
		f.records(nil)
		f.advance(time.Minute)
		f.assertReads()
		if f.applied().Confirmed || len(f.cloud.looks) != 1 {
			t.Errorf("confirmed %v after %d snapshots", f.applied().Confirmed, len(f.cloud.looks))
		}
		f.busy["lb"] = false
		f.advance(2 * time.Minute)
		f.assertReads("settings")
		if !f.applied().Confirmed {
			t.Error("it is not confirmed")
		}
	})
}
