package soak

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

// outage makes the whole cloud, or one service of it, fail for a while, each time in another way.
func (r *run) outage(n int) {
	rules := []faults.Rule{
		{Status: http.StatusServiceUnavailable, Worded: true}, {Reset: true}, {Drop: true},
		{Status: http.StatusInternalServerError, Worded: true}, {Status: http.StatusUnauthorized, Worded: true}, {AnswerDelay: outageLength},
	}
	routes := []string{"", "/load-balancer/**", "/network/**", ""}
	rule := rules[n%len(rules)]
	rule.Route = routes[n%len(routes)]
	id := r.env.Cloud.Faults.Plant(rule)
	time.AfterFunc(outageLength, func() { r.env.Cloud.Faults.Remove(id) })
}

// kill kills the process, and records its memory.
func (r *run) kill(ctx context.Context) error {
	life, err := r.lastOf(ctx)
	r.report.Lives = append(r.report.Lives, life)
	return err
}

// dying is the time from a kill to the measurement of the released memory, before the next process
// begins.
const dying = 15 * time.Second

// lastOf kills the process, and returns its memory. Another process begins by itself.
func (r *run) lastOf(ctx context.Context) (Life, error) {
	held, goroutines := heap(), runtime.NumGoroutine()
	r.env.Kill()
	if err := sleep(ctx, dying); err != nil {
		return Life{}, err
	}
	return Life{Until: len(r.report.Samples), Held: held - heap(), Goroutines: goroutines - runtime.NumGoroutine()}, nil
}

// empty records the memory of the last process after all Services are deleted, and that of a new
// one that begins with as many and has them only for a moment.
func (r *run) empty(ctx context.Context) error {
	if err := r.vacate(ctx, &r.report.EmptiedOld); err != nil {
		return err
	}
	for place := range r.tenants {
		r.create(place)
	}
	if err := r.env.Settle(ctx, quiet, patience); err != nil {
		return fmt.Errorf("new Services: %w", err)
	}
	if err := r.kill(ctx); err != nil {
		return err
	}
	return r.vacate(ctx, &r.report.EmptiedNew)
}

// vacate deletes all Services and kills the process, after it has closed its connections, which
// have buffers.
func (r *run) vacate(ctx context.Context, life *Life) (err error) {
	for _, t := range r.tenants {
		r.env.Cluster.Delete(t.key)
	}
	if err := r.env.Settle(ctx, quiet, patience); err != nil {
		return fmt.Errorf("without Services: %w", err)
	}
	for until := time.Now().Add(driftInterval); r.env.Cloud.Connections() > 0 && time.Now().Before(until); {
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	r.env.Forget()
	*life, err = r.lastOf(ctx)
	return err
}

// rotate makes the running process use another application credential, and deletes the previous one
// five minutes later.
func (r *run) rotate(ctx context.Context) error {
	old := r.credential
	r.credential = r.newCredential()
	if err := r.env.Reload(ctx, r.conf()); err != nil {
		return fmt.Errorf("rotate the application credential: %w", err)
	}
	time.AfterFunc(5*time.Minute, func() { r.env.Cloud.Keystone.DeleteApplicationCredential(old.ID) })
	return nil
}

func (r *run) newCredential() keystone.ApplicationCredential {
	account := r.env.Cloud.Account
	return r.env.Cloud.Keystone.AddApplicationCredential(keystone.ApplicationCredential{
		Name: "controller", UserID: account.UserID, ProjectID: account.ProjectID,
	})
}

// conf returns cloud.conf with the present application credential.
func (r *run) conf() string {
	var lines []string
	for line := range strings.Lines(r.env.Cloud.CloudConfFor(r.env.Cloud.Account, simulator.Config{})) {
		switch name, _, _ := strings.Cut(line, "="); name {
		case "username":
			lines = append(lines, "application-credential-id="+r.credential.ID+"\n")
		case "password":
			lines = append(lines, "application-credential-secret="+r.credential.Secret+"\n")
		case "tenant-name", "domain-name":
		default:
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
