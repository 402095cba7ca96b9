package securitygroup_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

const (
	groupsRoute = "/network/v2.0/security-groups"
	tagsRoute   = "/network/v2.0/security-groups/{id}/tags"
	rulesRoute  = "/network/v2.0/security-group-rules"
)

// round plans, opens and closes, as a round of a Service does.
func (env *environment) round(r securitygroup.Request) error {
	task, err := env.groups.Plan(env.T.Context(), r)
	if err != nil {
		return err
	}
	if err := env.groups.Open(env.T.Context(), task); err != nil {
		return err
	}
	return env.groups.Close(env.T.Context(), task)
}

func (env *environment) settle(r securitygroup.Request) {
	env.T.Helper()
	if err := env.round(r); err != nil {
		env.T.Fatal(err)
	}
}

// writes returns the number of writes since the last call.
func (env *environment) writes() int {
	defer env.Cloud.RequestLog.Reset()
	return len(env.Cloud.RequestLog.Requests(requestlog.Writes()))
}

func (env *environment) named(name string) (groups []simneutron.SecurityGroup) {
	return slices.DeleteFunc(env.Cloud.Neutron.SecurityGroups(), func(g simneutron.SecurityGroup) bool { return g.Name != name })
}

// only returns the only group of a name.
func (env *environment) only(name string) simneutron.SecurityGroup {
	env.T.Helper()
	groups := env.named(name)
	if len(groups) != 1 {
		env.T.Fatalf("%d groups have the name %s, want one", len(groups), name)
	}
	return groups[0]
}

// groupOf returns the name of the group that has a Service's rules.
func groupOf(mode, service string) string {
	if mode == securitygroup.Shared {
		return id(service).SharedGroup().Name
	}
	return id(service).SecurityGroup().Name
}

// opens returns the rules of a group, in one line each.
func (env *environment) opens(name string) (rules []string) {
	env.T.Helper()
	for _, r := range env.only(name).Rules {
		text := fmt.Sprintf("%s %s %s %d-%d from %s", r.Direction, r.EtherType, r.Protocol, r.PortRangeMin, r.PortRangeMax, r.RemoteIPPrefix)
		if r.Description != "" {
			text += " for " + r.Description
		}
		rules = append(rules, text)
	}
	slices.Sort(rules)
	return rules
}

// rule returns a rule for a NodePort, as the controller makes it.
func (env *environment) rule(port int, description string) simneutron.SecurityGroupRule {
	return simneutron.SecurityGroupRule{
		Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortRangeMin: port, PortRangeMax: port, RemoteIPPrefix: env.Cloud.Subnet.CIDR, Description: description,
	}
}

func (env *environment) add(groupID string, rule simneutron.SecurityGroupRule) {
	env.T.Helper()
	if _, err := env.Cloud.Neutron.AddSecurityGroupRules(groupID, rule); err != nil {
		env.T.Fatal(err)
	}
}

func eachMode(t *testing.T, test func(t *testing.T, mode string)) {
	t.Helper()
	for _, mode := range []string{securitygroup.PerService, securitygroup.Shared} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			test(t, mode)
		})
	}
}

func TestOpen_CreatesGroupWithNothingButTheRulesOfItsServices(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		env := newEnvironment(t, mode, &network{})
		r := env.request(mode, "web", 30080)
		r.Spec.NodePorts = append(r.Spec.NodePorts, securitygroup.Opening{Protocol: "udp", Port: 30053}, securitygroup.Opening{Protocol: "sctp", Port: 30040})
		r.Spec.HealthPorts = []securitygroup.Opening{{Protocol: "tcp", Port: 32000}}
		r.Spec.CommonPorts = []securitygroup.Opening{{Protocol: "tcp", Port: 10256}, {Protocol: "icmp"}}
		env.settle(r)
		want, own, common := id("web").SecurityGroup(), "", ""
		if mode == securitygroup.Shared {
			want, own, common = id("web").SharedGroup(), " for "+id("web").RuleDescription(), " for "+ownership.CommonRuleDescription
		}
		group := env.only(want.Name)
		if group.Description != want.Description || !slices.Equal(group.Tags, want.Tags) {
			t.Errorf("group %q with tags %v", group.Description, group.Tags)
		}
		from := " from " + env.Cloud.Subnet.CIDR
		if diff := cmp.Diff([]string{
			"ingress IPv4 icmp 0-0" + from + common, "ingress IPv4 sctp 30040-30040" + from + own, "ingress IPv4 tcp 10256-10256" + from + common,
			"ingress IPv4 tcp 30080-30080" + from + own, "ingress IPv4 tcp 32000-32000" + from + own, "ingress IPv4 udp 30053-30053" + from + own,
		}, env.opens(want.Name)); diff != "" {
			t.Errorf("rules (-want +got):\n%s", diff)
		}
		if env.writes(); env.inGroup() != len(env.nodes) {
			t.Errorf("%d ports have the group", env.inGroup())
		}
		if env.settle(r); env.writes() > 0 {
			t.Error("another round with the same request writes")
		}
	})
}

