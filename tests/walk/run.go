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
	// quiet is the duration without requests that counts as rest: three drift checks. A change by
	// another client together with one of members' health is found by the second check.
	quiet = 3*testenv.DriftInterval + 30*time.Second
	// patience is the maximum time until then.
	patience = 3 * time.Hour
)

// run is a walk under way.
type run struct {
	ctx   context.Context
	env   *testenv.Env
	start sweep.Start
	// keys are the Services that steps select from.
	keys []testenv.Key
	// strangers are objects that belong to no Service from the beginning.
	strangers []string

	mu sync.Mutex // of what follows
	// intents has the requested states since the last rest, without consecutive repetitions.
	// Touched are the ports of load balancers that other clients have changed since.
	intents []intent
	touched map[string]bool
	// adopted is set if a process has served all Services of cloud-provider-openstack, and must not
	// end before the next rest; changed if something was changed since the last rest.
	adopted, changed bool
	foreign          bool // other clients have changed security groups

	watcher *testenv.Watcher
	before  testenv.Exposure
	uids    int
	wrong   []string
}

// Do runs in a bubble of testing/synctest and returns the errors that it finds. The error is one of
// the walk itself.
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

// begin creates the initial objects. A node selector always matches the first node.
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

// chooseFrom adds the existing Services, and further names.
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

// pass lets time pass, in which the controllers work.
func (r *run) pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	}
}

// began starts the checks.
func (r *run) began() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = r.env.Exposure()
	r.watcher = r.env.Watch()
	r.intents, r.foreign = nil, false
	clear(r.touched)
}

// took records the requested state.
func (r *run) took() {
	now := intended(r.env)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.intents) == 0 || !maps.EqualFunc(r.intents[len(r.intents)-1], now, port.equal) {
		r.intents = append(r.intents, now)
	}
}

// rest waits until the environment is at rest, with a working cloud, and checks it.
func (r *run) rest(int, int) {
	r.env.Cloud.Faults.Clear()
	for _, key := range r.keys {
		r.manageAgain(key)
	}
	r.pass(quiet) // after any time without changes
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

// uid returns a UID for a Service.
func (r *run) uid(name string) types.UID {
	r.uids++
	return types.UID(fmt.Sprintf("uid-%d-of-%s", r.uids, name))
}
