package securitygroup_test

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

func (env *environment) drifted() map[string]string {
	env.T.Helper()
	found, err := env.groups.Drifted(env.T.Context())
	if err != nil {
		env.T.Fatal(err)
	}
	return found
}

// What other clients change is found with two requests for all Services, and is as before after another round.
func TestDrifted_ReportsChangesOfOtherClientsAndARoundRepairsThem(t *testing.T) {
	t.Parallel()
	const web, dns, lost = "uid-of-web", "uid-of-dns", "the security group of the cluster was taken off a port"
	ruleOf := func(env *environment, mode, service string) (rule string) {
		for _, r := range env.only(groupOf(mode, service)).Rules {
			if mode == securitygroup.PerService || r.Description == id(service).RuleDescription() {
				rule = r.ID
			}
		}
		return rule
	}
	for name, c := range map[string]struct {
		change     func(env *environment, mode string) error
		perService map[string]string
		shared     map[string]string
	}{
		"none": {change: func(*environment, string) error { return nil }},
		"a rule is deleted": {
			func(env *environment, mode string) error {
				return env.network.DeleteSecurityGroupRule(env.T.Context(), ruleOf(env, mode, "web"))
			},
			map[string]string{web: "a rule of its security group was deleted"}, map[string]string{web: "a rule of its security group was deleted"},
		},
		"a rule is added": {
			func(env *environment, mode string) error {
				_, err := env.Cloud.Neutron.AddSecurityGroupRules(env.only(groupOf(mode, "dns")).ID, env.rule(22, "by hand"))
				return err
			},
			map[string]string{dns: "a rule was added to its security group"}, nil,
		},
		"a group is taken off a port": {
			func(env *environment, mode string) error {
				port, group := env.ports()[0], env.only(groupOf(mode, "web")).ID
				env.set(port, slices.DeleteFunc(port.SecurityGroups, func(id string) bool { return id == group })...)
				return nil
			},
			map[string]string{web: "its security group was taken off a port"}, map[string]string{dns: lost},
		},
		"a port gets another group": {change: func(env *environment, _ string) error {
			port := env.ports()[0]
			env.set(port, append(port.SecurityGroups, env.group("theirs"))...)
			return nil
		}},
		"a port is deleted": {change: func(env *environment, _ string) error { return env.Cloud.Neutron.DeletePort(env.ports()[0].ID) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for mode, want := range map[string]map[string]string{securitygroup.PerService: c.perService, securitygroup.Shared: c.shared} {
				env := newEnvironment(t, mode, &network{})
				requests := map[string]securitygroup.Request{web: env.request(mode, "web", 30080), dns: env.request(mode, "dns", 30053)}
				if env.Cloud.RequestLog.Reset(); len(env.drifted()) > 0 || env.Cloud.RequestLog.Len() > 0 {
					t.Errorf("%s: the cloud is read before there is a group", mode)
				}
				env.settle(requests[web])
				env.settle(requests[dns])
				if err := c.change(env, mode); err != nil {
					t.Fatal(err)
				}
				env.Cloud.RequestLog.Reset()
				found := env.drifted()
				if n := len(env.Cloud.RequestLog.Requests(requestlog.Under("/network"))); n != 2 {
					t.Errorf("%s: %d requests, want two", mode, n)
				}
				if diff := cmp.Diff(want, found); diff != "" && len(want)+len(found) > 0 {
					t.Errorf("%s (-want +got):\n%s", mode, diff)
				}
				for uid := range found {
					env.groups.Reread(uid)
					env.settle(requests[uid])
				}
				if left := env.drifted(); len(left) > 0 {
					t.Errorf("%s: after the rounds of %v: %v", mode, slices.Collect(maps.Keys(found)), left)
				}
			}
		})
	}
}

// During a round, the differences are those that the controller makes. Nothing is said about a cloud that cannot be read.
func TestDrifted_SkipsServicesThatAreBeingReconciled(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		env := newEnvironment(t, mode, &network{})
		env.settle(env.request(mode, "web", 30080))
		for _, rule := range env.only(groupOf(mode, "web")).Rules {
			if err := env.network.DeleteSecurityGroupRule(t.Context(), rule.ID); err != nil {
				t.Fatal(err)
			}
		}
		for request := range 2 {
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: []string{rulesRoute, "/network/v2.0/ports"}[request], Status: http.StatusForbidden, Count: 1})
			if found, err := env.groups.Drifted(t.Context()); err == nil || len(found) > 0 {
				t.Errorf("request %d fails: %v, error %v", request+1, found, err)
			}
		}
		env.plan(mode, "web", 30080)
		if found := env.drifted(); len(found) > 0 {
			t.Errorf("during a round: %v", found)
		}
		env.settle(env.request(mode, "web", 30080))
		if found := env.drifted(); len(found) != 1 {
			t.Errorf("after a round that has not read the group again: %v", found)
		}
	})
}

