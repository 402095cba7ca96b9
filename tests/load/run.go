package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/process"
)

// run measures one size after the other. A failure of one size does not prevent the others.
func run(ctx context.Context, o options, out *screen) error {
	commit, err := commitOf(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range o.sizes {
		of := o
		of.settings.speed = cmp.Or(s.speed, o.settings.speed)
		r := &runner{options: of, size: s, commit: commit, out: out}
		if err := r.run(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s, err))
		}
		if ctx.Err() != nil {
			return errors.Join(append(errs, context.Cause(ctx))...)
		}
	}
	return errors.Join(errs...)
}

// commitOf describes the measured commit; an asterisk marks local changes.
func commitOf(ctx context.Context) (string, error) {
	root, err := controlplane.ModuleRoot(ctx)
	if err != nil {
		return "", err
	}
	describe := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty=*", "--abbrev=12", "--exclude=*")
	describe.Dir = root
	text, err := describe.Output()
	if err != nil {
		return "unknown", nil //nolint:nilerr // a copy of the sources can be measured, too
	}
	return strings.TrimSpace(string(text)), nil
}

// runner measures one size.
type runner struct {
	options options
	size    size
	commit  string
	out     *screen

	env     *environment
	sampler *sampler
	rows    []Row
}

func (r *runner) run(ctx context.Context) (err error) {
	r.out.linef("%s: %d Services with %d ports on %d nodes, %d members; the cloud alone takes %v",
		r.size, r.size.services, r.size.ports, r.size.nodes, r.size.members(), r.alone().Round(time.Second))
	if r.env, err = newEnvironment(ctx, r.size, r.options.settings, r.out); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.env.keepLog(r.file("-ccm.log")), r.env.end()) }()
	var stop func()
	r.sampler, stop = startSampler(ctx, r.env, r.options.sample)
	defer stop()
	r.out.linef("%s", header())
	for repetition := range r.options.repeat {
		for _, p := range r.options.phases {
			if err := r.phase(ctx, p, repetition); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	for _, line := range growth(r.rows) {
		r.out.linef("%s", line)
	}
	return nil
}

// alone is the cloud's minimum time for all phases.
func (r *runner) alone() time.Duration {
	var total time.Duration
	for _, p := range r.options.phases {
		total += p.limit(r.size, r.options.settings)
	}
	return time.Duration(r.options.repeat) * total
}

// file returns the name of a file of this size.
func (r *runner) file(suffix string) string {
	name := strings.ReplaceAll(r.size.String(), "/", "-max")
	return filepath.Join(r.options.directory, "load-"+name+suffix)
}

// phase measures a phase. Existing Services are not created again, and the cost of a controller
// without any is measured before.
func (r *runner) phase(ctx context.Context, p phase, repetition int) error {
	if p.name == phaseStart || p.name == phaseCreate {
		if existing, _, _ := r.env.services.count(); existing > 0 {
			return nil
		}
	}
	row, err := r.measure(ctx, p)
	if ctx.Err() != nil { // a part of a phase is no result
		return context.Cause(ctx)
	}
	if r.options.repeat > 1 {
		row.Repetition = repetition + 1
	}
	if err != nil {
		row.Error = err.Error()
	}
	r.rows = append(r.rows, row)
	r.out.linef("%s", row.line())
	samples, marks := r.sampler.series()
	return errors.Join(err,
		keep(filepath.Join(r.options.directory, "load.json"), r.rows),
		writeJSON(r.file("-samples.json"), map[string]any{"phases": marks, "samples": samples}),
		draw(r.file(".svg"), r.size.String()+" at "+r.commit, samples, marks))
}

// patience is the time limit of a phase: many times the cloud's own limit, and the needs of this
// machine.
func (r *runner) patience(p phase) time.Duration {
	const each, some = 500 * time.Millisecond, 10 * time.Minute
	return 5*p.limit(r.size, r.options.settings) + time.Duration(r.size.services)*each + some
}

// measure runs a phase and returns its cost.
func (r *runner) measure(ctx context.Context, p phase) (Row, error) {
	w := r.env
	if p.prepare != nil {
		p.prepare(w)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.patience(p), fmt.Errorf("not done in %v", r.patience(p)))
	defer cancel()
	before, err := r.begin(ctx)
	if err != nil {
		return r.row(p), err
	}
	endProfile := r.startProfile(ctx, p)
	err = p.play(w, ctx)
	took := time.Since(before.at)
	if p.inCloud && err == nil {
		took = w.finished.Sub(before.at)
	}
	endProfile()
	if err == nil {
		err = w.settle(ctx, r.options.settle)
	}
	r.sampler.mark(p.name, before.at)
	row, readErr := r.read(context.WithoutCancel(ctx), p, before)
	row.Seconds = rounded(took.Seconds())
	return row, errors.Join(err, readErr)
}

// startProfile takes profiles of the phase, if they are requested, until end is called.
func (r *runner) startProfile(ctx context.Context, p phase) (end func()) {
	if !slices.Contains(r.options.profile, p.name) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		prefix := filepath.Join(r.options.directory, "load-profiles", filepath.Base(r.file("-"+p.name)))
		if err := r.env.profile(ctx, prefix); err != nil {
			r.out.linef("no more profiles: %v", err)
		}
	})
	return func() { cancel(); running.Wait() }
}

