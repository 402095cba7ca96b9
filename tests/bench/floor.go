package bench

import (
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/cost"
)

// Floor is the minimum that Octavia and Neutron allow: except for the creation of a load balancer,
// no call changes two of its children, and each locks the load balancer.
type Floor struct {
	// Reads does not contain those of the watcher.
	Reads  int `json:"reads"`
	Writes int `json:"writes"`
	Cycles int `json:"cycles"`
	// Seconds is the simulated cloud's own limit. It creates the load balancers of a project one
	// after the other, while Neutron creates their VIP ports, and works on all of them concurrently
	// after that.
	Seconds float64 `json:"seconds"`
}

// scale is the size of a case.
type scale struct {
	provider               string
	ports, nodes, services int
	monitors               bool
	// kubeProxy makes monitors probe kube-proxy (monitor-kube-proxy).
	kubeProxy bool
	workers   int
}

// overflow returns the number of pools with members that do not fit into the creation.
func overflow(s scale) int {
	return cost.Overflow(s.ports, s.nodes, s.provider == ovn)
}

// floorOf returns the floor of a case.
func floorOf(name string, s scale) Floor {
	one := floorOfOne(name, s)
	switch name {
	case caseIdle:
		// Each drift check is a list of load balancers and one of floating IPs, for all Services;
		// the first is at the start.
		return Floor{Reads: 2 * (1 + int(idleTime/lookInterval)), Seconds: idleTime.Seconds()}
	case caseRestart, caseHoldRestart:
		// The version of the API, load balancers, floating IPs: for all Services.
		return Floor{Reads: 3}
	}
	shared := 0
	if name == caseNodeAddManyCold {
		shared = 1 // the version of the API, which is read again after ten minutes
	}
	return Floor{
		Reads: one.Reads*s.services + shared, Writes: one.Writes * s.services, Cycles: one.Cycles * s.services,
		Seconds: workOf(name, s, one.Cycles).Seconds(),
	}
}

// lookInterval is the default of drift-interval.
const lookInterval = 5 * time.Minute

// workOf returns the minimum time of a case with so many cycles of each load balancer.
func workOf(name string, s scale, cycles int) time.Duration {
	d := delays()[s.provider]
	switch name {
	case caseCreate, caseCreateMany:
		return time.Duration(s.services)*cost.VIPPort + d.Create + d.Children + time.Duration(cycles-1)*d.Update
	case caseDelete, caseDeleteMany:
		return d.Delete
	case caseHold, caseHoldNoop, caseHoldNodeAdd: // their cloud has no delays
		return 0
	}
	return time.Duration(cycles) * d.Update
}

func changing(writes int) Floor { return Floor{Writes: writes, Cycles: writes} }

// taking returns a floor with so many reads.
func taking(c cost.Cost, reads int) Floor {
	return Floor{Reads: reads, Writes: c.Writes, Cycles: c.Cycles}
}

// floorOfOne returns the floor for one Service.
func floorOfOne(name string, s scale) Floor {
	switch name {
	case caseCreate, caseCreateMany, caseHold:
		// The read is the search before it that prevents a duplicate.
		return taking(cost.Create(overflow(s)), 1)
	case caseDelete, caseDeleteMany:
		return taking(cost.Delete(), 0)
	case caseNodeAdd, caseNodeRemove, caseNodeChurn, caseScale, casePodsNodeLost, caseNodeAddMany, caseHoldNodeAdd:
		return taking(cost.NodesChange(s.ports), 0)
	case caseListenerChange, caseAffinityChange, caseMonitorOn, caseMonitorChange, caseMonitorOff:
		return changing(s.ports)
	case caseNodeAddCold, caseNodeAddManyCold:
		// The IDs are unknown: the status tree has all of them.
		return taking(cost.NodesChange(s.ports), 1)
	case casePolicyChange:
		switch {
		case s.provider == ovn: // its monitors probe the members' ports in both cases
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

// Peer is the cost of cloud-provider-openstack if each of its waits ends with the first poll: all
// requests, and the writes among them.
type Peer struct {
	Requests int `json:"requests"`
	Writes   int `json:"writes"`
}

// peerOf returns the figures of cloud-provider-openstack, from formulas that agree with the counted
// ones, or nil if there is none.
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
	// Each write is followed by a wait; in addition it reads everything as in a no-op.
	change := func(ports, writes int) (Peer, bool) {
		return Peer{Requests: nothing(ports) + 2*writes, Writes: writes}, true
	}
	switch name {
	case caseCreate, caseCreateMany, caseHold:
		// Its annotations cause another full read.
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
		return p, !s.monitors // there are no figures with monitors
	case casePortRemove:
		return Peer{Requests: 15, Writes: 2}, s.ports == 3 && !s.monitors
	case casePolicyChange:
		return Peer{Requests: 31, Writes: 9}, s.ports == 3 && s.monitors && s.provider == amphora
	case caseIdle:
		return Peer{}, true
	}
	return Peer{}, false
}
