package datapath

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// minProbeTimeout is what a scaled probe timeout is not made shorter than: the time scale is
// there to probe often, not to fail slow machines.
const minProbeTimeout = time.Second

// probeTask is all that probing one member depends on; a change of it starts a new prober.
type probeTask struct {
	memberID string
	monitor  Monitor
	target   netip.AddrPort
	// source is the address that the probe comes from, invalid for any.
	source netip.Addr
	// proxy is the version of the PROXY header that probes begin with, 0 for none, and
	// encrypted is set for TLS, both as for connections to the pool's members.
	proxy     byte
	encrypted bool
}

// prober probes one member until it is stopped.
type prober struct {
	plane  *Plane
	task   probeTask
	cancel context.CancelFunc

	mu sync.Mutex
	// shown is the operating status that the API shows, as far as is known.
	shown string
	// draining is true while the member's weight is 0.
	draining bool
	health   health
}

// applyProbers makes one prober run for each member that has an active monitor. A change of
// the monitor keeps the state of the member, as haproxy does over a reload.
func (p *Plane) applyProbers() {
	wanted := p.probeTasks()
	for id, prober := range p.probers {
		if _, ok := wanted[id]; !ok {
			prober.stop()
			delete(p.probers, id)
		}
	}
	for id, want := range wanted {
		running := p.probers[id]
		if running == nil || running.task != want.task {
			p.probers[id] = p.startProber(want, running)
			continue
		}
		running.learn(want.member)
	}
}

// wantedProbe is a probe and the member that it is for.
type wantedProbe struct {
	task   probeTask
	member Member
}

func (p *Plane) probeTasks() map[string]wantedProbe {
	wanted := map[string]wantedProbe{}
	for lb := range p.serving {
		for _, pool := range lb.Pools {
			if pool.Monitor == nil || !pool.Monitor.AdminUp || !pool.AdminUp {
				continue
			}
			for _, member := range pool.Members {
				if member.AdminUp {
					wanted[member.ID] = wantedProbe{task: newProbeTask(lb, pool, member), member: member}
				}
			}
		}
	}
	return wanted
}

// newProbeTask returns the probe of a member. As in haproxy, a probe of the member's own port
// begins like other connections to it, with the PROXY header and TLS, and one of another port does
// not.
func newProbeTask(lb LoadBalancer, pool Pool, member Member) probeTask {
	task := probeTask{memberID: member.ID, monitor: *pool.Monitor, target: member.at(), source: lb.source()}
	if !member.MonitorAddress.IsValid() && member.MonitorPort == 0 {
		task.proxy, task.encrypted = proxyVersion(pool.Protocol), pool.TLS.Enabled
	}
	if member.MonitorAddress.IsValid() {
		task.target = netip.AddrPortFrom(member.MonitorAddress, task.target.Port())
	}
	if member.MonitorPort != 0 {
		task.target = netip.AddrPortFrom(task.target.Addr(), member.MonitorPort)
	}
	return task
}

// startProber replaces the prober before, which may be nil.
func (p *Plane) startProber(want wantedProbe, before *prober) *prober {
	ctx, cancel := context.WithCancel(p.ctx)
	next := &prober{plane: p, task: want.task, cancel: cancel}
	next.learn(want.member)
	if before != nil {
		before.stop()
		next.health = before.known()
	}
	p.wait.Go(func() { next.run(ctx) })
	return next
}

func (r *prober) stop() { r.cancel() }

// known returns the verdict without the count of probes that speak against it.
func (r *prober) known() health {
	r.mu.Lock()
	defer r.mu.Unlock()
	return health{verdict: r.health.verdict}
}

// learn sets the present state of the member in the API.
func (r *prober) learn(member Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown = member.Status
	r.draining = member.Weight == 0
}

func (r *prober) run(ctx context.Context) {
	for ctx.Err() == nil {
		passed, done := r.probe(ctx)
		if !done {
			return
		}
		r.conclude(passed)
		r.rest(ctx)
	}
}

// probe runs one probe when its turn has come. done is false when the prober was stopped.
func (r *prober) probe(ctx context.Context) (passed, done bool) {
	select {
	case <-ctx.Done():
		return false, false
	case r.plane.probing <- struct{}{}:
	}
	defer func() { <-r.plane.probing }()
	probing, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	err := probe(probing, r.task)
	return err == nil, ctx.Err() == nil
}

// conclude counts a probe's result, and reports it to the sink if the API has another status.
func (r *prober) conclude(passed bool) {
	status := r.count(passed)
	if status != "" && r.plane.options.Sink != nil {
		r.plane.options.Sink.SetMemberOperatingStatus(r.task.memberID, status)
	}
}

// count returns the status to tell, or "" when the API shows it already.
func (r *prober) count(passed bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health.count(passed, r.task.monitor)
	status := r.health.status(r.draining)
	if status == r.shown {
		return ""
	}
	r.shown = status
	return status
}

func (r *prober) rest(ctx context.Context) {
	timer := r.plane.clock.NewTimer(r.scaled(r.task.monitor.Delay))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

func (r *prober) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * r.plane.options.TimeScale)
}

func (r *prober) timeout() time.Duration {
	return max(r.scaled(r.task.monitor.Timeout), min(r.task.monitor.Timeout, minProbeTimeout))
}
