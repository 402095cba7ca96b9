// Package testenv is the environment of the sweep, the walks and the soak: a cluster with its
// controllers and its cloud in one process, on a clock that costs nothing. It has a simulated
// OpenStack, what the API server has, and processes of the controller that can be killed at
// any moment and are started again, as a kubelet does. What happens in it is watched, so that
// tests can tell what was served and what was open at every moment (Exposure), and what there
// is in the end (Books).
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
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Options are what an environment is made of. The zero value is one with today's OpenStack, and
// without nodes.
type Options struct {
	// Simulator are those of the cloud. Delays are those of real providers, Listen is
	// the environment's own.
	Simulator simulator.Options
	// Keys are those of [LoadBalancer] in cloud.conf.
	Keys map[string]string
	// ClusterName is --cluster-name, "kubernetes" when empty; ClusterUID the UID of the
	// namespace kube-system, made up when empty.
	ClusterName, ClusterUID string
	// Instances and Routes run the controllers of nodes and of routes, too.
	Instances, Routes bool
	// DriftInterval is how often the controllers look for changes by others; 0: every
	// DriftInterval.
	DriftInterval time.Duration
	// Log takes the log of the controller and the requests of failures; nil: nobody does.
	Log io.Writer
}

// Env is a test environment. Its methods may be called from many goroutines.
type Env struct {
	Cloud   *simulator.Cloud
	Cluster *Cluster
	Conf    *config.Config

	options Options
	network *memorynet.Network
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

// DriftInterval is how often the controllers of an Env look for changes by others, unless
// it is told otherwise.
const DriftInterval = time.Minute

// Restart is how long it takes until another process has the lease of one that is gone.
const Restart = 20 * time.Second

// New makes an Env with a cloud. Its controller begins with Start. The caller closes it.
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
	options.ClusterUID = cmp.Or(options.ClusterUID, "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11")
	cloud, err := simulator.Start(options.Simulator)
	if err != nil {
		return nil, err
	}
	env := &Env{
		Cloud: cloud, Cluster: newCluster(), options: options, network: network,
		records: &records{texts: map[types.UID]string{}}, events: &events{}, last: time.Now(), end: func() {},
	}
	if err := env.Configure(options.Keys); err != nil {
		cloud.Close()
		return nil, err
	}
	cloud.Octavia.Subscribe(env.touch)
	cloud.Neutron.Subscribe(env.touch)
	return env, nil
}

// Configure replaces the keys of [LoadBalancer] for the processes that begin from now on.
func (env *Env) Configure(keys map[string]string) error {
	text := env.Cloud.CloudConfFor(env.Cloud.Account, simulator.Config{LoadBalancer: keys})
	return env.ConfigureText(text)
}

// ConfigureText replaces cloud.conf for the processes that begin from now on.
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

// Reload replaces cloud.conf for the process that runs, as one that follows the file does
// with credentials, and for those that begin from now on. After an error everything is as
// before.
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
		return nil // the next one reads it
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

// Forget forgets the requests and events so far, and what is known of Services that are gone.
// An Env that lives long would else only grow.
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

// Start begins with a process of the controller, and starts another one whenever it is
// gone, until Close.
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

// logger writes where Options.Log says.
func (env *Env) logger() logr.Logger {
	if env.options.Log == nil {
		return logr.Discard()
	}
	return newLogger(env.options.Log)
}

// Kill ends the process of the controller at once: nothing that it sends from now on gets
// through. It does not wait.
func (env *Env) Kill() {
	if p := env.running(); p != nil {
		p.kill()
	}
}

// Restart ends the process of the controller as a new version of it does: requests under
// way have their answer. It waits until the next one runs, or the context ends.
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

// Close ends everything.
func (env *Env) Close() {
	env.Kill()
	env.end()
	env.ended.Wait()
	time.Sleep(lastWords)
	env.Cloud.Close()
}

// lastWords is how long it takes at most until nothing is left of a process: lists of the
// whole project go on when nobody waits for them any more, until they are given up.
const lastWords = 5 * time.Minute

// touch notes that something has happened.
func (env *Env) touch() {
	requests := env.Cloud.RequestLog.Len()
	env.mu.Lock()
	defer env.mu.Unlock()
	env.last, env.requests = time.Now(), requests
}

// RequestsUntilRest is how many requests there were until the last change.
func (env *Env) RequestsUntilRest() int {
	env.mu.Lock()
	defer env.mu.Unlock()
	return env.requests
}

// LastChange is when anything has changed in the cloud or a controller was at work.
func (env *Env) LastChange() time.Time {
	env.mu.Lock()
	defer env.mu.Unlock()
	return env.last
}

// Restarts is how often a process of the controller has ended.
func (env *Env) Restarts() int {
	env.mu.Lock()
	defer env.mu.Unlock()
	return env.restarts
}

// Settle waits until nothing has happened for a while: no controller has work or failures,
// and nothing changes in the cloud. After the limit it is an error that says what is not
// done.
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

// Unfinished says what the controllers are at work on or have failed at; nothing: they are
// idle.
func (env *Env) Unfinished() []string {
	p := env.running()
	if p == nil {
		return []string{"no process of the controller runs"}
	}
	return p.unfinished()
}

// AddNode adds a server and the Node on it.
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
	env.Cluster.SetNode(node)
	return node, nil
}

// GoneNodes are the Nodes that a controller has deleted.
func (env *Env) GoneNodes() []string {
	env.mu.Lock()
	defer env.mu.Unlock()
	return append([]string(nil), env.gone...)
}

// Events are those on Services so far, each with its type and reason.
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
