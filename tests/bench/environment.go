package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/cost"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/memorynet"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

const (
	amphora = octavia.ProviderAmphora
	ovn     = octavia.ProviderOVN
)

// delays returns the delays of the providers.
func delays() map[string]octavia.Delays {
	return map[string]octavia.Delays{
		amphora: octavia.Delays(cost.Amphora()), ovn: octavia.Delays(cost.OVN()),
	}
}

// environment is a simulated cloud with a controller and nodes.
type environment struct {
	// network is within this process, because a bubble does not see data in the kernel.
	network *memorynet.Network
	cloud   *simulator.Cloud
	conf    *config.Config
	nodes   []*v1.Node
	notes   *notes
	// workers are those of the service controller.
	workers int

	controller *controller
}

// newEnvironment returns a cloud with so many servers, and a controller that has created a load
// balancer before, so that it has cached rarely changing data.
func newEnvironment(ctx context.Context, s scale, nodes int) (*environment, error) {
	env := &environment{
		network: &memorynet.Network{},
		notes:   newNotes(),

		workers: s.workers,
	}
	err := env.start(ctx, s, nodes)
	if err != nil {
		env.close()
		return nil, err
	}
	return env, nil
}

func (env *environment) start(ctx context.Context, s scale, nodes int) error {
	var err error
	env.cloud, err = simulator.Start(simulator.Options{
		Listen: env.network.Listen, Addr: "127.0.0.1:80",
		Delays: delays(), Quirks: octavia.Quirks{SecondResolution: true},
		Config:       simulator.Config{LoadBalancer: keys(s)},
		VIPPortDelay: cost.VIPPort,
	})
	if err != nil {
		return err
	}
	if env.conf, err = parse(env.cloud.CloudConf()); err != nil {
		return err
	}
	if env.nodes, err = addNodes(env.cloud, nodes); err != nil {
		return err
	}
	if env.controller, err = env.newController(ctx); err != nil {
		return err
	}
	return env.controller.watching(ctx, env.warmUp) // the program takes a snapshot when it starts
}

// keys returns the keys of [LoadBalancer].
func keys(s scale) map[string]string {
	all := map[string]string{
		"lb-provider": s.provider, "create-monitor": fmt.Sprint(s.monitors), "monitor-kube-proxy": fmt.Sprint(s.kubeProxy),
	}
	if s.provider == ovn {
		all["lb-method"] = "SOURCE_IP_PORT"
	}
	return all
}

func parse(text string) (*config.Config, error) {
	conf, _, err := config.Load(strings.NewReader(text), func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, fmt.Errorf("read the simulated cloud's cloud.conf: %w", err)
	}
	return conf, nil
}

func (env *environment) warmUp(ctx context.Context) error {
	svc := newService("first", 1)
	q := &queue{workers: 1, calls: &env.controller.calls}
	for _, do := range []func(context.Context, *v1.Service) error{
		func(ctx context.Context, svc *v1.Service) error {
			return env.controller.ensure(ctx, svc, env.nodes[:1])
		},
		env.controller.delete,
	} {
		if err := q.each(ctx, []*v1.Service{svc}, do); err != nil {
			return fmt.Errorf("make the first load balancer, or delete it: %w", err)
		}
	}
	time.Sleep(tail)
	return nil
}

func (env *environment) close() {
	if env.controller != nil {
		env.controller.close()
	}
	if env.cloud != nil {
		env.cloud.Close()
	}
}

// rest waits for a drift check, as it happens every few minutes: it confirms the changes, so that
// they are recorded.
func (env *environment) rest(ctx context.Context) error {
	return env.controller.watching(ctx, func(context.Context) error {
		time.Sleep(tail)
		return nil
	})
}

func (env *environment) newController(ctx context.Context) (*controller, error) {
	return newController(ctx, env.conf, env.network.Host().Dial, env.notes, env.workers)
}

// restart replaces the controller by one without a state.
func (env *environment) restart(ctx context.Context) error {
	env.controller.close()
	env.controller = nil
	next, err := env.newController(ctx)
	if err != nil {
		return fmt.Errorf("start the controller anew: %w", err)
	}
	env.controller = next
	return nil
}

// tail is how long after a case requests still count as its own: a change is checked once more when
// the second of its timestamp is over.
const tail = 10 * time.Second

// measure counts the cost of work. A failure of the work is recorded in the row.
func (env *environment) measure(ctx context.Context, name string, s scale, work func(context.Context) error) Row {
	synctest.Wait()
	env.cloud.RequestLog.Reset()
	row := Row{
		Case: name, Ports: s.ports, Nodes: s.nodes, Services: s.services, Provider: s.provider, Monitors: s.monitors, KubeProxy: s.kubeProxy,
		Workers: s.workers, Floor: floorOf(name, s), Peer: peerOf(name, s),
	}
	start, before := time.Now(), allocations()
	err := work(ctx)
	row.Seconds = time.Since(start).Seconds()
	if row.Floor.Seconds > 0 {
		row.Units = row.Seconds / row.Floor.Seconds
	}
	time.Sleep(tail)
	synctest.Wait()
	row.Allocs = allocations() - before
	row.count(env.cloud.RequestLog.Requests(), env.cloud.RequestLog.TotalCycles())
	row.RSSMiB, _ = residentMiB()
	if n := env.controller.drifted.Swap(0); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d load balancers were taken for changed by another client", n))
	}
	if err != nil {
		row.Error = err.Error()
	}
	return row
}
