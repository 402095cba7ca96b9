package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2/textlogger"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/memorynet"
)

// process is one process of the controller.
type process struct {
	env    *Env
	host   *memorynet.Host
	engine *loadbalancer.Reconciler
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu   sync.Mutex
	dead bool
	// busy has the running and failed work, each with its error or "at work".
	busy map[string]string
	// followers has the followers of Services.
	followers map[Key]*follower
	session   *openstack.Session
}

// live runs a process until it is stopped or killed, and cleans up after it.
func (env *Env) live(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &process{env: env, host: env.network.Host(), cancel: cancel, busy: map[string]string{}}
	env.mu.Lock()
	env.process = p
	env.mu.Unlock()
	if err := p.run(ctx); err != nil {
		p.note("start", err)
	}
	cancel()
	p.host.CutOff()
	env.mu.Lock()
	env.process = nil
	env.mu.Unlock()
}

// run signs in and works until the context ends.
func (p *process) run(ctx context.Context) error {
	p.note("start", errAtWork)
	if err := p.connect(ctx); err != nil {
		return err
	}
	defer p.session.Close()
	defer p.engine.Close()
	defer p.work.Wait()
	p.work.Go(func() { p.followServices(ctx) })
	p.work.Go(func() { p.engine.WatchDrift(ctx, p.repairSoon) })
	p.work.Go(func() { p.engine.PersistRecords(ctx, p.writeRecord) })
	if p.env.options.Instances {
		p.runInstances(ctx)
	}
	if p.env.options.Routes {
		p.runRoutes(ctx)
	}
	p.note("start", nil)
	<-ctx.Done()
	return nil
}

// connect signs in, with retries.
func (p *process) connect(ctx context.Context) (err error) {
	env := p.env
	env.mu.Lock()
	conf := env.Conf
	env.mu.Unlock()
	for {
		session, err := openstack.NewSession(ctx, conf.Global, openstack.SessionOptions{Dial: p.host.Dial})
		if err == nil {
			p.mu.Lock()
			p.session = session
			p.mu.Unlock()
			break
		}
		p.note("sign in", err)
		if failure := sleep(ctx, time.Second); failure != nil {
			return failure
		}
	}
	p.note("sign in", nil)
	options := env.engineOptions(conf, p.session)
	options.Records, options.Recorder, options.Workers, options.Ended = processRecords{p}, env.events, 10, p.callAgain
	options.Newest = func(svc *v1.Service) (*v1.Service, []*v1.Node) {
		now := env.Cluster.Service(KeyOf(svc))
		if now == nil || now.UID != svc.UID {
			return nil, nil
		}
		return now, env.Cluster.Nodes()
	}
	p.engine, err = loadbalancer.New(options)
	if err != nil {
		p.session.Close()
	}
	return err
}

// engineOptions returns the options that engines of processes and of previews share.
func (env *Env) engineOptions(conf *config.Config, session *openstack.Session) loadbalancer.Options {
	return loadbalancer.Options{
		Config: conf, Session: session, ClusterName: env.options.ClusterName, ClusterID: env.options.ClusterUID,
		Namespace: func(_ context.Context, name string) (*v1.Namespace, error) { return env.Cluster.namespace(name), nil },
		Nodes: func(context.Context) ([]v1.Node, error) {
			var all []v1.Node
			for _, node := range env.Cluster.Nodes() {
				all = append(all, *node)
			}
			return all, nil
		},
		Endpoints: env.Cluster.endpointsOf, Services: env.Cluster.in,
	}
}

// kill ends the process at once.
func (p *process) kill() {
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	p.host.CutOff()
	p.cancel()
}

// stop ends the process when its requests are answered.
func (p *process) stop() {
	p.mu.Lock()
	session := p.session
	p.mu.Unlock()
	if session != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = session.Drain(ctx) // later answers are lost
	}
	p.cancel()
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

var errAtWork = errors.New("at work")

// note records the result of some work; nil means success.
func (p *process) note(what string, err error) {
	p.mu.Lock()
	before := p.busy[what]
	if err == nil {
		delete(p.busy, what)
	} else {
		p.busy[what] = err.Error()
	}
	changed := p.busy[what] != before
	p.mu.Unlock()
	if changed {
		p.env.touch()
	}
}

func (p *process) unfinished() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, what := range slices.Sorted(maps.Keys(p.busy)) {
		all = append(all, fmt.Sprintf("%s: %s", what, p.busy[what]))
	}
	return all
}

// writeRecord writes annotations.
func (p *process) writeRecord(_ context.Context, key Key, uid types.UID, record annotation.Record) error {
	if p.isDead() {
		return errDead
	}
	p.env.Cluster.annotate(key, uid, record.Changes)
	return nil
}

// records has the records of Services, which outlive processes.
type records struct {
	mu    sync.Mutex
	texts map[types.UID]string
}

// processRecords are the records as a running process reads and writes them.
type processRecords struct{ process *process }

// Get implements goal.Records.
func (r processRecords) Get(service types.UID) string {
	all := r.process.env.records
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.texts[service]
}

// Set implements goal.Records.
func (r processRecords) Set(service types.UID, text string) {
	if r.process.isDead() {
		return
	}
	all := r.process.env.records
	all.mu.Lock()
	defer all.mu.Unlock()
	all.texts[service] = text
}

// events has the events on Services.
type events struct {
	mu    sync.Mutex
	texts []string
}

// Event implements record.EventRecorder.
func (e *events) Event(object runtime.Object, kind, reason, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := ""
	if of, is := object.(*v1.ObjectReference); is {
		name = Key{Namespace: of.Namespace, Name: of.Name}.String()
	}
	e.texts = append(e.texts, fmt.Sprintf("%s %s %s: %s", name, kind, reason, message))
}

// Eventf implements record.EventRecorder.
func (e *events) Eventf(object runtime.Object, kind, reason, format string, arguments ...any) {
	e.Event(object, kind, reason, fmt.Sprintf(format, arguments...))
}

// AnnotatedEventf implements record.EventRecorder.
func (e *events) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, arguments ...any) {
	e.Event(object, kind, reason, fmt.Sprintf(format, arguments...))
}

func (e *events) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.texts)
}

func (e *events) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.texts = nil
}

func newLogger(out io.Writer) logr.Logger {
	return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out), textlogger.Verbosity(2)))
}
