package e2e

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scenario is one story. Those that change the cloud for all others are alone.
type scenario struct {
	name  string
	play  func(*scene)
	alone bool
}

func scenarios() []scenario {
	return []scenario{
		{"Life", life, false},
		{"ChangesHarmNoUnchangedPort", changes, false},
		{"InternalAndExternal", internal, false},
		{"KeptFloatingIP", keptAddress, false},
		{"ExternalTrafficPolicyLocal", localPolicy, false},
		{"SessionAffinity", affinity, false},
		{"SourceRanges", sourceRanges, false},
		{"IPv6", ipv6, false},
		{"DualStack", dualStack, false},
		{"SharedLoadBalancer", shared, false},
		{"LoadBalancerBroughtAlong", broughtAlong, false},
		{"AnotherFloatingIP", otherAddress, false},
		{"ForwardedClient", forwarded, false},
		{"TimesAndLimits", patientListener, false},
		{"ManyProtocols", manyProtocols, false},
		{"Datagrams", datagrams, false},
		{"Endpoints", endpoints, false},
		{"DeletedBehindOurBack", deletedBehind, false},
		{"EditedBehindOurBack", editedBehind, false},
		{"FailedLoadBalancer", failed, false},
		{"MonitorTypes", monitorTypes, false},
		{"Statistics", statistics, false},
		{"DrainedMember", drained, false},
		{"AmphoraKilled", killedAmphora, false},
		{"TerminatesTLS", terminatesTLS, true},
		{"Commands", commands, true},
		{"Costs", costs, true},
		{"ManyServicesAtOnce", many, true},
		{"HundredNodes", hundredNodes, true},
		{"NodeDies", nodeDies, true},
		{"SecurityGroups", securityGroups, true},
		{"Routes", routes, true},
		{"Router", router, true},
		{"Forwarding", forwarding, true},
		{"Rollout", rollout, true},
		{"Quota", quota, true},
		{"OctaviaStopped", octaviaStopped, true},
		{"TokenRevoked", tokenRevoked, true},
		{"ControllerKilled", killed, true},
		{"SwitchFromCloudProviderOpenStack", switched, true}, // the last: it replaces the nodes
	}
}

// WithRealAmphorae returns the scenarios that show something with real amphorae: those with traffic. A
// load balancer takes half a minute there, so that those with many are left out.
func WithRealAmphorae() []string {
	return []string{
		"Life", "ChangesHarmNoUnchangedPort", "InternalAndExternal", "ExternalTrafficPolicyLocal", "SessionAffinity",
		"SourceRanges", "IPv6", "DualStack", "SharedLoadBalancer", "ForwardedClient", "TimesAndLimits", "ManyProtocols",
		"DeletedBehindOurBack", "MonitorTypes", "Statistics", "DrainedMember", "AmphoraKilled", "TerminatesTLS", "Rollout", "NodeDies",
	}
}

// WithEmulatedAmphorae returns those that need a kernel with NAT, which is slow.
func WithEmulatedAmphorae() []string { return []string{"Datagrams"} }

// nodeNames are the nodes of every cluster, by name. With externalTrafficPolicy
// Cluster all of them answer, wherever the pods are.
func nodeNames() []string { return []string{"node-1", "node-2", "node-3"} }

// mayRead is the part of a refusal of the only right that is optional: see rbac.readPods of the chart.
const mayRead = "cannot get resource \\\"pods\\\""

// logLines is how much of the controller's log a failed suite shows.
const logLines = 300

