package securitygroup_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loglines"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// Whichever request fails, its operation is an error, and the next try ends in the same state as without the failure.
func TestGroups_ReportEachFailureAndResumeAfterIt(t *testing.T) {
	t.Parallel()
	both := func(env *environment, mode string) {
		env.settle(env.request(mode, "web", 30080))
		env.settle(env.request(mode, "dns", 30053))
	}
	served := func(mode string) func(*environment) error {
		return func(env *environment) error {
			r := env.request(mode, "web", 30080)
			r.Before = true
			return env.round(r)
		}
	}
	remove := func(env *environment) error { return env.groups.Remove(env.T.Context(), id("web")) }
	for name, c := range map[string]struct {
		mode    string
		prepare func(env *environment)
		act     func(env *environment) error
		// atLeast is the number of requests.
		atLeast int
	}{
		"remove":                          {securitygroup.PerService, func(env *environment) { both(env, securitygroup.PerService) }, remove, 6},
		"remove from shared":              {securitygroup.Shared, func(env *environment) { both(env, securitygroup.Shared) }, remove, 4},
		"remove the last one from shared": {securitygroup.Shared, func(env *environment) { env.settle(env.request(securitygroup.Shared, "web", 30080)) }, remove, 7},
		"remove in a new process":         {securitygroup.Shared, func(env *environment) { both(env, securitygroup.Shared); env.groups = env.restart(time.Hour) }, remove, 6},
		"remove what another mode has left": {securitygroup.PerService, func(env *environment) {
			both(env, securitygroup.PerService)
			env.groups = env.configured("", time.Hour)
		}, remove, 5},
		"change to shared": {securitygroup.PerService, func(env *environment) {
			both(env, securitygroup.PerService)
			env.groups = env.configured(securitygroup.Shared, time.Hour)
		}, served(securitygroup.Shared), 15},
		"change from shared": {securitygroup.Shared, func(env *environment) {
			both(env, securitygroup.Shared)
			env.groups = env.configured(securitygroup.PerService, time.Hour)
		}, served(securitygroup.PerService), 12},
		"tidy the shared group": {securitygroup.Shared, func(env *environment) {
			env.group(groupOf(securitygroup.Shared, "web"))
			env.group(groupOf(securitygroup.Shared, "web"))
		}, served(securitygroup.Shared), 10},
		"a node leaves": {securitygroup.Shared, func(env *environment) { both(env, securitygroup.Shared) }, func(env *environment) error {
			r := env.request(securitygroup.Shared, "web", 30080)
			r.Spec.Members = env.nodes[:1]
			return env.round(r)
		}, 1},
		"rules exist": {securitygroup.PerService, func(env *environment) {
			both(env, securitygroup.PerService)
			env.add(env.only(groupOf(securitygroup.PerService, "web")).ID, env.rule(30443, ""))
		}, func(env *environment) error { return env.round(env.request(securitygroup.PerService, "web", 30443)) }, 3},
		"rules of another exist": {securitygroup.Shared, func(env *environment) {
			both(env, securitygroup.Shared)
			env.add(env.only(groupOf(securitygroup.Shared, "web")).ID, env.rule(30443, id("api").RuleDescription()))
		}, func(env *environment) error { return env.round(env.request(securitygroup.Shared, "web", 30443)) }, 5},
		"keep clients": {securitygroup.PerService, func(env *environment) {
			r := env.request(securitygroup.PerService, "web", 30080)
			r.Spec.Direct = true
			env.settle(r)
			env.groups = env.restart(time.Hour)
		}, func(env *environment) error {
			r := env.request(securitygroup.PerService, "web", 30080)
			r.Spec.Direct, r.Kept, r.Unread = true, true, true
			return env.round(r)
		}, 2},
		"adopt": {securitygroup.PerService, func(env *environment) {
			both(env, securitygroup.PerService)
			env.groups = env.restart(time.Hour)
		}, served(securitygroup.PerService), 2},
		"exists": {securitygroup.Shared, func(env *environment) { both(env, securitygroup.Shared); env.groups = env.restart(time.Hour) }, func(env *environment) error {
			_, err := env.groups.Exists(env.T.Context(), id("web"))
			return err
		}, 4},
		"removal": {securitygroup.PerService, func(env *environment) { both(env, securitygroup.PerService) }, func(env *environment) error {
			_, err := env.groups.Removal(env.T.Context(), id("web"))
			return err
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want string
			for request := 0; ; request++ {
				env := newEnvironment(t, c.mode, &network{})
				c.prepare(env)
				if request > 0 {
					env.Cloud.Faults.Add(faults.Rule{Route: "/network/v2.0/**", From: request, Count: 1, Status: http.StatusForbidden, Worded: true})
				}
				err := c.act(env)
				switch failed := request > 0 && env.Cloud.Faults.Hits() > 0; {
				case request > 0 && !failed:
					if request <= c.atLeast {
						t.Errorf("only %d requests", request-1)
					}
					return
				case failed && err == nil:
					t.Errorf("request %d fails, and that is no error", request)
				case failed:
					err = c.act(env)
				}
				if err != nil {
					t.Errorf("after request %d has failed: %v", request, err)
				}
				state := env.summary()
				if request == 0 {
					want = state
				}
				if diff := cmp.Diff(want, state); diff != "" {
					t.Errorf("after request %d has failed (-want +got):\n%s", request, diff)
				}
			}
		})
	}
}

