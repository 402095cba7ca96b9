package drift_test

import (
	"errors"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// The reads after a snapshot, and the resulting knowledge.
func TestWatch_ReadsWhatASnapshotDoesNotShow(t *testing.T) {
	t.Parallel()
	const tree, settings, members = "status tree", "settings", "members"
	unconfirmed := func(f *fixture) {
		f.change(func(a *state.Applied) { a.Confirmed, a.Persisted.Record = false, false })
	}
	moved := func(f *fixture) { f.cloud.seen.UpdatedAt = time.Now().Add(-time.Minute) }
	health := func(f *fixture) {
		moved(f)
		f.cloud.seen.Operating = "DEGRADED"
	}
	for name, test := range map[string]struct {
		given     []func(*fixture)
		reads     []string
		drift     string
		confirmed bool
	}{
		"nothing changed":                  {confirmed: true},
		"not confirmed yet":                {given: given(unconfirmed), reads: []string{settings}, confirmed: true},
		"not confirmed, and changed":       {given: given(unconfirmed, foreignListener), reads: []string{settings}, drift: state.ReasonChanged},
		"not confirmed, changed just now":  {given: given(unconfirmed, justNow)},
		"not confirmed, nothing is known":  {given: given(unconfirmed, noContents), drift: state.ReasonChanged},
		"restored, as it was recorded":     {given: given(restored), reads: []string{settings}, confirmed: true},
		"restored, just now":               {given: given(restored, justNow)},
		"restored, the read fails":         {given: given(restored, failingReads), reads: []string{settings}},
		"restored, another listener":       {given: given(restored, foreignListener), reads: []string{settings}, drift: state.ReasonChanged},
		"restored, another pool":           {given: given(restored, waitingPool), reads: []string{settings}, drift: state.ReasonChanged},
		"restored, a setting":              {given: given(restored, otherAlgorithm), reads: []string{settings}, drift: state.ReasonChanged},
		"restored, a member is new":        {given: given(restored, newMember), reads: []string{settings}, drift: state.ReasonChanged},
		"restored, a member is another":    {given: given(restored, anotherMember), reads: []string{settings}, drift: state.ReasonChanged},
		"restored, switched off":           {given: given(restored, switchedOff), reads: []string{settings}, drift: state.ReasonChanged},
		"restored, a health monitor":       {given: given(withMonitor, restored), reads: []string{settings}, confirmed: true},
		"restored, another health monitor": {given: given(withMonitor, restored, anotherMonitor), reads: []string{settings}, drift: state.ReasonChanged},
		"restored, and it moved":           {given: given(restored, moved), drift: state.ReasonChanged},
		"updated_at moved":                 {given: given(moved), reads: []string{settings, members}},
		"it moved, members' settings too":  {given: given(moved, membersChanged), reads: []string{settings, members}, drift: state.ReasonChanged},
		"health, and members' settings":    {given: given(health, offlineInTree, membersChanged), reads: []string{tree, members}, drift: state.ReasonChanged},
		"others' change, members' settings": {
			given: given(unconfirmed, byOthers, membersChanged), reads: []string{settings, members}, drift: state.ReasonChanged,
		},
		"it moved long ago":                {given: given(longAgo), reads: []string{settings, members}, confirmed: true},
		"it moved, another listener":       {given: given(moved, foreignListener), reads: []string{settings}, drift: state.ReasonChanged},
		"it moved, a pool that waits":      {given: given(waitingPool, withContentsRead, moved), reads: []string{settings, members}},
		"it moved, another pool":           {given: given(moved, waitingPool), reads: []string{settings}, drift: state.ReasonChanged},
		"it moved, a setting":              {given: given(moved, otherProtocolPort), reads: []string{settings}, drift: state.ReasonChanged},
		"it moved, a member is new":        {given: given(moved, newMember), reads: []string{settings}, drift: state.ReasonChanged},
		"it moved, the VIP's policy":       {given: given(withPolicy, moved), reads: []string{settings}, drift: state.ReasonChanged},
		"it moved, with a floating IP":     {given: given(withFloatingIP, moved), reads: []string{settings, members}},
		"it moved, and the floating IP":    {given: given(withFloatingIP, moved, floatingIPGone), drift: state.ReasonChanged},
		"it moved, switched off":           {given: given(moved, switchedOff), reads: []string{settings}, drift: state.ReasonChanged},
		"it moved, after a restart":        {given: given(moved, noContents), drift: state.ReasonChanged},
		"it moved, the read fails":         {given: given(moved, failingReads), reads: []string{settings}, confirmed: true},
		"health moved too":                 {given: given(health), reads: []string{tree}},
		"health, long ago":                 {given: given(health, longAgo), reads: []string{tree}},
		"health, a member is switched off": {given: given(health, offlineInTree), reads: []string{tree, members}},
		"health, a drained member":         {given: given(withDrained, health, drainedInTree), reads: []string{tree}},
		"health, a drained one is back":    {given: given(withDrained, health), reads: []string{tree, members}},
		"health, it is in ERROR itself":    {given: given(health, errorInTree), reads: []string{tree}, drift: state.ReasonChanged},
		"health, a member is drained":      {given: given(health, drainedInTree), reads: []string{tree, members}},
		"health, a member is gone":         {given: given(health, goneInTree), reads: []string{tree}, drift: state.ReasonChanged},
		"health, a part is in ERROR":       {given: given(health, brokenInTree), reads: []string{tree}, drift: state.ReasonChanged},
		"health, the read fails":           {given: given(health, failingReads), reads: []string{tree}, confirmed: true},
		"it is gone":                       {given: given(gone), drift: "the load balancer is gone"},
		"another client is changing it":    {given: given(pending), confirmed: true},
		"others changed it, not confirmed": {given: given(unconfirmed, byOthers), reads: []string{settings, members}, confirmed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, interval, func(f *fixture) {
				for _, change := range test.given {
					change(f)
				}
				f.watch()
				f.assertReads(test.reads...)
				f.assertDrift(test.drift)
				if seen := len(f.seen) > 0; seen != (test.drift == "") {
					t.Errorf("the health in the cloud is reported: %v", seen)
				}
				switch known := f.applied(); {
				case (known == nil) != (test.drift != ""):
					t.Errorf("known is %+v", known)
				case known != nil && known.Confirmed != test.confirmed:
					t.Errorf("confirmed is %v, want %v", known.Confirmed, test.confirmed)
				case test.confirmed && known.Seen.ChangedByOthers:
					t.Error("it is confirmed, and changed by others")
				}
			})
		})
	}
}

