package e2e

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// securityGroups lets the controller open the nodes' ports: for each Service by a
// group of its own, then for all by one.
func securityGroups(s *scene) {
	defer s.restartWith("")
	s.restartWith("manage-security-groups=true\n")
	web := s.create("web", nil, "node-1")
	web.address()
	s.guarded("-" + s.namespace + "-web")
	s.answeredBy(s.outside(), at(web.address(), 8080), nodeNames()...)
	s.restartWith("manage-security-groups=true\nsecurity-group-mode=shared\n")
	web.change(func(svc *corev1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, port(corev1.ProtocolTCP, 9090)) })
	s.eventually("no group of the Service's own", func(ctx context.Context) error {
		left, err := s.Cloud.API().SecurityGroups(ctx, "-"+s.namespace+"-")
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("there is %s", left[0].Name)
		}
		return err
	})
	web.remove()
	s.nothingLeft()
}

// guarded waits until all nodes' ports have the group of that name.
func (s *scene) guarded(part string) {
	s.Helper()
	api := s.Cloud.API()
	s.eventually("security group on all nodes", func(ctx context.Context) error {
		groups, err := api.SecurityGroups(ctx, part)
		if err != nil {
			return err
		}
		if len(groups) != 1 {
			return fmt.Errorf("there are %d groups", len(groups))
		}
		nodes, err := api.machinePorts(ctx)
		if err != nil {
			return err
		}
		guarded := 0
		for _, port := range nodes {
			if slices.Contains(port.SecurityGroups, groups[0].ID) {
				guarded++
			}
		}
		if guarded != len(nodeNames()) {
			return fmt.Errorf("%d ports have it", guarded)
		}
		return nil
	})
}

// restartWith starts the controller anew with more keys in [LoadBalancer].
func (s *scene) restartWith(keys string) {
	s.Helper()
	s.must(s.RestartWith(context.WithoutCancel(s.Context()), keys))
}
