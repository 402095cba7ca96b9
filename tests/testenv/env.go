// Package testenv is the environment of the sweep, the walks and the soak: a cluster with its
// controllers and its cloud in one process, with a simulated clock. It has a simulated OpenStack,
// the objects of the API server, and processes of the controller that can be killed at any moment
// and are started again, as by a kubelet. It records the served and the open addresses at every
// moment (Exposure), and the final state (Books).
//
// All of it runs in a bubble of testing/synctest, where the real clock is the bubble's.
package testenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/go-logr/logr"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/cost"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/memorynet"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Options are the parts of an environment. The zero value has today's OpenStack, and no nodes.
type Options struct {
	// Simulator has the options of the cloud. The default delays are those of real providers;
	// Listen is set by the environment.
	Simulator simulator.Options
	// Keys are the keys of [LoadBalancer] in cloud.conf.
	Keys map[string]string
	// ClusterName is the value of --cluster-name, "kubernetes" if it is empty; ClusterUID is the
	// UID of the namespace kube-system, the constant ClusterUID if it is empty.
	ClusterName, ClusterUID string
	// SecondNetwork gives servers an address in a second network, which is the first one of their Nodes.
	SecondNetwork bool
	// Instances and Routes run the controllers of nodes and of routes, too.
	Instances, Routes bool
	// DriftInterval is the interval of the controllers' drift checks; 0 means the constant
	// DriftInterval.
	DriftInterval time.Duration
	// Log gets the log of the controller and the failed requests; it may be nil.
	Log io.Writer
}

// Env is a test environment. Its methods may be called from many goroutines.
type Env struct {
	Cloud   *simulator.Cloud
	Cluster *Cluster
	Conf    *config.Config

	options Options
	network *memorynet.Network
	// second is the subnet of the second network.
	second  neutron.Subnet
	records *records
	events  *events
	end     context.CancelFunc
	ended   sync.WaitGroup

	mu       sync.Mutex
	process  *process // nil between two
	last     time.Time
	requests int // at the last change
	restarts int
	gone     []string // Nodes that were deleted
}

// ClusterUID is the default UID of the namespace kube-system.
const ClusterUID = "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11"

// DriftInterval is the default interval of the drift checks of an Env.
const DriftInterval = time.Minute

// Restart is the time until another process has the lease of one that is gone.
const Restart = 20 * time.Second

// New returns an Env with a cloud. Start starts its controller. The caller closes it.
func New(options Options) (*Env, error) {
	network := &memorynet.Network{}
	options.Simulator.Listen = network.Listen
	options.Simulator.Addr = "127.0.0.1:80"
	if options.Simulator.Delays == nil {
		options.Simulator.Delays = map[string]octavia.Delays{
			octavia.ProviderAmphora: octavia.Delays(cost.Amphora()), octavia.ProviderOVN: octavia.Delays(cost.OVN()),
		}
	}
	options.ClusterName = cmp.Or(options.ClusterName, "kubernetes")
	options.ClusterUID = cmp.Or(options.ClusterUID, ClusterUID)
	cloud, err := simulator.Start(options.Simulator)
	if err != nil {
		return nil, err
	}
	env := &Env{
		Cloud: cloud, Cluster: newCluster(), options: options, network: network,
		records: &records{texts: map[types.UID]string{}}, events: &events{}, last: time.Now(), end: func() {},
	}
	err = env.Configure(options.Keys)
	if err == nil && options.SecondNetwork {
		err = env.addSecondNetwork()
	}
	if err != nil {
		cloud.Close()
		return nil, err
	}
	cloud.Octavia.Subscribe(env.touch)
	cloud.Neutron.Subscribe(env.touch)
	return env, nil
}

// Configure replaces the keys of [LoadBalancer] for later processes.
func (env *Env) Configure(keys map[string]string) error {
	text := env.Cloud.CloudConfFor(env.Cloud.Account, simulator.Config{LoadBalancer: keys})
	return env.ConfigureText(text)
}

// ConfigureText replaces cloud.conf for later processes.
func (env *Env) ConfigureText(text string) error {
	conf, _, err := config.Load(strings.NewReader(text), func(string) (string, bool) { return "", false })
	if err != nil {
		return fmt.Errorf("cloud.conf of the environment: %w", err)
	}
	conf.LoadBalancer.DriftInterval.Duration = cmp.Or(env.options.DriftInterval, DriftInterval)
	env.mu.Lock()
	defer env.mu.Unlock()
	env.Conf = conf
	return nil
}

// Reload replaces cloud.conf for the running process, which takes the credentials, and for later
// ones. An error changes nothing.
func (env *Env) Reload(ctx context.Context, text string) (err error) {
	env.mu.Lock()
	before, p := env.Conf, env.process
	env.mu.Unlock()
	if err := env.ConfigureText(text); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			env.mu.Lock()
			env.Conf = before
			env.mu.Unlock()
		}
	}()
	if p == nil {
		return nil // the next process reads it
	}
	p.mu.Lock()
	session := p.session
	p.mu.Unlock()
	if session == nil {
		return errors.New("the process is still signing in with what it had")
	}
	env.mu.Lock()
	global := env.Conf.Global
	env.mu.Unlock()
	return session.Replace(ctx, global, session.Secured())
}

