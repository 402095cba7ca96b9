package soak

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// judge waits until the environment is at rest and checks it: it must have exactly the state that a
// new environment would have after the same final requests.
func (r *run) judge(ctx context.Context) error {
	if err := r.env.Settle(ctx, quiet, patience); err != nil {
		r.report.Wrong = append(r.report.Wrong, err.Error())
		return nil
	}
	for _, leak := range r.env.Leaks() {
		r.report.Wrong = append(r.report.Wrong, "it belongs to no Service: "+leak)
	}
	services := r.env.Cluster.Services()
	if len(services) != len(r.tenants) {
		r.report.Wrong = append(r.report.Wrong, fmt.Sprintf("there are %d Services, not %d", len(services), len(r.tenants)))
	}
	for _, svc := range services {
		if len(svc.Status.LoadBalancer.Ingress) == 0 {
			r.report.Wrong = append(r.report.Wrong, fmt.Sprintf("Service %s publishes no address", testenv.KeyOf(svc)))
		}
	}
	direct, err := r.direct(ctx)
	if err != nil {
		return fmt.Errorf("the environment without a past: %w", err)
	}
	for _, line := range plain(direct).Diff(plain(r.env.Books())) {
		r.report.Wrong = append(r.report.Wrong, "in the end, "+line)
	}
	return nil
}

// direct returns the books of an environment that was created directly in the present state.
func (r *run) direct(ctx context.Context) (testenv.Books, error) {
	env, err := newEnv(r.options)
	if err != nil {
		return nil, err
	}
	defer env.Close()
	for _, node := range r.env.Cluster.Nodes() {
		if _, err := env.AddNode(node.Name, node.Status.Addresses[0].Address); err != nil {
			return nil, err
		}
	}
	for _, svc := range r.env.Cluster.Services() {
		for _, name := range []string{annotation.LoadBalancerID, annotation.LoadBalancerAddress, annotation.WrittenFor} {
			delete(svc.Annotations, name)
		}
		svc.Finalizers, svc.Status = nil, v1.ServiceStatus{}
		env.Cluster.Apply(svc)
	}
	env.Start(ctx)
	if err := env.Settle(ctx, quiet, patience); err != nil {
		return nil, err
	}
	return env.Books(), nil
}

// partNumber matches the number of a listener, pool or monitor, which depends on the history.
var partNumber = regexp.MustCompile(`\b(listener|pool|monitor)_\d+_`)

// limitsNote matches the rest of a description after limits were removed.
var limitsNote = regexp.MustCompile(` Description=Set by Kubernetes: nothing`)

func plain(books testenv.Books) testenv.Books {
	lines := slices.Clone(books)
	for i, line := range lines {
		lines[i] = limitsNote.ReplaceAllString(partNumber.ReplaceAllString(line, "${1}_N_"), "")
	}
	return lines
}
