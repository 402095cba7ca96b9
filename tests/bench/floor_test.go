package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFloor_CountsPoolsThatDoNotFitCreation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ports, nodes, want, ovn int }{
		{1, 1000, 0, 0}, {3, 3, 0, 0}, {3, 368, 0, 0}, {3, 375, 0, 1}, {3, 735, 0, 2}, {3, 1000, 1, 2}, {10, 100, 0, 0}, {10, 300, 3, 7}, {10, 1000, 8, 9},
	} {
		if got := overflow(scale{provider: amphora, ports: c.ports, nodes: c.nodes}); got != c.want {
			t.Errorf("%d ports and %d nodes: %d pools do not fit, want %d", c.ports, c.nodes, got, c.want)
		}
		if got := overflow(scale{provider: ovn, ports: c.ports, nodes: c.nodes}); got != c.ovn {
			t.Errorf("%d ports and %d nodes of ovn: %d pools do not fit, want %d", c.ports, c.nodes, got, c.ovn)
		}
	}
}

func TestFloor_DependsOnCaseAndScale(t *testing.T) {
	t.Parallel()
	three := scale{provider: amphora, ports: 3, nodes: 100, services: 1}
	hundred, monitored := three, three
	hundred.services, monitored.monitors = 100, true
	for _, c := range []struct {
		name string
		at   scale
		want Floor
	}{
		{caseCreate, three, Floor{Reads: 1, Writes: 2, Cycles: 1, Seconds: 46}},
		{caseCreate, scale{provider: ovn, ports: 3, nodes: 1000, services: 1}, Floor{Reads: 1, Writes: 4, Cycles: 3, Seconds: 4}},
		{caseNoop, hundred, Floor{}},
		{caseIdle, hundred, Floor{Reads: 26, Seconds: 3600}},
		{caseRestart, hundred, Floor{Reads: 3}},
		{caseRollout, three, Floor{}},
		{caseScale, three, Floor{Writes: 3, Cycles: 3, Seconds: 9}},
		{casePodsNodeLost, three, Floor{Writes: 3, Cycles: 3, Seconds: 9}},
		{caseNodeAdd, three, Floor{Writes: 3, Cycles: 3, Seconds: 9}},
		{caseNodeAddMany, hundred, Floor{Writes: 300, Cycles: 300, Seconds: 9}},
		{caseNodePortChange, three, Floor{Writes: 1, Cycles: 1, Seconds: 3}},
		{casePortAdd, three, Floor{Writes: 3, Cycles: 3, Seconds: 9}},
		{casePortAdd, monitored, Floor{Writes: 4, Cycles: 4, Seconds: 12}},
		{casePortRemove, monitored, Floor{Writes: 2, Cycles: 2, Seconds: 6}},
		{casePolicyChange, monitored, Floor{Writes: 9, Cycles: 9, Seconds: 27}},
		{casePolicyChange, scale{provider: ovn, ports: 3, services: 1}, Floor{}},
		{caseFloatingIPAdd, three, Floor{Writes: 1}},
		{caseDeleteMany, hundred, Floor{Writes: 200, Cycles: 100, Seconds: 5}},
	} {
		if diff := cmp.Diff(c.want, floorOf(c.name, c.at)); diff != "" {
			t.Errorf("%s, %s: %s", c.name, c.at, diff)
		}
	}
}

// TestPeer_AgreesInClosedFormWithWhatWasCounted compares with the counted figures of
// cloud-provider-openstack, with three nodes, a floating IP, and waits that end with the first
// poll.
func TestPeer_AgreesInClosedFormWithWhatWasCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		ports    int
		monitors bool
		want     Peer
	}{
		{caseCreate, 1, false, Peer{8 + 6, 2}},
		{caseCreate, 3, true, Peer{8 + 13, 2}},
		{caseNoop, 1, false, Peer{6, 0}},
		{caseNoop, 3, false, Peer{10, 0}},
		{caseNoop, 3, true, Peer{13, 0}},
		{caseNodeAdd, 1, false, Peer{6, 1}},
		{caseNodeAdd, 3, false, Peer{14, 3}},
		{caseNodeAdd, 3, true, Peer{17, 3}},
		{caseListenerChange, 3, false, Peer{16, 3}},
		{casePortAdd, 3, false, Peer{18, 3}},
		{casePortRemove, 3, false, Peer{15, 2}},
		{caseMonitorOn, 3, false, Peer{16, 3}},
		{casePolicyChange, 3, true, Peer{31, 9}},
		{caseDelete, 3, false, Peer{6 + 2, 2}},
	} {
		got := peerOf(c.name, scale{provider: amphora, ports: c.ports, nodes: 3, services: 1, monitors: c.monitors})
		if diff := cmp.Diff(&c.want, got); diff != "" {
			t.Errorf("%s with %d ports: %s", c.name, c.ports, diff)
		}
	}
	if got := peerOf(caseNodePortChange, scale{ports: 3}); got != nil {
		t.Errorf("a figure that nobody counted: %v", got)
	}
	if got := peerOf(caseNodeAddMany, scale{ports: 3, services: 100}); *got != (Peer{1400, 300}) {
		t.Errorf("a hundred Services: %v", got)
	}
}
