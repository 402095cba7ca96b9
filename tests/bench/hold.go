package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// holding is the input of the controller of the hold cases: the Services to create and keep. It is
// a separate process, so that its memory and CPU time are not mixed with those of the simulated
// cloud.
type holding struct {
	CloudConf string        `json:"cloud_conf"`
	Ports     int           `json:"ports"`
	Services  int           `json:"services"`
	Workers   int           `json:"workers"`
	Nodes     []holdingNode `json:"nodes"`
}

type holdingNode struct {
	Name     string `json:"name"`
	Address  string `json:"address"`
	ServerID string `json:"server_id"`
}

// held is its report of each case.
type held struct {
	RSSMiB     float64 `json:"rss_mib"`
	RSSPeakMiB float64 `json:"rss_peak_mib"`
	Allocs     uint64  `json:"allocs"`
	CPUSeconds float64 `json:"cpu_seconds"`
	Retries    int     `json:"retries"`
	Error      string  `json:"error,omitempty"`
}

// holdWorkers are many, so that the waits, which take real time here, are few.
const holdWorkers = 250

// holdCases returns the cases in their order.
func holdCases() []string { return []string{caseHold, caseHoldNoop, caseHoldNodeAdd, caseHoldRestart} }

// hold measures memory, CPU time and allocations of a controller with many Services. Its cloud has
// no delays.
func hold(ctx context.Context, s scale) ([]Row, error) {
	s.workers = holdWorkers
	cloud, err := simulator.Start(simulator.Options{Config: simulator.Config{LoadBalancer: keys(s)}})
	if err != nil {
		return nil, err
	}
	defer cloud.Close()
	nodes, err := addNodes(cloud, s.nodes+1) // the last one is added later
	if err != nil {
		return nil, err
	}
	setup := holding{CloudConf: cloud.CloudConf(), Ports: s.ports, Services: s.services, Workers: s.workers}
	for _, node := range nodes {
		setup.Nodes = append(setup.Nodes, holdingNode{
			Name: node.Name, Address: node.Status.Addresses[0].Address, ServerID: node.Spec.ProviderID[len(providerIDPrefix):],
		})
	}
	var rows []Row
	err = withChild(ctx, setup, func(play func(name string) (held, error)) error {
		for _, name := range holdCases() {
			cloud.RequestLog.Reset()
			got, err := play(name)
			if err != nil {
				return fmt.Errorf("case %s: %w", name, err)
			}
			row := Row{
				Case: name, Ports: s.ports, Nodes: s.nodes, Services: s.services, Provider: s.provider, Workers: s.workers,
				Floor: floorOf(name, s), Peer: peerOf(name, s), Alone: true, Error: got.Error,
				RSSMiB: got.RSSMiB, RSSPeakMiB: got.RSSPeakMiB, Allocs: got.Allocs, CPUSeconds: got.CPUSeconds, Retries: got.Retries,
			}
			row.count(cloud.RequestLog.Requests(), cloud.RequestLog.TotalCycles())
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}

// withChild runs the controller while use plays cases on it.
func withChild(ctx context.Context, setup holding, use func(play func(name string) (held, error)) error) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	child := exec.CommandContext(ctx, self, "--hold")
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return fmt.Errorf("run the controller of the hold cases: %w", err)
	}
	in, out := json.NewEncoder(stdin), json.NewDecoder(stdout)
	err = in.Encode(setup)
	if err == nil {
		err = use(func(name string) (got held, err error) {
			if err := in.Encode(name); err != nil {
				return held{}, err
			}
			return got, out.Decode(&got)
		})
	}
	return errors.Join(err, stdin.Close(), child.Wait())
}

// holdAsChild is the controller: it reads names of cases, runs them until there are no more, and
// reports the cost of each.
func holdAsChild(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	names, results := json.NewDecoder(in), json.NewEncoder(out)
	var setup holding
	if err := names.Decode(&setup); err != nil {
		return fmt.Errorf("read what to hold: %w", err)
	}
	h, err := newHolder(ctx, setup)
	if err != nil {
		return err
	}
	defer func() { h.controller.close() }()
	for {
		var name string
		if err := names.Decode(&name); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the next case: %w", err)
		}
		if err := results.Encode(h.measure(ctx, name)); err != nil {
			return err
		}
	}
}

// holder is a controller with its Services.
type holder struct {
	controller *controller
	conf       *config.Config
	notes      *notes
	workers    int
	services   []*v1.Service
	nodes      []*v1.Node
}

func newHolder(ctx context.Context, setup holding) (*holder, error) {
	conf, err := parse(setup.CloudConf)
	if err != nil {
		return nil, err
	}
	conf.LoadBalancer.DriftInterval.Duration = time.Second // in the real time of this case
	h := &holder{conf: conf, notes: newNotes(), workers: setup.Workers, services: newServices(setup.Services, setup.Ports)}
	for _, n := range setup.Nodes {
		h.nodes = append(h.nodes, newNode(n.Name, n.Address, n.ServerID))
	}
	h.controller, err = newController(ctx, conf, nil, h.notes, h.workers)
	return h, err
}

// measure runs a case and returns its cost.
func (h *holder) measure(ctx context.Context, name string) held {
	q := &queue{workers: h.workers, calls: &h.controller.calls}
	allocs, cpu := allocations(), cpuSeconds()
	written := h.notes.all()
	err := h.play(ctx, q, name)
	got := held{Allocs: allocations() - allocs, CPUSeconds: cpuSeconds() - cpu, Retries: int(q.retries.Load())}
	if err == nil && name == caseHoldNodeAdd { // the next case is a restart
		err = h.controller.watching(ctx, func(ctx context.Context) error { return h.rewritten(ctx, written) })
	}
	if err != nil {
		got.Error = err.Error()
	}
	debug.FreeOSMemory()
	got.RSSMiB, got.RSSPeakMiB = residentMiB()
	return got
}

func (h *holder) play(ctx context.Context, q *queue, name string) error {
	before, all := h.nodes[:len(h.nodes)-1], h.nodes
	ensure := func(nodes []*v1.Node) func(context.Context, *v1.Service) error {
		return func(ctx context.Context, svc *v1.Service) error { return h.controller.ensure(ctx, svc, nodes) }
	}
	switch name {
	case caseHold, caseHoldNoop:
		return q.each(ctx, h.services, ensure(before))
	case caseHoldNodeAdd:
		return q.each(ctx, h.services, func(ctx context.Context, svc *v1.Service) error { return h.controller.repair(ctx, svc, all) })
	case caseHoldRestart:
		h.controller.close()
		next, err := newController(ctx, h.conf, nil, h.notes, h.workers)
		if err != nil {
			return err
		}
		h.controller, q.calls = next, &next.calls
		return q.each(ctx, h.services, ensure(all))
	}
	return fmt.Errorf("no such case %q", name)
}

// rewritten waits until the controller has written new records of every Service.
func (h *holder) rewritten(ctx context.Context, before map[types.UID]string) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		now := h.notes.all()
		for name, text := range before {
			if now[name] == text {
				return false, nil
			}
		}
		return len(now) == len(h.services), nil
	})
}
