package examples_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// planned returns the result of the command plan for a query.
func (s *site) planned(query plan.Query) []plan.Service {
	s.t.Helper()
	engine, end, err := s.Rehearse(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	defer end()
	query.Namespace = "default"
	report, err := plan.Run(s.t.Context(), plan.Options{Client: s.Client(), Engine: engine, Query: query, Patience: time.Hour})
	if err != nil {
		s.t.Fatal(err)
	}
	return report.Services
}

// assertForetold checks that the plan of a new Service's manifest creates something, without a refusal.
func (s *site) assertForetold(manifest string) {
	s.t.Helper()
	for _, svc := range s.planned(plan.Query{File: strings.NewReader(manifest)}) {
		if svc.Verdict != plan.Change || svc.Address.Before != "" || len(svc.Steps) == 0 {
			s.t.Errorf("before it is applied, the plan is %s: %+v", svc.Verdict, svc)
		}
	}
}

// assertPlan checks that the plan of the Services has no steps, except for those that are not managed.
func (s *site) assertPlan() {
	s.t.Helper()
	for i, svc := range s.planned(plan.Query{All: true}) {
		want := plan.NoChange
		if unmanaged(s.Cluster.Services()[i]) {
			want = plan.Change
		}
		if svc.Verdict != want {
			s.t.Errorf("the plan of %s is %s, want %s: %+v", svc.Name, svc.Verdict, want, svc)
		}
	}
}

// assertStatus checks that the Services are good, or not managed.
func (s *site) assertStatus() {
	s.t.Helper()
	session, err := s.SignIn(s.t.Context(), true)
	if err != nil {
		s.t.Fatal(err)
	}
	defer session.Close()
	reader, err := status.New(status.Options{Config: s.Conf, Session: session, Kubernetes: s.Client(), ClusterName: "kubernetes"})
	if err != nil {
		s.t.Fatal(err)
	}
	report, err := reader.Read(s.t.Context(), status.Query{})
	if err != nil {
		s.t.Fatal(err)
	}
	for i, svc := range report.Services {
		named := slices.ContainsFunc(svc.Problems, func(p status.Problem) bool { return strings.Contains(p.Text, "/managed: nothing is written") })
		if is := unmanaged(s.Cluster.Services()[i]); (svc.State == status.Good) == is || named != is {
			s.t.Errorf("the status of %s is %s: %+v", svc.Name, svc.State, svc.Problems)
		}
	}
}

// cleanUp applies an example, ends the controller, and checks what the command cleanup finds and removes.
func cleanUp(t *testing.T, e *example) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := applied(t, e)
		defer s.Close()
		s.Stop()
		session, err := s.SignIn(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		clean := func(options garbage.Options) (found []string) {
			options.Octavia, options.Neutron, options.ClusterID = session.Octavia(), session.Neutron(), testenv.ClusterUID
			options.Timeout, options.Poll = time.Hour, time.Second
			report, err := garbage.Run(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range report.Items {
				if item.State == garbage.Found || item.State == garbage.Removed {
					found = append(found, string(item.Kind)+" "+item.ID)
				}
			}
			return found
		}
		all := s.left()
		if found := clean(garbage.Options{Query: garbage.Query{Services: s.living()}}); len(found) > 0 {
			t.Errorf("garbage, although the Services exist: %q", found)
		}
		vanished := clean(garbage.Options{Query: garbage.Query{Services: garbage.NewServices(nil)}})
		removed := clean(garbage.Options{Remove: true})
		if len(all) != len(vanished) || len(all) != len(removed) {
			t.Errorf("of %q,\nwithout the Services these are garbage: %q\nand without the cluster these: %q", all, vanished, removed)
		}
		if left := s.left(); len(left) > 0 {
			t.Errorf("left are %q", left)
		}
	})
}

// living returns the present Services, which all want a load balancer.
func (s *site) living() *garbage.Services {
	var all []garbage.Service
	for _, svc := range s.Cluster.Services() {
		one := garbage.Service{UID: string(svc.UID), Name: testenv.KeyOf(svc).String(), Wanting: true}
		for _, ingress := range svc.Status.LoadBalancer.Ingress {
			one.Addresses = append(one.Addresses, ingress.IP)
		}
		all = append(all, one)
	}
	return garbage.NewServices(all)
}
