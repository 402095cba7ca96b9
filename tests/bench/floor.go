package bench

import (
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/cost"
)

// Floor is the least that Octavia and Neutron allow: no call but the creation of a
// load balancer touches two of its children, and the load balancer is locked
// meanwhile.
type Floor struct {
	// Reads are those beside the watcher's.
	Reads  int `json:"reads"`
	Writes int `json:"writes"`
	Cycles int `json:"cycles"`
	// Seconds is the simulated cloud's own limit: it makes the load balancers of a
	// project one after the other, as long as Neutron makes their VIP ports, and works
	// on all of them at the same time after that.
	Seconds float64 `json:"seconds"`
}

// scale is how big a case is.
type scale struct {
	provider               string
	ports, nodes, services int
	monitors               bool
	// kubeProxy lets monitors ask kube-proxy (monitor-kube-proxy).
	kubeProxy bool
	workers   int
}

// overflow gives the number of pools whose members do not fit into the creation.
func overflow(s scale) int {
	return cost.Overflow(s.ports, s.nodes, s.provider == ovn)
}

// floorOf gives the floor of a case.
func floorOf(name string, s scale) Floor {
	one := floorOfOne(name, s)
	switch name {
	case caseIdle:
		// Each look for changes by others is a list of load balancers and one of
		// floating IPs, for all Services; one is at the start.
		return Floor{Reads: 2 * (1 + int(idleTime/lookInterval)), Seconds: idleTime.Seconds()}
	case caseRestart, caseHoldRestart:
		// The version of the API, load balancers, floating IPs: for all Services.
		return Floor{Reads: 3}
	}
	shared := 0
	if name == caseNodeAddManyCold {
		shared = 1 // the version of the API, which is asked for again after ten minutes
	}
	return Floor{
		Reads: one.Reads*s.services + shared, Writes: one.Writes * s.services, Cycles: one.Cycles * s.services,
		Seconds: workOf(name, s, one.Cycles).Seconds(),
	}
}

// lookInterval is the default of drift-interval.
const lookInterval = 5 * time.Minute

// workOf gives the least time that a case takes, with so many cycles of each load
// balancer.
func workOf(name string, s scale, cycles int) time.Duration {
	d := delays()[s.provider]
	switch name {
	case caseCreate, caseCreateMany:
		return time.Duration(s.services)*cost.VIPPort + d.Create + d.Children + time.Duration(cycles-1)*d.Update
	case caseDelete, caseDeleteMany:
		return d.Delete
	case caseHold, caseHoldNoop, caseHoldNodeAdd: // their cloud works in no time
		return 0
	}
	return time.Duration(cycles) * d.Update
}

func changing(writes int) Floor { return Floor{Writes: writes, Cycles: writes} }

// taking is a floor with so many reads.
func taking(c cost.Cost, reads int) Floor {
	return Floor{Reads: reads, Writes: c.Writes, Cycles: c.Cycles}
}

// floorOfOne gives the floor for one Service.
func floorOfOne(name string, s scale) Floor {
	switch name {
	case caseCreate, caseCreateMany, caseHold:
		// The read is the look before it that never makes a second one.
		return taking(cost.Create(overflow(s)), 1)
	case caseDelete, caseDeleteMany:
		return taking(cost.Delete(), 0)
	case caseNodeAdd, caseNodeRemove, caseNodeChurn, caseNodeAddMany, caseHoldNodeAdd:
		return taking(cost.NodesChange(s.ports), 0)
	case caseListenerChange, caseAffinityChange, caseMonitorOn, caseMonitorChange, caseMonitorOff:
		return changing(s.ports)
	case caseNodeAddCold, caseNodeAddManyCold:
		// Nobody knows the IDs any more: the status tree has them all.
		return taking(cost.NodesChange(s.ports), 1)
	case casePolicyChange:
		switch {
		case s.provider == ovn: // its monitors ask at the members' ports either way
			return changing(0)
		case s.kubeProxy: // only the members' monitor ports differ
			return changing(s.ports)
		}
		return changing(3 * s.ports) // TCP becomes HTTP: another monitor, at other ports
	case caseNodePortChange:
		return changing(1)
	case casePortAdd:
		if s.monitors {
			return changing(4)
		}
		return changing(3)
	case casePortRemove:
		return changing(2)
	case caseFloatingIPRemove, caseFloatingIPAdd:
		return Floor{Writes: 1}
	}
	return Floor{}
}

// Peer is what cloud-provider-openstack takes when each of its waits ends with the
// first look: all requests, and the writes among them.
type Peer struct {
	Requests int `json:"requests"`
	Writes   int `json:"writes"`
}

// peerOf returns the figures of cloud-provider-openstack, from closed forms that agree with what was
// counted of it, or nil where none was.
func peerOf(name string, s scale) *Peer {
	p, ok := peerOfOne(name, s)
	if !ok {
		return nil
	}
	return &Peer{Requests: p.Requests * s.services, Writes: p.Writes * s.services}
}

func peerOfOne(name string, s scale) (p Peer, known bool) {
	perPort := 2
	if s.monitors {
		perPort = 3
	}
	nothing := func(ports int) int { return 4 + perPort*ports }
	// Each write is followed by a wait; beside them it reads all as for a no-op.
	change := func(ports, writes int) (Peer, bool) {
		return Peer{Requests: nothing(ports) + 2*writes, Writes: writes}, true
	}
	switch name {
	case caseCreate, caseCreateMany, caseHold:
		// The annotations that it writes let it look at all of it once more.
		return Peer{Requests: 8 + nothing(s.ports), Writes: 2}, true
	case caseNoop, caseRestart, caseHoldNoop, caseHoldRestart:
		return Peer{Requests: nothing(s.ports)}, true
	case caseNodeAdd, caseNodeAddCold, caseNodeRemove, caseNodeChurn, caseNodeAddMany, caseNodeAddManyCold, caseHoldNodeAdd:
		return Peer{Requests: 2 + perPort*s.ports + 2*s.ports, Writes: s.ports}, true
	case caseDelete, caseDeleteMany:
		return Peer{Requests: 8, Writes: 2}, true
	case caseListenerChange, caseMonitorOn:
		return change(s.ports, s.ports)
	case casePortAdd:
		p, _ := change(s.ports+1, 3)
		return p, !s.monitors // with them nobody has counted
	case casePortRemove:
		return Peer{Requests: 15, Writes: 2}, s.ports == 3 && !s.monitors
	case casePolicyChange:
		return Peer{Requests: 31, Writes: 9}, s.ports == 3 && s.monitors && s.provider == amphora
	case caseIdle:
		return Peer{}, true
	}
	return Peer{}, false
}