// Run plays scenarios in an environment: all, or those of some names. The controller's log, its
// metrics at the end, and all events are in a directory of the test, and the events of each
// scenario in a separate one. A failed scenario reports its path.
func Run(t *testing.T, env *Environment, names ...string) {
	t.Helper()
	chosen := slices.DeleteFunc(scenarios(), func(s scenario) bool { return len(names) > 0 && !slices.Contains(names, s.name) })
	if end, limited := t.Deadline(); limited {
		env.deadline = end.Add(-closing)
	}
	leakedBefore, err := env.Cloud.API().LeakedPorts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	adding, ctx := errgroup.WithContext(t.Context())
	for _, name := range nodeNames() {
		adding.Go(func() error { return env.AddNode(ctx, name) })
	}
	if err := adding.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(env.keepController(ctx, t.Name()), env.keepEvents(ctx, t.Name(), metav1.NamespaceAll)); err != nil {
			t.Errorf("keep what explains the suite: %v", err)
		}
		if t.Failed() {
			t.Logf("all of the cloud controller manager's log is in %s; its end:\n%s", artifactsOf(t.Name()), env.CCM.Log(logLines))
		}
	})
	report := &progress{provider: env.Provider, total: len(chosen)}
	t.Run("Together", func(t *testing.T) {
		for _, s := range chosen {
			if !s.alone {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					report.follow(t, s.name)
					play(t, env, s)
				})
			}
		}
	})
	for _, s := range chosen {
		if s.alone {
			env.revive(t)
			t.Run(s.name, func(t *testing.T) {
				report.follow(t, s.name)
				play(t, env, s)
			})
		}
	}
	for line := range strings.Lines(env.CCM.Log(math.MaxInt)) {
		if strings.Contains(line, "is forbidden: User") && !strings.Contains(line, mayRead) {
			t.Errorf("the rights in manifests/static do not suffice: %s", line)
		}
	}
	leaked, err := env.Cloud.API().LeakedPorts(t.Context())
	leaked = slices.DeleteFunc(leaked, func(port string) bool { return slices.Contains(leakedBefore, port) })
	if err != nil || len(leaked) > 0 {
		t.Errorf("left in the network: %s (%v)", strings.Join(leaked, ", "), err)
	}
}

// progress is how many scenarios of a provider have ended.
type progress struct {
	provider string
	total    int
	ended    atomic.Int64
}

// follow prints a line when the scenario has ended; e2e.sh shows these lines.
func (p *progress) follow(t *testing.T, name string) {
	start := time.Now()
	t.Cleanup(func() {
		outcome, where := "passed", ""
		switch {
		case t.Failed():
			outcome, where = "FAILED", "; see "+artifactsOf(t.Name())
		case t.Skipped():
			outcome = "skipped"
		}
		fmt.Printf("e2e %s: %d/%d %s %s in %.0f s%s\n",
			p.provider, p.ended.Add(1), p.total, name, outcome, time.Since(start).Seconds(), where)
	})
}

// revive starts the controller again if it has ended by itself, so that the scenarios to
// come do not fail for that, too. None may be at work.
func (env *Environment) revive(t *testing.T) {
	t.Helper()
	err := env.CCM.Err()
	if err == nil {
		return
	}
	t.Errorf("%v and is started again; the end of its log:\n%s", err, env.CCM.Log(logLines))
	if err := env.StartCCM(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func play(t *testing.T, env *Environment, s scenario) {
	if !env.deadline.IsZero() && time.Now().After(env.deadline) {
		t.Fatal(errTimeUp)
	}
	namespace := env.Cloud.Prefix() + strings.ToLower(s.name)
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := env.Client().CoreV1().Namespaces().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := env.keepEvents(ctx, t.Name(), namespace); err != nil {
			t.Errorf("keep the events: %v", err)
		}
		if !t.Failed() {
			return
		}
		if err := env.keepController(ctx, t.Name()); err != nil {
			t.Errorf("keep what explains the failure: %v", err)
		}
		t.Errorf("the log and the metrics of the controller and the events of the scenario are in %s", artifactsOf(t.Name()))
		if err := removeServices(ctx, env, namespace); err != nil {
			t.Errorf("remove what it has left: %v", err)
		}
	})
	s.play(&scene{T: t, Environment: env, namespace: namespace, patience: env.Cloud.Patience(), carrier: env.Provider})
}

// removeServices deletes what a scenario that failed has left, since the changes of
// others' nodes would be made there, too.
func removeServices(ctx context.Context, env *Environment, namespace string) error {
	ctx, cancel := env.patient(ctx, env.Cloud.Patience())
	defer cancel()
	services := env.Client().CoreV1().Services(namespace)
	left, err := services.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, service := range left.Items {
		if err := services.Delete(ctx, service.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return env.await(ctx, func(ctx context.Context) error {
		left, err := services.List(ctx, metav1.ListOptions{})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%d Services are there", len(left.Items))
		}
		return err
	})
}