// A preview goes on from steps that it does not execute, with knowledge of its own.
func TestSuppose_LeavesNothingToPlan(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		env := newEnvironment(t, mode, &network{})
		env.settle(env.request(mode, "dns", 30053))
		env.writes()
		preview := env.groups.With(newStore())
		planned := func(groups *securitygroup.Groups, r securitygroup.Request) *securitygroup.Task {
			t.Helper()
			task, err := groups.Plan(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return task
		}
		r := env.request(mode, "web", 30080)
		r.Spec.CommonPorts = []securitygroup.Opening{{Protocol: "tcp", Port: 10256}}
		r.Spec.Members = env.nodes[:1]
		task := planned(preview, r)
		if preview.Suppose(task, nil); planned(preview, r).String() != task.String() {
			t.Error("no steps change the plan")
		}
		preview.Suppose(task, task.Steps())
		if left := planned(preview, r); !left.Empty() && mode == securitygroup.PerService || strings.Contains(left.String(), "allow") {
			t.Errorf("this is left:\n%s", left.Plan)
		}
		later := env.request(mode, "web", 30443)
		later.Spec.CommonPorts = r.Spec.CommonPorts
		task = planned(preview, later)
		if text := task.String(); !strings.Contains(text, "allow tcp/30443") || !strings.Contains(text, "no longer allow tcp/30080") {
			t.Errorf("with another NodePort:\n%s", text)
		}
		preview.Suppose(task, task.Steps())
		if left := planned(preview, later).String(); strings.Contains(left, "allow") {
			t.Errorf("this is left:\n%s", left)
		}
		if env.writes() > 0 || len(env.named(groupOf(securitygroup.PerService, "web"))) > 0 {
			t.Error("a preview writes")
		}
		settled := env.request(mode, "dns", 30053)
		settled.Spec.Members = env.nodes[:1]
		preview = env.groups.With(newStore())
		for _, r := range []securitygroup.Request{settled, {ID: id("dns")}} {
			task = planned(preview, r)
			preview.Suppose(task, task.Steps())
			if left := planned(preview, r); !left.Empty() && mode == securitygroup.PerService {
				t.Errorf("this is left:\n%s", left.Plan)
			}
		}
		for _, other := range []string{securitygroup.PerService, securitygroup.Shared, ""} {
			preview, was := env.configured(other, time.Hour), securitygroup.Request{ID: id("dns"), Before: true}
			task = planned(preview, was)
			if obsolete := len(task.Steps()) > 0; obsolete != (mode != other) {
				t.Errorf("in mode %q, planned:\n%s", other, task.Plan)
			}
			preview.Suppose(task, task.Steps())
			if left := planned(preview, was); !left.Empty() {
				t.Errorf("in mode %q, this is left:\n%s", other, left.Plan)
			}
		}
		if task := planned(env.groups, r); !strings.Contains(task.String(), "tcp/30080 from") {
			t.Errorf("after a preview the controller plans\n%s", task.Plan)
		}
	})
}

// Estimates of a plan's duration and cost come from the number of its writes.
func TestWrites_AreAsManyAsTheStepsTake(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		env := newEnvironment(t, mode, &network{})
		all := env.nodes
		for _, c := range []struct {
			name  string
			nodes []securitygroup.Node
			port  int
		}{{"first", all, 30080}, {"another port", all, 30081}, {"a node less", all[:1], 30081}, {"a node more", all, 30082}} {
			env.nodes = c.nodes
			task := env.plan(mode, "web", c.port)
			want := 0
			for _, step := range task.Steps() {
				want += securitygroup.Writes(step)
			}
			env.writes()
			if err := env.groups.Open(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			if err := env.groups.Close(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			if !task.Empty() {
				t.Errorf("%s: steps are left that were taken:\n%s", c.name, task.Plan)
			}
			if got := env.writes(); got != want || want == 0 {
				t.Errorf("%s: %d writes, want %d", c.name, got, want)
			}
		}
		steps, err := env.groups.Removal(t.Context(), id("web"))
		if err != nil || len(steps) != 1 || securitygroup.Writes(steps[0]) != 1 {
			t.Errorf("removal: %v of at least one write, error %v", steps, err)
		}
	})
}

// A refused Service keeps the clients that it has: its ranges may be unreadable, and neither closing nor opening it is asked for.
func TestPlan_KeepsClientsOfARefusedService(t *testing.T) {
	t.Parallel()
	office, home := []string{"192.0.2.0/24"}, []string{"198.51.100.0/24"}
	for name, c := range map[string]struct {
		before, asked []string
		unread        bool
	}{
		"some, and others are asked for":     {office, home, false},
		"some, and all are asked for":        {office, nil, false},
		"some, and those asked are unknown":  {office, nil, true},
		"all, and some are asked for":        {nil, office, false},
		"all, and those asked are unknown":   {nil, nil, true},
		"the same, and those are asked for":  {office, office, false},
		"several, and one of them is wanted": {append(office, home...), home, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, securitygroup.PerService, &network{})
			r := env.request(securitygroup.PerService, "web", 30080)
			r.Spec.Direct, r.Spec.Clients = true, c.before
			env.settle(r)
			env.writes()
			asked := *r.Spec
			asked.Clients = c.asked
			r.Spec, r.Kept, r.Unread = &asked, true, c.unread
			env.settle(r)
			if env.writes() > 0 {
				t.Errorf("the rules are now %v", env.opens(groupOf(securitygroup.PerService, "web")))
			}
			if !slices.Equal(asked.Clients, c.asked) {
				t.Errorf("the caller's request is changed to %v", asked.Clients)
			}
		})
	}
}

