// Package soak runs a test environment for long: Services, nodes and credentials come and go every
// hour of a week, the cloud fails every six hours, and neither the memory nor the requests of the
// process may grow. Controllers and simulated cloud are one process, with a simulated clock.
package soak

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// Options are the length and the contents of a soak.
type Options struct {
	Hours, Services int
	// Seed selects the random actions.
	Seed uint64
	// Progress gets a line for each day, Log the logs of the controllers. Both may be nil.
	Progress, Log io.Writer
}

// Report is the result of a soak.
type Report struct {
	// Samples has one sample for each hour.
	Samples []Sample
	// Lives has the memory of processes when they ended, in order.
	Lives []Life
	// Unused is the memory of a process that never had a Service.
	Unused Life
	// EmptiedOld is the memory of the last process after all Services were deleted, EmptiedNew that
	// of one that began with as many, and had them only for a moment.
	EmptiedOld, EmptiedNew Life
	// Restarts is the number of processes that have ended.
	Restarts int
	// Wrong lists the errors of the final state, without growth.
	Wrong []string
}

const (
	// driftInterval is the interval of the controllers' drift checks.
	driftInterval = 5 * time.Minute
	// outageLength is the duration of each outage of the cloud.
	outageLength = 10 * time.Minute
	// quiet is the duration without requests that counts as rest, patience the maximum time until
	// then.
	quiet, patience = 3*driftInterval + 30*time.Second, 3 * time.Hour
	nodes           = 6
)

// run is a soak under way.
type run struct {
	options    Options
	env        *testenv.Env
	dice       *rand.Rand
	tenants    []tenant // the Services by their place
	made       int      // Services so far
	nodes      []string // those that come and go, oldest first
	joined     int
	changes    int // in this hour
	credential keystone.ApplicationCredential
	report     Report
}

// newEnv returns an environment without quotas.
func newEnv(options Options) (*testenv.Env, error) {
	env, err := testenv.New(testenv.Options{Instances: true, DriftInterval: driftInterval, Log: options.Log})
	if err != nil {
		return nil, err
	}
	for _, resource := range []string{"port", "floatingip", "security_group", "security_group_rule"} {
		env.Cloud.Neutron.SetQuota(env.Cloud.Account.ProjectID, resource, -1)
	}
	return env, nil
}

// Run runs in a bubble of testing/synctest. The error is one of the soak itself.
func Run(ctx context.Context, options Options) (Report, error) {
	env, err := newEnv(options)
	if err != nil {
		return Report{}, err
	}
	defer env.Close()
	r := &run{options: options, env: env, dice: rand.New(rand.NewPCG(options.Seed, 1)), tenants: make([]tenant, options.Services)}
	if err := r.begin(ctx); err != nil {
		return Report{}, err
	}
	for hour := range options.Hours {
		if err := r.hour(ctx, hour); err != nil {
			return r.report, fmt.Errorf("hour %d: %w", hour+1, err)
		}
	}
	if err := r.judge(ctx); err != nil {
		return r.report, err
	}
	if len(r.report.Wrong) == 0 {
		if err := r.empty(ctx); err != nil {
			return r.report, err
		}
	}
	r.report.Restarts = env.Restarts()
	return r.report, nil
}

// begin creates the nodes and the Services, and waits until they are served.
func (r *run) begin(ctx context.Context) error {
	for range nodes {
		if err := r.addNode(); err != nil {
			return err
		}
	}
	r.credential = r.newCredential()
	if err := r.env.ConfigureText(r.conf()); err != nil {
		return err
	}
	r.env.Start(ctx)
	if err := r.vacate(ctx, &r.report.Unused); err != nil {
		return err
	}
	for place := range r.tenants {
		r.create(place)
	}
	if err := r.env.Settle(ctx, quiet, patience); err != nil {
		return fmt.Errorf("the beginning: %w", err)
	}
	r.env.Forget()
	r.changes = 0
	return nil
}

// event is an action at a moment of an hour.
type event struct {
	at time.Duration
	do func(ctx context.Context) error
}

// hour runs an hour, with the same number of changes as every other one, and takes a sample at its
// end.
func (r *run) hour(ctx context.Context, hour int) error {
	begin := time.Now()
	events := r.events(hour)
	slices.SortStableFunc(events, func(a, b event) int { return int(a.at - b.at) })
	for _, e := range append(events, event{time.Hour, func(context.Context) error { return nil }}) {
		if err := sleep(ctx, time.Until(begin.Add(e.at))); err != nil {
			return err
		}
		if err := e.do(ctx); err != nil {
			return err
		}
	}
	r.sample()
	if last := r.report.Samples[hour]; r.options.Progress != nil && (hour+1)%24 == 0 {
		_, _ = fmt.Fprintf(r.options.Progress, "hour %d: %s\n", hour+1, last) // for people
	}
	return nil
}

// events returns the actions of an hour. All except the troubles are in its first three quarters.
func (r *run) events(hour int) []event {
	var all []event
	some := func(n int, do func(context.Context) error) {
		for range max(1, n) {
			all = append(all, event{time.Duration(r.dice.Int64N(int64(45 * time.Minute))), do})
		}
	}
	some(r.options.Services/10, func(context.Context) error { r.edit(); return nil })
	some(r.options.Services/40, func(context.Context) error { r.replace(); return nil })
	at := func(minute int, is bool, do func(context.Context) error) {
		if is {
			all = append(all, event{time.Duration(minute) * time.Minute, do})
		}
	}
	at(10, hour%3 == 0, func(context.Context) error { return r.addNode() })
	at(10, hour%3 == 1, func(context.Context) error { r.removeNode(); return nil })
	at(20, hour%6 == 3, func(context.Context) error { r.outage(hour / 6); return nil })
	// The last process runs for the second half, so that its growth has time.
	at(40, hour%24 == 2 && hour < r.options.Hours/2, r.kill)
	at(47, hour%24 == 4, r.rotate)
	return all
}

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
