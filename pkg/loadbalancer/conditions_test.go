package loadbalancer_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/conditions"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// fakeConditions has the last conditions of each Service.
type fakeConditions struct {
	mu   sync.Mutex
	last map[types.UID]map[reason.Condition]conditions.Condition
	// records has the annotations to write together with them.
	records map[types.UID]annotation.Record
	// rounds counts the calls of Say.
	rounds int
}

// Set implements loadbalancer.Conditions.
func (c *fakeConditions) Set(_ types.NamespacedName, uid types.UID, said []conditions.Condition, record annotation.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last, c.records = map[types.UID]map[reason.Condition]conditions.Condition{}, map[types.UID]annotation.Record{}
	}
	if c.last[uid] == nil {
		c.last[uid] = map[reason.Condition]conditions.Condition{}
	}
	c.records[uid] = record
	c.rounds++
	for _, s := range said {
		c.last[uid][s.Type] = s
	}
}

// Brings implements loadbalancer.Conditions. No write is ever queued.
func (c *fakeConditions) Brings(types.NamespacedName, types.UID) bool { return false }

// count returns the number of calls of Say.
func (c *fakeConditions) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rounds
}

// record returns the annotations to write to a Service.
func (c *fakeConditions) record(uid types.UID) annotation.Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.records[uid]
}

// of returns the conditions of a Service.
func (c *fakeConditions) of(svc *v1.Service) map[reason.Condition]conditions.Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.last[svc.UID])
}

// states fails unless a Service has exactly these conditions, such as "Provisioned=true
// LoadBalancerReady". It returns their messages.
func (env *environment) states(svc *v1.Service, want ...string) (messages string) {
	env.T.Helper()
	said := env.conditions.of(svc)
	var got []string
	svc.Status.Conditions = nil
	for _, s := range said {
		_, name, _ := strings.Cut(string(s.Type), "/")
		got = append(got, fmt.Sprintf("%s=%t %s", name, s.Is, s.Reason))
		status := metav1.ConditionFalse
		if s.Is {
			status = metav1.ConditionTrue
		}
		svc.Status.Conditions = append(svc.Status.Conditions, metav1.Condition{Type: string(s.Type), Status: status, Reason: string(s.Reason)})
		messages += s.Message + "\n"
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		env.T.Errorf("conditions %q, want %q\n%s", got, want, messages)
	}
	return messages
}

const (
	ready     = "Provisioned=true LoadBalancerReady"
	unrefused = "Refused=false LoadBalancerRequestAccepted"
	sound     = "Degraded=false LoadBalancerSound"
	undrifted = "Drifted=false LoadBalancerAsApplied"
)

//proves:100
func TestConditions_FollowTheLifeOfAService(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	address := env.ensure(svc, nodes).Ingress[0].IP
	id := env.loadBalancer().ID
	if said := env.states(svc, ready, unrefused, sound, undrifted); !strings.Contains(said, id) || !strings.Contains(said, address) {
		t.Errorf("load balancer %s at %s: %s", id, address, said)
	}
	if got, want := env.conditions.records[svc.UID], (annotation.Record{Service: svc.UID, LoadBalancerID: id, Address: address}); got != want {
		t.Errorf("with the annotations %+v, want %+v", got, want)
	}

	set(annotation.MaxMembers, "many")(svc)
	if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
		t.Fatal("it is not refused")
	}
	said := env.states(svc, "Provisioned=false LoadBalancerRefused", "Refused=true LoadBalancerRequestInvalid", sound, undrifted)
	if !strings.Contains(said, "max-members") || !strings.Contains(said, "keeps its last good settings and follows its nodes or pods") {
		t.Errorf("it is refused with: %s", said)
	}
	set(annotation.Prefix+"max-membres", "7")(svc)
	if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
		t.Fatal("it is not refused")
	}
	said = env.states(svc, "Provisioned=false LoadBalancerRefused", "Refused=true LoadBalancerRequestInvalid", sound, undrifted)
	if !strings.Contains(said, "its nodes or pods; without effect: "+annotation.Prefix+"max-membres") {
		t.Errorf("it is refused with: %s", said)
	}
	delete(svc.Annotations, annotation.Prefix+"max-membres")
	delete(svc.Annotations, annotation.MaxMembers)
	env.ensure(svc, nodes)
	env.states(svc, ready, unrefused, sound, undrifted)

	// An outage of the cloud changes no condition.
	env.restart()
	defer env.Cloud.Faults.Add(faults.Rule{Route: "/load-balancer/**", Status: http.StatusServiceUnavailable})()
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443))
	if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
		t.Fatal("it has worked without Octavia")
	}
	env.states(svc, ready, unrefused, sound, undrifted)
	other := service("other", 1)
	if _, err := env.engine.Ensure(env.ctx, other, nodes); err == nil {
		t.Fatal("it has worked without Octavia")
	}
	env.states(other, "Provisioned=false LoadBalancerNotReady")
}

