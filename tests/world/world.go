// Package world is a cluster with its controllers and its cloud in one process, on a clock
// that costs nothing: a simulated OpenStack, what the API server has, and processes of the
// controller that can be killed at any moment and are started anew, as a kubelet does. What
// happens in it is watched, so that tests can tell what was served and what was open at
// every moment (Exposure), and what there is in the end (Books).
//
// All of it runs in a bubble of testing/synctest, where the real clock is the bubble's.
package world

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
	"github.com/openstack-ccm/openstack-ccm/tests/cost"
	"github.com/openstack-ccm/openstack-ccm/tests/memorynet"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Options are what a world is made of. The zero value is one with today's OpenStack, and
// without nodes.
type Options struct {
	// Simulator are those of the cloud. Delays are those of real providers, Listen is
	// the world's own.
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

// World is one. Its methods may be called from many goroutines.
type World struct {
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

// DriftInterval is how often the controllers of a world look for changes by others, unless
// it is told otherwise.
const DriftInterval = time.Minute

// Restart is how long it takes until another process has the lease of one that is gone.
const Restart = 20 * time.Second

// New makes a world with a cloud. Its controller begins with Start. The caller closes it.
func New(options Options) (*World, error) {
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
	w := &World{
		Cloud: cloud, Cluster: newCluster(), options: options, network: network,
		records: &records{texts: map[types.UID]string{}}, events: &events{}, last: time.Now(), end: func() {},
	}
	if err := w.Configure(options.Keys); err != nil {
		cloud.Close()
		return nil, err
	}
	cloud.Octavia.Subscribe(w.touch)
	cloud.Neutron.Subscribe(w.touch)
	return w, nil
}

// Configure replaces the keys of [LoadBalancer] for the processes that begin from now on.
func (w *World) Configure(keys map[string]string) error {
	text := w.Cloud.CloudConfFor(w.Cloud.Account, simulator.Config{LoadBalancer: keys})
	return w.ConfigureText(text)
}

// ConfigureText replaces cloud.conf for the processes that begin from now on.
func (w *World) ConfigureText(text string) error {
	conf, _, err := config.Load(strings.NewReader(text), func(string) (string, bool) { return "", false })
	if err != nil {
		return fmt.Errorf("cloud.conf of the world: %w", err)
	}
	conf.LoadBalancer.DriftInterval.Duration = cmp.Or(w.options.DriftInterval, DriftInterval)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Conf = conf
	return nil
}

// Reload replaces cloud.conf for the process that runs, as one that follows the file does
// with credentials, and for those that begin from now on. After an error everything is as
// before.
func (w *World) Reload(ctx context.Context, text string) (err error) {
	w.mu.Lock()
	before, p := w.Conf, w.process
	w.mu.Unlock()
	if err := w.ConfigureText(text); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.mu.Lock()
			w.Conf = before
			w.mu.Unlock()
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
	w.mu.Lock()
	global := w.Conf.Global
	w.mu.Unlock()
	return session.Replace(ctx, global, session.Secured())
}

// Forget forgets the requests and events so far, and what is known of Services that are gone.
// A world that lives long would else only grow.
func (w *World) Forget() {
	w.Cloud.RequestLog.Forget()
	w.touch()
	w.events.forget()
	living := map[types.UID]bool{}
	for _, svc := range w.Cluster.Services() {
		living[svc.UID] = true
	}
	w.records.mu.Lock()
	maps.DeleteFunc(w.records.texts, func(uid types.UID, _ string) bool { return !living[uid] })
	w.records.mu.Unlock()
	w.mu.Lock()
	w.gone = nil
	w.mu.Unlock()
}

// Start begins with a process of the controller, and starts another one whenever it is
// gone, until Close.
func (w *World) Start(ctx context.Context) {
	ctx, w.end = context.WithCancel(ctx)
	ctx = klog.NewContext(ctx, w.logger())
	w.ended.Go(func() {
		for ctx.Err() == nil {
			w.live(ctx)
			w.mu.Lock()
			w.restarts++
			w.mu.Unlock()
			_ = sleep(ctx, Restart) // the end of the world ends the loop
		}
	})
}

// logger writes where Options.Log says.
func (w *World) logger() logr.Logger {
	if w.options.Log == nil {
		return logr.Discard()
	}
	return newLogger(w.options.Log)
}

// Kill ends the process of the controller at once: nothing that it sends from now on gets
// through. It does not wait.
func (w *World) Kill() {
	if p := w.running(); p != nil {
		p.kill()
	}
}

// Restart ends the process of the controller as a new version of it does: requests under
// way have their answer. It waits until the next one runs, or the context ends.
func (w *World) Restart(ctx context.Context) error {
	p := w.running()
	if p == nil {
		return nil
	}
	p.stop()
	for w.running() == p || w.running() == nil {
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) running() *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.process
}

// Close ends everything.
func (w *World) Close() {
	w.Kill()
	w.end()
	w.ended.Wait()
	time.Sleep(lastWords)
	w.Cloud.Close()
}

// lastWords is how long it takes at most until nothing is left of a process: lists of the
// whole project go on when nobody waits for them any more, until they are given up.
const lastWords = 5 * time.Minute

// touch notes that something has happened.
func (w *World) touch() {
	requests := w.Cloud.RequestLog.Len()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.requests = time.Now(), requests
}

// RequestsUntilRest is how many requests there were until the last change.
func (w *World) RequestsUntilRest() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

// LastChange is when anything has changed in the cloud or a controller was at work.
func (w *World) LastChange() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// Restarts is how often a process of the controller has ended.
func (w *World) Restarts() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.restarts
}

// Settle waits until nothing has happened for a while: no controller has work or failures,
// and nothing changes in the cloud. After the limit it is an error that says what is not
// done.
func (w *World) Settle(ctx context.Context, quiet, limit time.Duration) error {
	start := time.Now()
	for {
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
		busy := w.Unfinished()
		if len(busy) > 0 {
			w.touch()
		}
		switch now := time.Now(); {
		case now.Sub(w.LastChange()) >= quiet:
			return nil
		case now.Sub(start) >= limit:
			return fmt.Errorf("after %s there is no rest: %s", limit, cmp.Or(strings.Join(busy, "; "), "the cloud keeps changing"))
		}
	}
}

// Unfinished says what the controllers are at work on or have failed at; nothing: they are
// idle.
func (w *World) Unfinished() []string {
	p := w.running()
	if p == nil {
		return []string{"no process of the controller runs"}
	}
	return p.unfinished()
}

// AddNode adds a server and the Node on it.
func (w *World) AddNode(name, address string, podCIDRs ...string) (*v1.Node, error) {
	server, err := w.Cloud.AddServer(name, address)
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
	w.Cluster.SetNode(node)
	return node, nil
}

// GoneNodes are the Nodes that a controller has deleted.
func (w *World) GoneNodes() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.gone...)
}

// Events are those on Services so far, each with its type and reason.
func (w *World) Events() []string { return w.events.all() }

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