// With KeepPorts, a refused Service gets no port that is not open for it, and no clients of other ports.
func TestPlan_KeepsPortsOfARefusedService(t *testing.T) {
	t.Parallel()
	for _, exists := range []bool{true, false} {
		env := newEnvironment(t, securitygroup.PerService, &network{})
		r := env.request(securitygroup.PerService, "web", 80)
		r.Spec.Direct, r.Spec.Clients = true, []string{"192.0.2.0/24"}
		if exists {
			env.settle(r)
			env.writes()
		}
		asked := *env.request(securitygroup.PerService, "web", 80).Spec
		asked.Direct, asked.NodePorts = true, append(asked.NodePorts, securitygroup.Opening{Protocol: "tcp", Port: 22})
		r.Spec, r.Kept, r.KeepPorts, r.Unread = &asked, true, true, !exists
		env.settle(r)
		var want []string
		if exists {
			want = []string{"ingress IPv4 tcp 80-80 from 192.0.2.0/24"}
		}
		if rules := env.opens(groupOf(securitygroup.PerService, "web")); !slices.Equal(rules, want) {
			t.Errorf("the group exists: %v: rules %v, want %v", exists, rules, want)
		}
		if len(asked.NodePorts) != 2 {
			t.Errorf("the caller's request is changed to %v", asked.NodePorts)
		}
	}
}

// Without its group, a refused Service gets the clients that it asks for; if these are unknown, none.
func TestPlan_AdmitsKnownClientsOnlyIfGroupOfRefusedServiceIsGone(t *testing.T) {
	t.Parallel()
	for _, unread := range []bool{false, true} {
		env := newEnvironment(t, securitygroup.PerService, &network{})
		r := env.request(securitygroup.PerService, "web", 30080)
		r.Spec.Direct, r.Spec.Clients, r.Kept, r.Unread = true, []string{"192.0.2.0/24"}, true, unread
		err := env.round(r)
		if unread {
			if err == nil || !strings.Contains(err.Error(), "the clients to admit are unknown") || len(env.Cloud.Neutron.SecurityGroups()) != 1 {
				t.Errorf("error %v, groups %v", err, env.Cloud.Neutron.SecurityGroups())
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if rules := env.opens(groupOf(securitygroup.PerService, "web")); len(rules) != 1 || !strings.HasSuffix(rules[0], "from 192.0.2.0/24") {
			t.Errorf("rules %v", rules)
		}
	}
}

// cloud.conf may be wrong: the groups of a refused Service stay even if none are wanted.
func TestPlan_KeepsGroupsOfARefusedServiceThatShallHaveNone(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, securitygroup.PerService, &network{})
	env.settle(env.request(securitygroup.PerService, "web", 30080))
	env.groups = env.configured("", time.Hour)
	for _, kept := range []bool{true, false} {
		env.settle(securitygroup.Request{ID: id("web"), Before: true, Kept: kept})
		if left := len(env.named(groupOf(securitygroup.PerService, "web"))); (left == 1) != kept {
			t.Errorf("refused: %v: %d groups", kept, left)
		}
	}
}

// The source ranges of a Service are refused where a group of another client admits everybody to its NodePort: not those of
// a Service without ranges, nor of one with listeners that enforce them, nor the clients that a refused Service has.
func TestPlan_RefusesRangesBesideAGroupThatIsOpenOnlyWhereItEnforcesThem(t *testing.T) {
	t.Parallel()
	some := []string{"192.0.2.0/24"}
	for name, c := range map[string]struct {
		direct  bool
		clients []string
		kept    bool
		refused bool
	}{
		"ranges":                         {true, some, false, true},
		"no ranges":                      {true, nil, false, false},
		"ranges of listeners":            {false, some, false, false},
		"ranges that a refused one has":  {true, some, true, false},
		"clients that a refused one has": {true, nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, securitygroup.PerService, &network{})
			r := env.request(securitygroup.PerService, "web", 30080)
			r.Spec.Direct, r.Spec.Clients = c.direct, c.clients
			env.settle(r)
			open := env.group("open")
			env.add(open, simneutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv4", Protocol: "tcp"})
			env.set(env.ports()[0], append(env.ports()[0].SecurityGroups, open)...)
			env.groups = env.restart(time.Hour)
			r.Kept = c.kept
			err := env.round(r)
			var unenforced *securitygroup.UnenforcedError
			if errors.As(err, &unenforced) != c.refused || !c.refused && err != nil {
				t.Errorf("error %v", err)
			}
		})
	}
}