func TestClose_LeavesNothingToPlanAfterANodeHasLeft(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		env := newEnvironment(t, mode, &network{})
		env.settle(env.request(mode, "web", 30080))
		env.nodes = env.nodes[:1]
		env.settle(env.request(mode, "web", 30080))
		if env.inGroup() != 1 {
			t.Errorf("%d ports of the node that stays have the group", env.inGroup())
		}
		if task := env.plan(mode, "web", 30080); !task.Empty() {
			t.Errorf("the next round plans\n%s", task.Plan)
		}
	})
}

func TestPlan_NeedsTheIdentityOfTheClusterForASharedGroup(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, securitygroup.Shared, &network{})
	r := env.request(securitygroup.Shared, "web", 30080)
	r.ID.ClusterID = ""
	if err := env.round(r); err == nil || !strings.Contains(err.Error(), "let the controller read the namespace kube-system") {
		t.Errorf("error %v", err)
	}
	env.groups = env.configured(securitygroup.PerService, time.Hour)
	r.Spec.Mode = securitygroup.PerService
	env.settle(r)
}

// A new process finds what an earlier one has left, in the same mode or another, and removes only what the
// Service itself does not need any more.
func TestGroups_ChangeModeOfOneServiceAfterAnother(t *testing.T) {
	t.Parallel()
	modes := []string{securitygroup.PerService, securitygroup.Shared, ""}
	for _, before := range modes[:2] {
		for _, after := range modes {
			t.Run(before+" to "+after, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, before, &network{})
				env.settle(env.request(before, "web", 30080))
				env.settle(env.request(before, "dns", 30053))
				env.groups = env.configured(after, time.Hour)
				env.writes()
				for i, service := range []string{"web", "dns"} {
					r := env.request(after, service, map[string]int{"web": 30080, "dns": 30053}[service])
					if r.Before = true; after == "" {
						r.Spec = nil
					}
					env.settle(r)
					if writes := env.writes(); (writes > 0) != (before != after) {
						t.Errorf("%s: %d writes", service, writes)
					}
					if exists, err := env.groups.Exists(t.Context(), id(service)); err != nil || exists != (after != "") {
						t.Errorf("%s: it has a group or rule: %v, error %v", service, exists, err)
					}
					env.writes()
					if old := env.named(groupOf(before, "dns")); before != after && (len(old) == 1) != (i == 0) {
						t.Errorf("after %s there are %d groups of dns in the previous mode", service, len(old))
					}
				}
				want := map[string]int{securitygroup.PerService: 2, securitygroup.Shared: 1}[after]
				if groups := len(env.Cloud.Neutron.SecurityGroups()) - 1; groups != want || env.inGroup() != want*len(env.nodes) {
					t.Errorf("%d groups on %d ports, want %d on each port", groups, env.inGroup(), want)
				}
			})
		}
	}
}

func TestRemove_DeletesOnlyTheObjectsOfTheService(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		env := newEnvironment(t, mode, &network{})
		exists := func(service string) bool {
			t.Helper()
			exists, err := env.groups.Exists(t.Context(), id(service))
			if err != nil {
				t.Fatal(err)
			}
			return exists
		}
		if exists("web") {
			t.Error("a Service that was never served has a group")
		}
		env.settle(env.request(mode, "web", 30080))
		env.settle(env.request(mode, "dns", 30053))
		dns := env.opens(groupOf(mode, "dns"))
		if mode == securitygroup.Shared {
			dns = slices.DeleteFunc(dns, func(rule string) bool { return !strings.HasSuffix(rule, id("dns").RuleDescription()) })
		}
		env.writes()
		steps, err := env.groups.Removal(t.Context(), id("web"))
		if err != nil || len(steps) != 1 || env.writes() > 0 || !exists("web") {
			t.Fatalf("removal in %v, error %v, exists %v", steps, err, exists("web"))
		}
		if err := env.groups.Remove(t.Context(), id("web")); err != nil {
			t.Fatal(err)
		}
		if exists("web") || !exists("dns") {
			t.Errorf("after web was removed: web exists %v, dns %v", exists("web"), exists("dns"))
		}
		if diff := cmp.Diff(dns, env.opens(groupOf(mode, "dns"))); diff != "" {
			t.Errorf("rules of the other Service (-before +after):\n%s", diff)
		}
		if env.inGroup() != len(env.nodes) {
			t.Errorf("%d ports have the group of the other Service", env.inGroup())
		}
		env.writes()
		if err := env.groups.Remove(t.Context(), id("web")); err != nil || env.writes() > 0 {
			t.Errorf("removed again: error %v", err)
		}
		if err := env.groups.Remove(t.Context(), id("dns")); err != nil || len(env.Cloud.Neutron.SecurityGroups()) != 1 || env.inGroup() != 0 {
			t.Errorf("after both were removed: error %v, groups %v", err, env.Cloud.Neutron.SecurityGroups())
		}
	})
}

