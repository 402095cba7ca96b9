package securitygroup_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// serve plans and opens what a Service of an earlier process needs.
func (env *environment) serve(mode string) error {
	task, err := env.groups.Plan(env.T.Context(), securitygroup.Request{ID: id("web"), VIPSubnet: env.Cloud.Subnet.ID, Before: true, Spec: &securitygroup.Spec{
		Mode: mode, NodePorts: []securitygroup.Opening{{Protocol: "tcp", Port: 30080}}, Subnets: []string{env.Cloud.Subnet.ID}, Members: env.nodes,
	}})
	if err != nil {
		return err
	}
	if err := env.groups.Open(env.T.Context(), task); err != nil {
		return err
	}
	return env.groups.Close(env.T.Context(), task)
}

// Whichever request fails, the Service is not served, and is on the next try.
func TestGroups_FailWithAnyRequestAndRecover(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{securitygroup.PerService, securitygroup.Shared} {
		for request := 1; ; request++ {
			env := newEnvironment(t, mode, &network{})
			env.Cloud.RequestLog.Reset()
			env.Cloud.Faults.Add(faults.Rule{Route: "/network/v2.0/**", From: request, Count: 1, Status: http.StatusForbidden})
			err := env.serve(mode)
			if env.Cloud.Faults.Hits() == 0 {
				if err != nil || request < 6 {
					t.Errorf("%s: %d requests, error %v", mode, request-1, err)
				}
				break
			}
			if err == nil {
				t.Errorf("%s: request %d fails, and that is no error", mode, request)
			}
			if err := env.serve(mode); err != nil {
				t.Errorf("%s: after request %d has failed: %v", mode, request, err)
			}
			for _, port := range env.ports() {
				if len(port.SecurityGroups) != 2 {
					t.Errorf("%s: after request %d has failed, port %s uses %v", mode, request, port.ID, port.SecurityGroups)
				}
			}
		}
	}
}

// A creation with a lost answer may leave a second shared group: the one with rules of Services is
// kept.
func TestGroups_KeepTheSharedGroupThatIsInUse(t *testing.T) {
	t.Parallel()
	for _, used := range []int{0, 1} {
		env := newEnvironment(t, securitygroup.Shared, &network{})
		ids := []string{env.group(id("web").SharedGroup().Name), env.group(id("web").SharedGroup().Name)}
		slices.Sort(ids)
		if _, err := env.Cloud.Neutron.AddSecurityGroupRules(ids[used], simneutron.SecurityGroupRule{
			Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortRangeMin: 31000, PortRangeMax: 31000, Description: id("dns").RuleDescription(),
		}); err != nil {
			t.Fatal(err)
		}
		if err := env.serve(securitygroup.Shared); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, group := range env.Cloud.Neutron.SecurityGroups() {
			if group.Name == id("web").SharedGroup().Name {
				left = append(left, group.ID)
			}
		}
		if !slices.Equal(left, ids[used:used+1]) {
			t.Errorf("groups %v are left of %v, want %s", left, ids, ids[used])
		}
	}
}

// A Service that goes away, or a process that ends, does not wait for a request of another
// Service that hangs.
func TestOpen_WaitsForChangeOfSamePortOnlyAsLongAsItsContext(t *testing.T) {
	t.Parallel()
	n := &network{hanging: make(chan struct{}, 10)}
	env := newEnvironment(t, securitygroup.PerService, n)
	web, api := env.plan(securitygroup.PerService, "web", 30080), env.plan(securitygroup.PerService, "api", 30443)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- env.groups.Open(ctx, web) }()
	for range env.nodes {
		select {
		case <-n.hanging:
		case err := <-ended:
			t.Fatalf("the first Service got %v before it was told to end", err)
		}
	}
	late, end := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer end()
	if err := env.groups.Open(late, api); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second Service got %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the first Service got %v", err)
	}
	if len(n.hanging) > 0 {
		t.Error("a port is changed for two Services at the same time")
	}
}

// A node was deleted, and one answer denies its existing port, which would not be read again.
func TestOpen_TakesGroupOffPortThatOneAnswerDenies(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, securitygroup.PerService, &network{})
	if err := env.serve(securitygroup.PerService); err != nil {
		t.Fatal(err)
	}
	nodes := env.nodes
	env.nodes, env.groups = nodes[:1], env.restart(time.Nanosecond)
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/network/v2.0/ports/{id}", Status: http.StatusNotFound, Worded: true, Count: 1})
	if err := env.serve(securitygroup.PerService); err != nil {
		t.Fatal(err)
	}
	env.nodes = nodes
	using := 0
	for _, port := range env.ports() {
		using += len(port.SecurityGroups) - 1
	}
	if using != 1 {
		t.Errorf("%d ports use the group, want that of the node which stayed", using)
	}
}

// Neutron answers 404 to a list of groups with one that was deleted after the port was read, whatever the port's revision:
// another Service of the cluster ends at the same time. The port is read again at once.
func TestGroups_ChangePortsWhileOtherGroupOnThemIsDeleted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*environment) error{
		"put on":   func(env *environment) error { return env.serve(securitygroup.PerService) },
		"take off": func(env *environment) error { return env.groups.Remove(env.T.Context(), id("web")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &network{}
			env := newEnvironment(t, securitygroup.PerService, n)
			if name == "take off" {
				if err := env.serve(securitygroup.PerService); err != nil {
					t.Fatal(err)
				}
			}
			other, before := env.group("other"), map[string][]string{}
			for _, port := range env.ports() {
				before[port.ID] = port.SecurityGroups
				env.set(port, append(slices.Clone(port.SecurityGroups), other)...)
			}
			env.groups = env.restart(time.Hour)
			var once sync.Once
			n.writing = func() {
				once.Do(func() {
					for _, port := range env.ports() {
						env.set(port, before[port.ID]...)
					}
					if err := env.Cloud.Neutron.DeleteSecurityGroup(other); err != nil {
						t.Error(err)
					}
				})
			}
			if err := change(env); err != nil {
				t.Fatal(err)
			}
			for _, port := range env.ports() {
				if want := map[string]int{"put on": 2, "take off": 1}[name]; len(port.SecurityGroups) != want {
					t.Errorf("port %s uses %v, want %d", port.ID, port.SecurityGroups, want)
				}
			}
		})
	}
}

// A group that is deleted while it is put on ports is an error: it is not looked for on each port again.
func TestOpen_FailsIfGroupIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	n := &network{}
	env := newEnvironment(t, securitygroup.PerService, n)
	var once sync.Once
	n.writing = func() {
		once.Do(func() {
			for _, group := range env.Cloud.Neutron.SecurityGroups() {
				if group.Name != "default" {
					if err := env.Cloud.Neutron.DeleteSecurityGroup(group.ID); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	if err := env.serve(securitygroup.PerService); !apierror.IsUnknownGroup(err) {
		t.Errorf("got %v", err)
	}
	if err := env.serve(securitygroup.PerService); err != nil {
		t.Errorf("the next time: %v", err)
	}
}