// summary describes all groups and their ports, without IDs.
func (env *environment) summary() string {
	var all []string
	for _, group := range env.Cloud.Neutron.SecurityGroups() {
		var rules []string
		for _, r := range group.Rules {
			rules = append(rules, fmt.Sprint(r.Direction, " ", r.EtherType, " ", r.PortRangeMin, " ", r.Description))
		}
		slices.Sort(rules)
		using := 0
		for _, port := range env.ports() {
			if slices.Contains(port.SecurityGroups, group.ID) {
				using++
			}
		}
		all = append(all, fmt.Sprintf("%s on %d ports: %q", group.Name, using, rules))
	}
	slices.Sort(all)
	return fmt.Sprintf("%q", all)
}

// Each change of the cloud has one line in the log, with the group that it changes.
func TestGroups_LogEachStepWithItsGroup(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, securitygroup.PerService, &network{})
	ctx, log := loglines.At(t.Context(), 2)
	task, err := env.groups.Plan(ctx, env.request(securitygroup.PerService, "web", 30080))
	if err != nil {
		t.Fatal(err)
	}
	want := [][2]string{}
	for _, step := range task.Steps() {
		want = append(want, [2]string{step.String()})
	}
	if err := env.groups.Open(ctx, task); err != nil {
		t.Fatal(err)
	}
	if err := env.groups.Close(ctx, task); err != nil || !task.Empty() {
		t.Fatalf("steps are left that were taken: %s, error %v", task.Plan, err)
	}
	group := env.only(groupOf(securitygroup.PerService, "web"))
	steps, err := env.groups.Removal(ctx, id("web"))
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, [2]string{steps[0].String()})
	if err := env.groups.Remove(ctx, id("web")); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i][1] = group.ID
	}
	got := [][2]string{}
	for _, line := range log.Take() {
		got = append(got, [2]string{fmt.Sprint(line["step"]), fmt.Sprint(line["securityGroup"])})
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 4 {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: groupsRoute, Status: http.StatusForbidden, Worded: true})
	if task, err = env.groups.Plan(ctx, env.request(securitygroup.PerService, "web", 30080)); err != nil {
		t.Fatal(err)
	}
	if err := env.groups.Open(ctx, task); err == nil || len(log.Take()) > 0 {
		t.Error("a step that fails is logged as a change")
	}
}