// A Service that is created again under its name has another UID: the knowledge of the old one is of no use.
func TestRemove_ForgetsTheService(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		env, store := newEnvironment(t, mode, &network{}), newStore()
		env.groups = env.groups.With(store)
		env.settle(env.request(mode, "web", 30080))
		uid := types.UID(id("web").ServiceUID)
		if known := store.All()[uid]; known.State == nil || !known.Settled {
			t.Errorf("after a round: %+v", known)
		}
		if err := env.groups.Remove(t.Context(), id("web")); err != nil || store.All()[uid].State != nil {
			t.Errorf("after its removal: %+v, error %v", store.All()[uid].State, err)
		}
	})
}

// A cluster that was restored from a backup has Services with the UIDs of another one.
func TestGroups_LeaveGroupOfSameNameToOtherCluster(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		env := newEnvironment(t, mode, &network{})
		theirs := env.group(groupOf(mode, "web"))
		if err := env.network.TagSecurityGroup(t.Context(), theirs, []string{ownership.ClusterTag("another")}); err != nil {
			t.Fatal(err)
		}
		r := env.request(mode, "web", 30080)
		r.Before = true
		env.settle(r)
		if groups := env.named(groupOf(mode, "web")); len(groups) != 2 {
			t.Errorf("groups %v, want theirs and ours", groups)
		}
		if err := env.groups.Remove(t.Context(), id("web")); err != nil {
			t.Fatal(err)
		}
		if left := env.only(groupOf(mode, "web")); left.ID != theirs || len(left.Rules) != 2 {
			t.Errorf("%+v is left, want theirs (%s) as it was", left, theirs)
		}
	})
}

// The answer to a creation is lost, or the process ends after it: there is one group in the end.
func TestGroups_ResumeInterruptedCreation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault faults.Rule
		fails bool
	}{
		"the answer is lost":         {fault: faults.Rule{Method: http.MethodPost, Route: groupsRoute, AfterWork: true, Status: http.StatusInternalServerError}},
		"it has no tags":             {fault: faults.Rule{Method: http.MethodPut, Route: tagsRoute, Status: http.StatusForbidden}, fails: true},
		"it has a rule about egress": {fault: faults.Rule{Method: http.MethodDelete, Route: rulesRoute + "/{id}", Status: http.StatusForbidden}, fails: true},
		"it has no rules":            {fault: faults.Rule{Method: http.MethodPost, Route: rulesRoute, Status: http.StatusForbidden}, fails: true},
	} {
		for _, start := range []struct {
			mode   string
			before bool // an earlier process may have served the Service
		}{{securitygroup.PerService, false}, {securitygroup.PerService, true}, {securitygroup.Shared, false}, {securitygroup.Shared, true}} {
			t.Run(fmt.Sprint(start, ", ", name), func(t *testing.T) {
				t.Parallel()
				mode := start.mode
				env := newEnvironment(t, mode, &network{})
				fault := c.fault
				fault.Count, fault.Worded = 1, true
				env.Cloud.Faults.Add(fault)
				r := env.request(mode, "web", 30080)
				r.Before = start.before
				err := env.round(r)
				if fails := c.fails || mode == securitygroup.Shared; (err != nil) != fails {
					t.Fatalf("error %v", err)
				}
				env.groups = env.restart(time.Hour)
				env.settle(r)
				if rules := env.opens(groupOf(mode, "web")); len(rules) != 1 || !strings.Contains(rules[0], "ingress IPv4 tcp 30080-30080") {
					t.Errorf("rules %v", rules)
				}
				want := id("web").SecurityGroup().Tags
				if mode == securitygroup.Shared {
					want = id("web").SharedGroup().Tags
				}
				if tags := env.only(groupOf(mode, "web")).Tags; !slices.Equal(tags, want) {
					t.Errorf("tags %v, want %v", tags, want)
				}
				creations := env.Cloud.RequestLog.Count(http.MethodPost, groupsRoute)
				if env.writes(); creations != 1 {
					t.Errorf("%d creations", creations)
				}
				if env.settle(r); env.writes() > 0 {
					t.Error("the round after it writes again")
				}
				if env.settle(env.request(mode, "dns", 30053)); mode == securitygroup.Shared && env.writes() != 1 {
					t.Error("another Service does more than to add its rule")
				}
			})
		}
	}
}