// Forget drops the recorded requests and events, and the state of Services that are gone. A long
// run would otherwise only grow.
func (env *Env) Forget() {
	env.Cloud.RequestLog.Forget()
	env.touch()
	env.events.forget()
	living := map[types.UID]bool{}
	for _, svc := range env.Cluster.Services() {
		living[svc.UID] = true
	}
	env.records.mu.Lock()
	maps.DeleteFunc(env.records.texts, func(uid types.UID, _ string) bool { return !living[uid] })
	env.records.mu.Unlock()
	env.mu.Lock()
	env.gone = nil
	env.mu.Unlock()
}

// Start starts a process of the controller, and another one whenever it has ended, until Close.
func (env *Env) Start(ctx context.Context) {
	ctx, env.end = context.WithCancel(ctx)
	ctx = klog.NewContext(ctx, env.logger())
	env.ended.Go(func() {
		for ctx.Err() == nil {
			env.live(ctx)
			env.mu.Lock()
			env.restarts++
			env.mu.Unlock()
			_ = sleep(ctx, Restart) // Close ends the loop
		}
	})
}

// logger returns a logger that writes to Options.Log.
func (env *Env) logger() logr.Logger {
	if env.options.Log == nil {
		return logr.Discard()
	}
	return newLogger(env.options.Log)
}

// Kill ends the process of the controller at once: all its later requests fail. It does not wait.
func (env *Env) Kill() {
	if p := env.running(); p != nil {
		p.kill()
	}
}

// Restart ends the process of the controller as an upgrade does: requests under way are answered.
// It waits until the next one runs, or the context ends.
func (env *Env) Restart(ctx context.Context) error {
	p := env.running()
	if p == nil {
		return nil
	}
	p.stop()
	for env.running() == p || env.running() == nil {
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

func (env *Env) running() *process {
	env.mu.Lock()
	defer env.mu.Unlock()
	return env.process
}

// Stop ends the process of the controller at once, without another one after it.
func (env *Env) Stop() {
	env.Kill()
	env.end()
	env.ended.Wait()
}

// Close ends everything.
func (env *Env) Close() {
	env.Stop()
	time.Sleep(lastWords)
	env.Cloud.Close()
}

// lastWords is the maximum time until all goroutines of a process have ended: lists of the whole
// project continue without callers, until they time out.
const lastWords = 5 * time.Minute

// touch records the time of a change.
func (env *Env) touch() {
	requests := env.Cloud.RequestLog.Len()
	env.mu.Lock()
	defer env.mu.Unlock()
	env.last, env.requests = time.Now(), requests
}

// RequestsUntilRest returns the number of requests until the last change.
func (env *Env) RequestsUntilRest() int {
	env.mu.Lock()
	defer env.mu.Unlock()
	return env.requests
}

// LastChange returns the time of the last change in the cloud or work of a controller.
func (env *Env) LastChange() time.Time {
	env.mu.Lock()
	defer env.mu.Unlock()
	return env.last
}

// Restarts returns the number of processes of the controller that have ended.
func (env *Env) Restarts() int {
	env.mu.Lock()
	defer env.mu.Unlock()
	return env.restarts
}

// Settle waits until the environment is at rest for the time quiet: no controller has work or
// failures, and the cloud does not change. After the limit it returns an error with the unfinished
// work.
func (env *Env) Settle(ctx context.Context, quiet, limit time.Duration) error {
	start := time.Now()
	for {
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
		busy := env.Unfinished()
		if len(busy) > 0 {
			env.touch()
		}
		switch now := time.Now(); {
		case now.Sub(env.LastChange()) >= quiet:
			return nil
		case now.Sub(start) >= limit:
			return fmt.Errorf("after %s there is no rest: %s", limit, cmp.Or(strings.Join(busy, "; "), "the cloud keeps changing"))
		}
	}
}

// Unfinished lists the work and the failures of the controllers; none if they are idle.
func (env *Env) Unfinished() []string {
	p := env.running()
	if p == nil {
		return []string{"no process of the controller runs"}
	}
	return p.unfinished()
}

// AddNode adds a server and the Node on it. If the cloud has a subnet of IPv6, they have an address in that,
// too.
func (env *Env) AddNode(name, address string, podCIDRs ...string) (*v1.Node, error) {
	server, err := env.Cloud.AddServer(name, address)
	if err != nil {
		return nil, err
	}
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.NodeSpec{ProviderID: "openstack:///" + server.ID, PodCIDRs: podCIDRs},
		Status: v1.NodeStatus{
			Addresses:  []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: server.Addresses[0]}},
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
	if env.Cloud.SubnetV6.ID != "" {
		second, err := env.addIPv6(server)
		if err != nil {
			return nil, err
		}
		node.Status.Addresses = append(node.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: second})
	}
	if env.second.ID != "" {
		first, err := env.attachSecond(server)
		if err != nil {
			return nil, err
		}
		node.Status.Addresses = append([]v1.NodeAddress{{Type: v1.NodeInternalIP, Address: first}}, node.Status.Addresses...)
	}
	env.Cluster.SetNode(node)
	return node, nil
}

// GoneNodes returns the Nodes that a controller has deleted.
func (env *Env) GoneNodes() []string {
	env.mu.Lock()
	defer env.mu.Unlock()
	return append([]string(nil), env.gone...)
}

// Events returns all events on Services so far, each with its type and reason.
func (env *Env) Events() []string { return env.events.all() }

// sleep waits, or returns the error of the context.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errDead = errors.New("this process is gone")

func cmpText(a, b string) int { return cmp.Compare(a, b) }