func given(changes ...func(*fixture)) []func(*fixture) { return changes }

func justNow(f *fixture) { f.change(func(a *state.Applied) { a.Seen.Since = time.Now() }) }

func noContents(f *fixture) {
	f.change(func(a *state.Applied) { a.Depth, a.Contents = model.Listed, nil })
}

// restored gives the Service the state after a restart: the applied state is unconfirmed.
func restored(f *fixture) {
	f.t.Helper()
	f.change(func(a *state.Applied) { a.Confirmed, a.Persisted.Record = false, false })
	recorded, ok := state.ParseRecord(f.end()[0])
	if !ok || recorded.Parts == "" {
		f.t.Fatalf("recorded is %+v", recorded)
	}
	f.cloud.recorded = nil
	asked := f.cloud.contents()
	for i := range asked.Listeners {
		l := &asked.Listeners[i]
		l.ID, l.Pool.ID, l.Pool.Members = "", "", model.Members{}
	}
	f.change(func(a *state.Applied) {
		a.Depth, a.Contents, a.Parts = model.Listed, asked, recorded.Parts
	})
}

func otherAlgorithm(f *fixture) { f.cloud.parts.Pools[0].Algorithm = "SOURCE_IP" }

func anotherMember(f *fixture) { f.cloud.parts.Pools[0].Members[0].ID = "theirs" }

func withMonitor(f *fixture) {
	f.cloud.parts.Pools[0].MonitorID = "monitor"
	f.cloud.parts.Monitors = map[string]octavia.HealthMonitor{"monitor": {
		ID: "monitor", Type: "TCP", Delay: 5, Timeout: 3, MaxRetries: 1, AdminStateUp: true, ProvisioningStatus: model.StatusActive,
	}}
	withContentsRead(f)
}

func anotherMonitor(f *fixture) {
	m := f.cloud.parts.Monitors["monitor"]
	m.ID, f.cloud.parts.Pools[0].MonitorID = "theirs", "theirs"
	f.cloud.parts.Monitors = map[string]octavia.HealthMonitor{"theirs": m}
}

func byOthers(f *fixture) { f.change(func(a *state.Applied) { a.Seen.ChangedByOthers = true }) }

func membersChanged(f *fixture) { f.cloud.membersChanged = true }

func longAgo(f *fixture) { f.cloud.seen.UpdatedAt = time.Now().Add(-state.AtRest - time.Second) }

func foreignListener(f *fixture) {
	f.cloud.parts.Listeners = append(f.cloud.parts.Listeners, octavia.Listener{ID: "theirs", Name: "theirs", Protocol: "TCP", Port: 9000, AdminStateUp: true})
}

// waitingPool is a pool of the Service without a listener, as a refused listener leaves it.
func waitingPool(f *fixture) {
	f.cloud.parts.Pools = append(f.cloud.parts.Pools, octavia.Pool{ID: "waits", Name: identity().PoolName(1), Tags: identity().Tags(), Protocol: "TCP"})
}