// cloud-provider-openstack's groups have no tags. Of several groups of the name, the one with rules is in use.
func TestGroups_AdoptGroupOfServiceAsItIs(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} { // the first round of a process reads all groups together
		env := newEnvironment(t, securitygroup.PerService, &network{})
		groups := []string{env.group(groupOf(securitygroup.PerService, "web")), env.group(groupOf(securitygroup.PerService, "web"))}
		slices.Sort(groups)
		env.add(groups[1], env.rule(30080, ""))
		r := env.request(securitygroup.PerService, "web", 30080)
		r.Before = first
		env.settle(r)
		group := env.only(groupOf(securitygroup.PerService, "web"))
		if group.ID != groups[1] || len(group.Tags) > 0 || len(group.Rules) != 1 {
			t.Errorf("first: %v: %+v is left of %v", first, group, groups)
		}
		if n := env.Cloud.RequestLog.Count(http.MethodPost, rulesRoute); n > 0 {
			t.Errorf("first: %v: %d requests add the rule that is there", first, n)
		}
	}
}

// Neutron refuses all rules of a request if one exists, also one of another client.
func TestOpen_AddsRulesBesideThoseThatExist(t *testing.T) {
	t.Parallel()
	ours := func(mode string) string {
		if mode == securitygroup.Shared {
			return id("web").RuleDescription()
		}
		return ""
	}
	eachMode(t, func(t *testing.T, mode string) {
		env := newEnvironment(t, mode, &network{})
		env.settle(env.request(mode, "web", 30080))
		env.settle(env.request(mode, "dns", 30053))
		group := env.only(groupOf(mode, "web")).ID
		env.add(group, env.rule(30443, ours(mode)))
		// In a shared group, a Service that has left a NodePort may still have its rule.
		env.add(group, env.rule(30081, id("api").RuleDescription()))
		r := env.request(mode, "web", 30443)
		r.Spec.NodePorts = append(r.Spec.NodePorts, securitygroup.Opening{Protocol: "tcp", Port: 30081}, securitygroup.Opening{Protocol: "tcp", Port: 30082})
		env.settle(r)
		var ports []int
		for _, rule := range env.only(groupOf(mode, "web")).Rules {
			if mode == securitygroup.PerService || rule.Description == ours(mode) {
				ports = append(ports, rule.PortRangeMin)
			}
		}
		if slices.Sort(ports); !slices.Equal(ports, []int{30081, 30082, 30443}) {
			t.Errorf("rules for ports %v", ports)
		}
		if mode == securitygroup.Shared && len(env.opens(groupOf(mode, "web"))) != 4 {
			t.Errorf("rules %v, want those of web and one of dns", env.opens(groupOf(mode, "web")))
		}
	})
}

func TestOpen_EndsIfRuleExistsAndIsNeverListed(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, securitygroup.PerService, &network{})
	env.settle(env.request(securitygroup.PerService, "web", 30080))
	env.add(env.only(groupOf(securitygroup.PerService, "web")).ID, env.rule(30443, ""))
	env.network.hidden = true
	env.Cloud.RequestLog.Reset()
	if err := env.round(env.request(securitygroup.PerService, "web", 30443)); !apierror.IsRuleThere(err) {
		t.Errorf("error %v", err)
	}
	if n := env.Cloud.RequestLog.Count(http.MethodPost, rulesRoute); n != 3 {
		t.Errorf("%d requests, want three", n)
	}
}

func TestOpen_NamesTheRemedyForAnExhaustedQuota(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, securitygroup.PerService, &network{})
	env.settle(env.request(securitygroup.PerService, "web", 30080))
	for resource, c := range map[string]struct {
		service string
		want    string
	}{
		"security_group":      {"dns", "raise the project's quota of security groups, or set security-group-mode=shared"},
		"security_group_rule": {"web", "raise the project's quota of security group rules"},
	} {
		limited := env.Cloud.Neutron.Quota(env.Cloud.Account.ProjectID, resource)
		env.Cloud.LimitQuota(resource, 1)
		err := env.round(env.request(securitygroup.PerService, c.service, 30443))
		if !apierror.IsQuota(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("quota of %s: error %v", resource, err)
		}
		env.Cloud.LimitQuota(resource, limited)
	}
}