// Steps appear in events, plans and the log: with everything that a reader needs, and not longer.
func TestSteps_NameGroupRulesAndNodes(t *testing.T) {
	t.Parallel()
	rules := []securitygroup.Rule{{Opening: securitygroup.Opening{Protocol: "tcp", Port: 30080}, Prefix: "10.0.0.0/8"}, {Opening: securitygroup.Opening{Protocol: "icmp"}, Prefix: "::/0"}}
	var nodes []securitygroup.NodePort
	for i := range 6 {
		nodes = append(nodes, securitygroup.NodePort{ID: fmt.Sprint("port-", i), Node: map[bool]string{true: fmt.Sprint("node-", i)}[i > 0]})
	}
	for want, step := range map[string]securitygroup.Step{
		"security group sg: create": securitygroup.CreateGroup{Name: "sg"},
		"security group sg: tag":    securitygroup.TagGroup{Name: "sg"},
		"security group sg: allow tcp/30080 from 10.0.0.0/8, icmp from ::/0": securitygroup.AddRules{Name: "sg", Own: rules[:1], Common: rules[1:]},
		"security group sg: no longer allow tcp/30080 from 10.0.0.0/8, egress IPv4 tcp": securitygroup.DeleteRules{Name: "sg", Rules: []securitygroup.Held{
			{Rule: rules[0]}, {Text: "egress IPv4 tcp"},
		}},
		"security group sg: put on the ports of node-1, node-2, node-3, node-4":            securitygroup.JoinPorts{Name: "sg", Ports: nodes[1:5]},
		"security group sg: put on the ports of node-1, node-2, node-3, node-4 and 1 more": securitygroup.JoinPorts{Name: "sg", Ports: nodes[1:]},
		"security group sg: take off the ports port-0":                                     securitygroup.LeavePorts{Name: "sg", Ports: nodes[:1]},
		"security group sg: take off the ports port-0, node-1, node-2, node-3 and 2 more":  securitygroup.LeavePorts{Name: "sg", Ports: nodes},
		"security group g: take off all ports and delete":                                  securitygroup.DeleteGroup{ID: "g"},
		"security group g: delete the Service's rules":                                     securitygroup.LeaveShared{ID: "g"},
	} {
		if got := step.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	plan := securitygroup.Plan{Open: []securitygroup.Step{securitygroup.TagGroup{Name: "a"}}, Close: []securitygroup.Step{securitygroup.DeleteGroup{ID: "b"}}}
	if got := plan.String(); got != "security group a: tag\nsecurity group b: take off all ports and delete\n" {
		t.Errorf("a plan is printed as %q", got)
	}
}

// A node comes with several Services at once: its port gets all groups, and each round's list keeps those of the others.
func TestOpen_PutsGroupsOfConcurrentServicesOnTheSamePorts(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		env := newEnvironment(t, mode, &network{})
		theirs := env.group("theirs")
		for _, port := range env.ports() {
			env.set(port, append(port.SecurityGroups, theirs)...)
		}
		const services = 6
		ended := make(chan error, services)
		for i := range services {
			go func() { ended <- env.round(env.request(mode, fmt.Sprint("s", i), 30000+i)) }()
		}
		for range services {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		want := map[string]int{securitygroup.PerService: services, securitygroup.Shared: 1}[mode] + 2
		for _, port := range env.ports() {
			groups := slices.Compact(slices.Sorted(slices.Values(port.SecurityGroups)))
			if len(port.SecurityGroups) != want || len(groups) != want || !slices.Contains(groups, theirs) {
				t.Errorf("port %s uses %v, want %d groups", port.ID, port.SecurityGroups, want)
			}
		}
		if groups := env.Cloud.Neutron.SecurityGroups(); len(groups) != want {
			t.Errorf("groups %v, want %d", groups, want)
		}
		for i := range services {
			if !slices.ContainsFunc(env.only(groupOf(mode, fmt.Sprint("s", i))).Rules, func(r simneutron.SecurityGroupRule) bool { return r.PortRangeMin == 30000+i }) {
				t.Errorf("Service %d has no rule", i)
			}
		}
	})
}