func withContentsRead(f *fixture) { f.withContents(func(*model.LoadBalancer) {}) }

func otherProtocolPort(f *fixture) { f.cloud.parts.Listeners[0].Port = 81 }

func newMember(f *fixture) {
	f.cloud.parts.Pools[0].Members = append(f.cloud.parts.Pools[0].Members, octavia.ObjectID{ID: "theirs"})
}

func switchedOff(f *fixture) { f.cloud.seen.AdminDown = true }

func failingReads(f *fixture) { f.cloud.readErr = errors.New("broken") }

func gone(f *fixture) { f.cloud.seen.ID = "" }

func pending(f *fixture) {
	f.cloud.seen.Status, f.cloud.seen.UpdatedAt = model.StatusPendingUpdate, time.Now()
}

// withContents replaces the contents that were applied.
func (f *fixture) withContents(change func(*model.LoadBalancer)) {
	lb := f.cloud.contents()
	change(lb)
	f.change(func(a *state.Applied) { a.Contents = lb })
}

func withPolicy(f *fixture) {
	f.withContents(func(lb *model.LoadBalancer) { lb.VIP.QoSPolicyID = "policy" })
}

func withDrained(f *fixture) {
	f.withContents(func(lb *model.LoadBalancer) {
		drained := lb.Listeners[0].Pool.Members.At(0)
		drained.Drained = true
		lb.Listeners[0].Pool.Members = lb.Listeners[0].Pool.Members.With(model.MembersOf(drained))
	})
}

func withFloatingIP(f *fixture) {
	f.withContents(func(lb *model.LoadBalancer) { lb.FloatingIP = &model.FloatingIP{ID: "fip"} })
	f.change(func(a *state.Applied) { a.LoadBalancer.FloatingIPID = "fip" })
	f.cloud.seen.VIPPortID = "vip"
	f.cloud.floatingIPs = []project.FloatingIP{{ID: "fip", PortID: "vip"}}
}

func floatingIPGone(f *fixture) { f.cloud.floatingIPs = nil }

func errorInTree(f *fixture) { f.cloud.tree.ProvisioningStatus = model.StatusError }

func offlineInTree(f *fixture) {
	f.cloud.tree.Listeners[0].Pools[0].Members[0].OperatingStatus = "OFFLINE"
}

func drainedInTree(f *fixture) {
	f.cloud.tree.Listeners[0].Pools[0].Members[0].OperatingStatus = "DRAINING"
}

func goneInTree(f *fixture) {
	pool := &f.cloud.tree.Listeners[0].Pools[0]
	pool.Members = pool.Members[:1]
}

func brokenInTree(f *fixture) {
	f.cloud.tree.Listeners[0].ProvisioningStatus = model.StatusError
}

// The digest without nodes does not cover members out of service, and the record has another
// updated_at.
func TestWatch_KnowsMembersThatAreOutOfService(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		at := time.Now()
		f.cloud.seen.UpdatedAt, f.cloud.drained = at, []string{"b"}
		f.watch()
		f.assertDrift("")
		known := f.applied()
		if !known.Seen.UpdatedAt.Equal(at) || !known.Seen.Since.Equal(at) || !known.Seen.ChangedByOthers || known.Persisted.Record || known.Digests.Nodeless != "" {
			t.Errorf("known is %+v", known)
		}
		lb := known.Contents
		if members := lb.Listeners[0].Pool.Members; members.At(0).Drained || !members.At(1).Drained || !lb.UpdatedAt.Equal(at) {
			t.Errorf("contents are %+v", lb)
		}
	})
}

// A round that repairs the Service must not trust the wrong record.
func TestWatch_DiscreditsARecordThatIsNotConfirmed(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		restored(f)
		newMember(f)
		f.watch()
		f.assertDrift(state.ReasonChanged)
		if len(f.cloud.recorded) != 1 {
			t.Fatalf("recorded %q", f.cloud.recorded)
		}
		if got, ok := state.ParseRecord(f.cloud.recorded[0]); !ok || got.LoadBalancerID != "lb" || got.Digests != (state.Digests{}) {
			t.Errorf("recorded is %+v", got)
		}
	})
}

func TestPersistRecords_RecordsWhatWasRestoredOnceItIsConfirmed(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		restored(f)
		f.records(nil)
		f.advance(time.Minute)
		f.assertRecorded()
		f.watch()
		f.advance(time.Minute)
		f.assertRecorded(f.record())
		if known := f.applied(); !known.Confirmed || known.Contents != nil || known.Parts != "" {
			t.Errorf("known is %+v", known)
		}
	})
}