// reading has the values of all meters.
type reading struct {
	at            time.Time
	pid           int
	ccm, cloud    time.Duration // CPU
	worked, could float64       // see machineTime
}

// begin sets the counters to zero.
func (r *runner) begin(ctx context.Context) (reading, error) {
	w := r.env
	if err := errors.Join(w.cloud.Cloud.ResetRequests(ctx), w.audit.reset()); err != nil {
		return reading{}, err
	}
	if running := w.ccm.Load(); running.Running() {
		if err := process.ResetPeak(running.PID()); err != nil {
			return reading{}, err
		}
	}
	return r.meters(), nil
}

// meters reads the values, which are zero for a controller that is being restarted.
func (r *runner) meters() reading {
	now := reading{at: time.Now(), pid: r.env.ccm.Load().PID()}
	ccm, _ := process.UsageOf(now.pid)
	cloud, _ := process.UsageOf(r.env.cloud.PID())
	now.ccm, now.cloud = ccm.CPU, cloud.CPU
	now.worked, now.could = machineTime()
	return now
}

// row returns the known fields of a phase before it begins.
func (r *runner) row(p phase) Row {
	row := Row{
		Case: p.name, Services: r.size.services, Ports: r.size.ports, Nodes: r.size.nodes,
		MaxMembers: r.size.maxMembers, Members: r.size.members(),
		CloudSeconds: rounded(p.limit(r.size, r.options.settings).Seconds()),
		Commit:       r.commit, Controller: r.options.settings.controller, Speed: r.options.settings.speed,
		Settings: slices.Concat(r.options.settings.env, r.options.settings.conf, r.options.settings.args),
	}
	if p.name == phaseReplace {
		row.Replaced = r.options.settings.replaced(r.size)
	}
	return row
}

// read returns the row of a phase at its end.
func (r *runner) read(ctx context.Context, p phase, before reading) (Row, error) {
	w, row, now := r.env, r.row(p), r.meters()
	usage, err := process.UsageOf(now.pid)
	if err != nil {
		return row, err
	}
	row.RSS, row.PeakRSS = rounded(float64(usage.RSS)/mib), rounded(float64(usage.PeakRSS)/mib)
	row.CPU = rounded(now.ccm.Seconds())
	if now.pid == before.pid {
		row.CPU = rounded((now.ccm - before.ccm).Seconds())
	}
	row.SimulatorCPU = rounded((now.cloud - before.cloud).Seconds())
	if could := now.could - before.could; could > 0 {
		row.Busy = rounded((now.worked - before.worked) / could)
	}
	found, err := w.cloud.Cloud.Summary(ctx, "")
	if err != nil {
		return row, err
	}
	row.Requests, row.Writes, row.Cycles = found.Requests, found.Writes, found.TotalCycles
	row.Bytes, row.SentBytes = rounded(float64(found.Bytes)/mib), rounded(float64(found.RequestBytes)/mib)
	if err := w.audit.read(); err != nil {
		return row, err
	}
	row.KubeWrites, row.KubeEvents, row.KubeObjects = w.audit.writes(), w.audit.events(), w.audit.copy()
	if _, _, last := w.services.count(); last.After(before.at) {
		row.LastAddress = rounded(last.Sub(before.at).Seconds())
	}
	// A garbage collection leaves the live heap. It comes last.
	if _, err := w.ccm.Load().Ask(ctx, "/debug/pprof/heap?gc=1"); err != nil {
		return row, err
	}
	own, err := w.metrics(ctx)
	row.Heap, row.Goroutines = rounded(own.heap), own.goroutines
	return row, err
}

// mostSettling is the maximum time of the wait after a phase.
const mostSettling = 2 * time.Minute

// settle waits until neither the cloud nor Kubernetes has got requests for a while: later effects
// of a change are a part of its cost.
func (w *environment) settle(ctx context.Context, quiet time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, mostSettling)
	defer cancel()
	var requests, writes int
	for since := time.Now(); time.Since(since) < quiet; {
		w.wait("waiting until nothing happens")
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookPause):
		}
		found, err := w.cloud.Cloud.Summary(ctx, "")
		if err != nil {
			return err
		}
		if err := w.audit.read(); err != nil {
			return err
		}
		if now := w.audit.writes() + w.audit.events(); found.Requests != requests || now != writes {
			requests, writes, since = found.Requests, now, time.Now()
		}
	}
	return nil
}
