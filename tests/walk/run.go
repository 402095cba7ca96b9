package walk

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/tests/sweep"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

const (
	// quiet is how long nothing happens at rest: three looks for changes by others. One that
	// comes with a change of members' health is found by the second.
	quiet = 3*testenv.DriftInterval + 30*time.Second
	// patience is how long it may take until then.
	patience = 3 * time.Hour
)

// run is a walk under way.
type run struct {
	ctx   context.Context
	env   *testenv.Env
	start sweep.Start
	// keys are the Services that steps choose from.
	keys []testenv.Key
	// strangers are what belongs to nobody from the beginning.
	strangers []string

	mu sync.Mutex // of what follows
	// asked is what was asked for at any time since the last rest, each way once, and
	// touched are the ports of load balancers that others have changed since.
	asked   []intent
	touched map[string]bool
	// adopted says that a process has served all that cloud-provider-openstack left, and is
	// not to end before the next rest; changed that something was changed since the last one.
	adopted, changed bool
	foreign          bool // others have changed security groups

	watcher *testenv.Watcher
	before  testenv.Exposure
	uids    int
	wrong   []string
}

// Do runs in a bubble of testing/synctest and returns what is wrong. An error is of the walk
// itself.
func (k Walk) Do(ctx context.Context, log io.Writer) ([]string, error) {
	options := k.Start.Options()
	options.Log = log
	env, err := testenv.New(options)
	if err != nil {
		return nil, err
	}
	defer env.Close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	r := &run{ctx: ctx, env: env, start: k.Start, touched: map[string]bool{}}
	if err := begin(k.Start, env); err != nil {
		return nil, err
	}
	r.chooseFrom("web", "api", "mail", "dns")
	r.strangers = env.Leaks()
	r.began()
	env.Start(ctx)
	for i, step := range append(slices.Clone(k.Steps), Step{Verb: Rest}) {
		r.took()
		if verb := verbOf(step.Verb); !verb.afterAdoption || !r.start.Inherited || r.adopted {
			r.changed = r.changed || verb.afterAdoption
			verb.do(r, step.A, step.B)
		}
		r.took()
		if len(r.wrong) > 0 {
			return append([]string{fmt.Sprintf("after step %d, %s:", i+1, step)}, r.wrong...), nil
		}
		r.pass(Pauses()[step.Pause])
	}
	return r.compare(ctx)
}

// begin makes what there is before. A node selector always finds the first node.
func begin(start sweep.Start, env *testenv.Env) error {
	err := start.Before(env)
	if node := env.Cluster.Node("node-1"); node != nil {
		node.Labels = maps.Clone(node.Labels)
		if node.Labels == nil {
			node.Labels = map[string]string{}
		}
		node.Labels[edge] = "true"
		env.Cluster.SetNode(node)
	}
	return err
}

// chooseFrom takes the Services that there are, and further names.
func (r *run) chooseFrom(names ...string) {
	for _, svc := range r.env.Cluster.Services() {
		r.keys = append(r.keys, testenv.KeyOf(svc))
	}
	for _, name := range names {
		if key := (testenv.Key{Namespace: "default", Name: name}); !slices.Contains(r.keys, key) {
			r.keys = append(r.keys, key)
		}
	}
}

func (r *run) key(a int) testenv.Key { return r.keys[a%len(r.keys)] }

// pass lets time pass. The controllers are at work meanwhile.
func (r *run) pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	}
}

// began begins to watch.
func (r *run) began() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = r.env.Exposure()
	r.watcher = r.env.Watch()
	r.asked, r.foreign = nil, false
	clear(r.touched)
}

// took notes what is asked for.
func (r *run) took() {
	now := intended(r.env)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.asked) == 0 || !maps.EqualFunc(r.asked[len(r.asked)-1], now, port.equal) {
		r.asked = append(r.asked, now)
	}
}

// rest lets the environment come to rest, with a cloud that works, and looks at it.
func (r *run) rest(int, int) {
	r.env.Cloud.Faults.Clear()
	r.pass(quiet) // however long nothing has happened before
	if err := r.env.Settle(r.ctx, quiet, patience); err != nil {
		r.wrong = append(r.wrong, err.Error())
		return
	}
	r.took()
	r.adopted, r.changed = true, false
	r.watcher.Stop()
	r.judge()
	r.began()
	r.took()
}

// uid makes up the identity of a Service.
func (r *run) uid(name string) types.UID {
	r.uids++
	return types.UID(fmt.Sprintf("uid-%d-of-%s", r.uids, name))
}