//proves:100
func TestConditions_SayThatDriftIsLeft(t *testing.T) {
	t.Parallel()
	env, svc, nodes := reporting(t)
	env.removeMember(80)
	env.repair(svc, nodes)
	if said := env.states(svc, ready, unrefused, sound, "Drifted=true LoadBalancerDrifted"); !strings.Contains(said, "drift-policy=report") || !strings.Contains(said, "member") {
		t.Errorf("says: %s", said)
	}
	if record := env.conditions.records[svc.UID]; record != (annotation.Record{}) {
		t.Errorf("with the annotations %+v", record)
	}
}

// A single member that does not answer does not degrade the load balancer: with
// externalTrafficPolicy Local that is usual, and each node that fails would cost a write for each
// Service.
//
//proves:100
func TestConditions_SayWhichPoolServesNobody(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes, svc := env.nodes(2), service("web", 2)
	env.ensure(svc, nodes)
	env.states(svc, ready, unrefused, sound, undrifted)
	stop := env.watchDrift(env.ctx, func(types.NamespacedName) { t.Error("that is taken for drift") })
	defer stop()
	becomes := func(want string) {
		t.Helper()
		await.Eventually(t, want, func(context.Context) error {
			if said := env.conditions.of(svc)[reason.Degraded]; string(said.Reason) != want {
				return fmt.Errorf("%+v", said)
			}
			return nil
		})
	}
	report := func(status string, n int) {
		t.Helper()
		for _, m := range env.poolOf(80).Members[:n] {
			if err := env.Cloud.Octavia.SetMemberOperatingStatus(m.ID, status); err != nil {
				t.Fatal(err)
			}
		}
	}
	report(simoctavia.Error, 2)
	becomes("LoadBalancerNoHealthyMember")
	if said := env.states(svc, ready, unrefused, undrifted, "Degraded=true LoadBalancerNoHealthyMember"); !strings.Contains(said, "TCP/80") || strings.Contains(said, "TCP/81") {
		t.Errorf("says: %s", said)
	}
	report(simoctavia.Online, 1)
	becomes("LoadBalancerSound")
}

// An event is complete without its context, as in a collection of logs.
//
//proves:101
func TestEvents_NameLoadBalancerAndAddressOfWhatIsServed(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	address := env.ensure(svc, nodes).Ingress[0].IP
	env.emitted()
	set(annotation.ConnLimit, "7", annotation.Prefix+"nonsense", "x")(svc)
	env.ensure(svc, nodes)
	env.removeMember(80)
	env.repair(svc, nodes)
	emitted := strings.Split(env.emitted(), "\n")
	if len(emitted) < 4 {
		t.Errorf("emitted only %q", emitted)
	}
	for _, event := range emitted {
		if !strings.Contains(event, env.loadBalancer().ID) || !strings.Contains(event, address) {
			t.Errorf("names not both of %s and %s: %s", env.loadBalancer().ID, address, event)
		}
	}
}
