package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// holding is what the controller of the case hold is told: to create Services and
// keep what it knows of them. It is a process of its own, so that its memory is not
// mixed with the simulated cloud's.
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

// held is what it tells in the end.
type held struct {
	RSSMiB     float64 `json:"rss_mib"`
	RSSPeakMiB float64 `json:"rss_peak_mib"`
	Allocs     uint64  `json:"allocs"`
	Retries    int     `json:"retries"`
}

// holdWorkers are many, so that the waits, which take real time here, are few.
const holdWorkers = 250

// hold measures the memory of a controller with many Services. Its cloud works in
// no time.
func hold(ctx context.Context, s scale) ([]Row, error) {
	s.workers = holdWorkers
	cloud, err := simulator.Start(simulator.Options{Config: simulator.Config{LoadBalancer: keys(s)}})
	if err != nil {
		return nil, err
	}
	defer cloud.Close()
	nodes, err := addNodes(cloud, s.nodes)
	if err != nil {
		return nil, err
	}
	told := holding{CloudConf: cloud.CloudConf(), Ports: s.ports, Services: s.services, Workers: s.workers}
	for _, node := range nodes {
		told.Nodes = append(told.Nodes, holdingNode{
			Name: node.Name, Address: node.Status.Addresses[0].Address, ServerID: node.Spec.ProviderID[len(providerIDPrefix):],
		})
	}
	cloud.Books.Reset()
	got, err := startChild(ctx, told)
	row := Row{
		Case: caseHold, Ports: s.ports, Nodes: s.nodes, Services: s.services, Provider: s.provider, Workers: s.workers,
		Floor: floorOf(caseHold, s), Peer: peerOf(caseHold, s), Alone: true,
		RSSMiB: got.RSSMiB, RSSPeakMiB: got.RSSPeakMiB, Allocs: got.Allocs, Retries: got.Retries,
	}
	row.count(cloud.Books.Requests(), cloud.Books.TotalCycles())
	if err != nil {
		row.Error = err.Error()
	}
	return []Row{row}, nil
}

func startChild(ctx context.Context, told holding) (held, error) {
	self, err := os.Executable()
	if err != nil {
		return held{}, fmt.Errorf("find this program: %w", err)
	}
	input, err := json.Marshal(told)
	if err != nil {
		return held{}, err
	}
	child := exec.CommandContext(ctx, self, "--hold")
	child.Stdin, child.Stderr = bytes.NewReader(input), os.Stderr
	output, err := child.Output()
	if err != nil {
		return held{}, fmt.Errorf("run the controller of the case hold: %w", err)
	}
	var got held
	return got, json.Unmarshal(output, &got)
}

// holdAsChild is the controller: it creates all Services, looks at each once more,
// and tells what memory it then has.
func holdAsChild(ctx context.Context, in io.Reader, out io.Writer) error {
	var told holding
	if err := json.NewDecoder(in).Decode(&told); err != nil {
		return fmt.Errorf("read what to hold: %w", err)
	}
	conf, err := parse(told.CloudConf)
	if err != nil {
		return err
	}
	clk := clock.RealClock{}
	c, err := newController(ctx, conf, clk, newNotes(), told.Workers)
	if err != nil {
		return err
	}
	defer c.close()
	var nodes []*v1.Node
	for _, n := range told.Nodes {
		nodes = append(nodes, newNode(n.Name, n.Address, n.ServerID))
	}
	services := newServices(told.Services, told.Ports)
	ensure := func(ctx context.Context, svc *v1.Service) error { return c.ensure(ctx, svc, nodes) }
	q := &queue{clock: clk, workers: told.Workers}
	before := allocations()
	if err := errors.Join(q.each(ctx, services, ensure), q.each(ctx, services, ensure)); err != nil {
		return err
	}
	got := held{Allocs: allocations() - before, Retries: int(q.retries.Load())}
	debug.FreeOSMemory()
	got.RSSMiB, got.RSSPeakMiB = residentMiB()
	return json.NewEncoder(out).Encode(got)
}
