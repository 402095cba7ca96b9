package status_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/conditions"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// populate creates a Service in each state.
func populate(t *testing.T) *environment {
	t.Helper()
	env := newEnvironment(t, map[string]string{"manage-security-groups": "true", "create-monitor": "true"})
	env.Cloud.CountTraffic(func(string) simoctavia.Statistics {
		return simoctavia.Statistics{BytesIn: 1234567, BytesOut: 98765432, ActiveConnections: 12, TotalConnections: 3456, RequestErrors: 1}
	})
	env.addNodes(3)
	env.Cloud.Neutron.SetQuota(env.Cloud.Account.ProjectID, "security_group", 50)
	env.served("good", []int32{80, 443}, func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} })

	_, lb := env.served("degraded", []int32{80})
	env.must(env.Cloud.Octavia.SetMemberOperatingStatus(lb.Pools[0].Members[1].ID, simoctavia.Error))

	svc, lb := env.served("silent", []int32{80})
	env.state(svc, conditions.Health(lb.ID, simoctavia.Error, []string{"TCP/80"})...)
	env.store(svc)
	for _, member := range lb.Pools[0].Members {
		env.must(env.Cloud.Octavia.SetMemberOperatingStatus(member.ID, simoctavia.Error))
	}

	local := func(svc *v1.Service) {
		svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	}
	_, lb = env.served("local", []int32{80}, local)
	env.must(env.Cloud.Octavia.SetMemberOperatingStatus(lb.Pools[0].Members[1].ID, simoctavia.Error))

	_, lb = env.served("owner", []int32{80})
	env.served("guest", []int32{8080}, annotated("load-balancer-id", lb.ID))

	svc, _ = env.served("refused", []int32{80})
	svc.Annotations["loadbalancer.openstack.org/node-selector"] = "pool in (web"
	if env.serve(svc) == nil {
		t.Error("half a selector is not refused")
	}
	env.exhausted()
	env.add(env.newService("young", []int32{80}, func(svc *v1.Service) { svc.Finalizers = nil }))
	env.inherit(env.newService("inherited", []int32{80}))
	env.add(env.newService("of-another", []int32{80}, func(svc *v1.Service) { svc.Spec.LoadBalancerClass = new(string) }))

	svc, lb = env.served("failed", []int32{80})
	env.must(env.Cloud.Octavia.SetProvisioningStatus(lb.ID, simoctavia.Error))
	svc.Spec.Ports[0].NodePort++
	if env.serve(svc) == nil {
		t.Error("a load balancer in ERROR is changed")
	}
	_, lb = env.served("pending", []int32{80})
	env.must(env.Cloud.Octavia.SetProvisioningStatus(lb.ID, simoctavia.PendingUpdate))

	svc, _ = env.served("drifted", []int32{80})
	env.state(svc, conditions.Condition{
		Type: reason.IsDrifted, Is: true, Reason: reason.Drifted,
		Message: "Changed by another client, and left as it is because of drift-policy=report; this would revert it (actual → desired): listener TCP/80: allowed_cidrs [192.0.2.0/24] → []",
	})
	env.store(svc)
	return env
}

// exhausted creates a Service for which there is no floating IP.
func (env *environment) exhausted() *v1.Service {
	env.T.Helper()
	id := env.Cloud.LimitQuota("floatingip", len(env.Cloud.Neutron.FloatingIPs()))
	svc := env.add(env.newService("exhausted", []int32{80}))
	if env.serve(svc) == nil {
		env.T.Error("a Service has a floating IP beyond the quota")
	}
	env.Cloud.Faults.Remove(id)
	return svc
}

// inherit creates a Service with a load balancer of cloud-provider-openstack.
func (env *environment) inherit(svc *v1.Service) {
	env.T.Helper()
	name := "kube_service_kubernetes_default_" + svc.Name
	pool := &octavia.NewPool{Pool: octavia.Pool{Name: "pool_0_" + name, Protocol: "TCP", Algorithm: "ROUND_ROBIN"}}
	pool.Members = []octavia.Member{{Name: "node-gone", Address: "127.100.1.99", Port: 30080}}
	for _, node := range env.nodes {
		pool.Members = append(pool.Members, octavia.Member{Name: node.Name, Address: node.Status.Addresses[0].Address, Port: 30080})
	}
	made, err := env.session.Octavia().CreateLoadBalancer(env.T.Context(), octavia.LoadBalancer{
		Name: name, Description: "Kubernetes external service default/" + svc.Name + " from cluster kubernetes", Tags: []string{name}, VIPSubnetID: env.Cloud.Subnet.ID,
		Listeners: []octavia.Listener{{Name: "listener_0_" + name, Protocol: "TCP", Port: 80, Tags: []string{name}, DefaultPool: pool}},
	})
	env.must(err)
	env.Settle()
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: made.VIPAddress}}
	env.add(svc)
}

// states are those of the Services of populate.
func states() map[string]status.State {
	return map[string]status.State{
		"good": status.Good, "pending": status.Pending, "degraded": status.Degraded, "failed": status.Failed, "silent": status.Failed, "local": status.Good,
		"owner": status.Good, "guest": status.Good, "refused": status.Refused, "exhausted": status.Refused, "young": status.Pending, "inherited": status.Good,
		"drifted": status.Degraded,
	}
}

func TestStatus_MatchesGoldenFilesAndReference(t *testing.T) {
	t.Parallel()
	env := populate(t)
	env.client.ClearActions()
	env.Cloud.RequestLog.Reset()
	for name, want := range states() {
		report := env.read(t, name)
		if got := report.Services[0].State; got != want {
			t.Errorf("Service %s is %s, want %s: %+v", name, got, want, report.Services[0].Problems)
		}
		golden.File(t, "testdata/"+name+".golden", stable(text(t, report)))
	}
	env.client.ClearActions()
	env.Cloud.RequestLog.Reset()
	env.read(t, "good")
	if requests, actions := env.Cloud.RequestLog.Len(), len(env.client.Actions()); requests > 13 || actions != 8 {
		t.Errorf("one Service costs %d requests to OpenStack and %d to Kubernetes, want 13 at most and 8: %v", requests, actions, env.Cloud.RequestLog.Requests())
	}
	list := env.read(t)
	for _, s := range list.Services {
		if s.State != states()[s.Name] {
			t.Errorf("Service %s is %s in the list, want %s: %+v", s.Name, s.State, states()[s.Name], s.Problems)
		}
	}
	if len(list.Services) != len(states()) || list.ExitCode() != status.ExitFailed {
		t.Errorf("%d Services, exit code %d", len(list.Services), list.ExitCode())
	}
	golden.File(t, "testdata/list.golden", stable(text(t, list)))
	golden.File(t, "testdata/two.golden", stable(text(t, env.read(t, "owner", "default/guest"))))
	var machine bytes.Buffer
	env.must(cli.WriteJSON(&machine, env.read(t, "degraded")))
	golden.File(t, "testdata/degraded-json.golden", stable(machine.String()))
	env.assertOnlyReads()
	golden.Outputs(t, "../../../docs/commands.md", "status")
}

// assertOnlyReads fails after a write to Kubernetes or OpenStack.
func (env *environment) assertOnlyReads() {
	env.T.Helper()
	for _, action := range env.client.Actions() {
		if !slices.Contains([]string{"get", "list"}, action.GetVerb()) {
			env.T.Errorf("wrote to Kubernetes: %s %s", action.GetVerb(), action.GetResource().Resource)
		}
	}
	for _, request := range env.Cloud.RequestLog.Requests() {
		if request.Method != http.MethodGet {
			env.T.Errorf("wrote to OpenStack: %s %s", request.Method, request.Path)
		}
	}
}

func TestStatus_OfThousandServicesCostsLists(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nil)
	const services = 1000
	list := &v1.ServiceList{Items: make([]v1.Service, services)}
	env.client.PrependReactor("list", "services", func(clienttesting.Action) (bool, runtime.Object, error) { return true, list, nil })
	for _, resource := range []string{"port", "floatingip"} {
		env.Cloud.Neutron.SetQuota(env.Cloud.Account.ProjectID, resource, -1)
	}
	var making errgroup.Group
	making.SetLimit(8)
	for i := range services {
		making.Go(func() error { return env.quickly(fmt.Sprint("web-", i), &list.Items[i]) })
	}
	env.must(making.Wait())
	env.Settle()
	env.client.ClearActions()
	env.Cloud.RequestLog.Reset()
	report := env.read(t)
	if len(report.Services) != services || report.ExitCode() != status.ExitGood {
		t.Errorf("%d Services, exit code %d", len(report.Services), report.ExitCode())
	}
	asked := map[string]int{}
	for _, request := range env.Cloud.RequestLog.Requests(requestlog.Reads()) {
		asked[request.Route]++
	}
	requests := env.Cloud.RequestLog.Len()
	t.Logf("%d requests to OpenStack: %v; %d to Kubernetes", requests, asked, len(env.client.Actions()))
	if requests > 15 || len(env.client.Actions()) != 8 {
		t.Errorf("%d requests to OpenStack, want 15 at most: %v; %d to Kubernetes, want 8: %v", requests, asked, len(env.client.Actions()), env.client.Actions())
	}
	env.assertOnlyReads()
}

// quickly creates a Service with its load balancer without the controller. The clientset would take
// seconds to store a thousand.
func (env *environment) quickly(name string, into *v1.Service) error {
	svc := env.newService(name, []int32{80})
	tags := []string{"kube_service_kubernetes_default_" + name, "kube_cluster_id_" + clusterUID, "kube_svc_uid_" + string(svc.UID)}
	made, err := env.session.Octavia().CreateLoadBalancer(env.T.Context(), octavia.LoadBalancer{
		Name: tags[0], Tags: tags, VIPSubnetID: env.Cloud.Subnet.ID,
		Listeners: []octavia.Listener{{Name: "listener_0_" + tags[0], Protocol: "TCP", Port: 80, Tags: tags, DefaultPool: &octavia.NewPool{Pool: octavia.Pool{
			Name: "pool_0_" + tags[0], Protocol: "TCP", Algorithm: "ROUND_ROBIN", Tags: tags,
		}}}},
	})
	if err != nil {
		return err
	}
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: made.VIPAddress}}
	*into = *svc
	return nil
}

func TestStatus_DoesWithoutWhatItMayNotRead(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nil)
	env.addNodes(1)
	env.served("web", []int32{80})
	env.client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetResource().Resource == "services" {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: action.GetResource().Resource}, "", nil)
	})
	report := env.read(t, "web")
	if report.ExitCode() != status.ExitGood || len(report.Notes) != 3 || report.Services[0].LoadBalancer == nil {
		t.Errorf("exit code %d, notes %q, %+v", report.ExitCode(), report.Notes, report.Services[0])
	}
}

func TestStatus_RefusesServicesThatItDoesNotServe(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nil)
	class := "example.com/other"
	env.add(env.newService("classed", []int32{80}, func(svc *v1.Service) { svc.Spec.LoadBalancerClass = &class }))
	env.add(env.newService("inside", []int32{80}, func(svc *v1.Service) { svc.Spec.Type, svc.Finalizers = v1.ServiceTypeClusterIP, nil }))
	reader, err := status.New(status.Options{Config: env.Conf, Session: env.session, Kubernetes: env.client, ClusterName: "kubernetes"})
	env.must(err)
	for name, want := range map[string]string{
		"classed": "default/classed has loadBalancerClass example.com/other: another controller serves it",
		"inside":  "default/inside is of type ClusterIP, not LoadBalancer",
		"gone":    `services "gone" not found`,
	} {
		if _, err := reader.Read(t.Context(), status.Query{Namespace: "default", Services: []string{name}}); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	if requests := env.Cloud.RequestLog.Requests(requestlog.Under("/load-balancer")); len(requests) > 0 {
		t.Errorf("asked Octavia for %s", requests[0].Path)
	}
}

// Both addresses of a dual-stack Service are those of its load balancer.
func TestStatus_ShowsVIPsOfBothIPFamilies(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nil)
	env.addNodes(1)
	_, err := env.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{Name: "six", NetworkID: env.Cloud.Network.ID, CIDR: "fd00:6::/64"})
	env.must(err)
	policy := v1.IPFamilyPolicyRequireDualStack
	svc, lb := env.served("web", []int32{80}, func(svc *v1.Service) {
		svc.Spec.IPFamilyPolicy, svc.Spec.IPFamilies = &policy, []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
	})
	six := lb.AdditionalVIPs[0].Address
	if all := svc.Status.LoadBalancer.Ingress; len(all) != 2 || all[1].IP != six {
		t.Fatalf("published: %+v", all)
	}
	report := env.read(t, "web")
	if found := report.Services[0]; found.State != status.Good || !slices.Equal(found.LoadBalancer.VIP.Additional, []string{six}) {
		t.Errorf("%+v, VIP %+v", found.Problems, found.LoadBalancer.VIP)
	}
	if shown := text(t, report); !strings.Contains(shown, ", also "+six) {
		t.Errorf("no second VIP in\n%s", shown)
	}
}

func TestStatus_ShowsWhatIsLeavingAsPending(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nil)
	env.addNodes(1)
	svc, _ := env.served("web", []int32{80})
	since := metav1.NewTime(env.now.Add(-3 * time.Minute))
	svc.DeletionTimestamp = &since
	_, err := env.client.CoreV1().Services("default").Update(t.Context(), svc, metav1.UpdateOptions{})
	env.must(err)
	found := env.read(t, "web").Services[0]
	if found.State != status.Pending || found.Problems[0].Text != "the load balancer is being removed with the Service" || !found.Problems[0].Since.Equal(since.Time) {
		t.Errorf("a Service that leaves: %+v", found)
	}
}

// Kubernetes deletes events after an hour, and the cloud does not show refused objects.
func TestStatus_KnowsARefusalWhoseEventsAreGone(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nil)
	env.addNodes(1)
	svc := env.exhausted()
	conditions := svc.Status.Conditions

	svc.Status.Conditions = nil // as before there were any
	env.store(svc)
	if found := env.read(t, svc.Name).Services[0]; found.State != status.Refused || found.Problems[0].Reason != "" || found.Conditions != nil {
		t.Errorf("with events alone: %+v", found)
	}
	svc.Status.Conditions = conditions
	env.store(svc)
	env.client.PrependReactor("list", "events", func(clienttesting.Action) (bool, runtime.Object, error) { return true, &v1.EventList{}, nil })
	for _, report := range []*status.Report{env.read(t, svc.Name), env.read(t)} {
		found := report.Services[0]
		worst := found.Problems[0]
		if found.State != status.Refused || found.LastError != nil || report.ExitCode() != status.ExitFailed ||
			worst.Reason != reason.QuotaExceeded || !strings.Contains(worst.Text, "is used up") || worst.Kept == "" || !worst.Since.Equal(env.now.Add(-14*time.Minute)) {
			t.Errorf("with conditions alone: %+v", found)
		}
	}
}

// The members of a Service that requests weights are shown with each weight other than 1. A drained one is shown in a large pool,
// too.
func TestStatus_ShowsWeightsOfMembers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		nodes   int
		asked   string
		weights map[string]any
		want    map[string]int
		shown   []string
	}{
		{3, "drain", map[string]any{"node-1": 0}, map[string]int{"node-1": 0}, []string{"127.100.1.11:30080, weight 0\n"}},
		{10, "drain", map[string]any{"node-1": 0}, map[string]int{"node-1": 0}, []string{"127.100.1.11:30080, weight 0\n", "9 more"}},
		{3, "endpoints", map[string]any{"node-0": 0, "node-2": 5}, map[string]int{"node-0": 0, "node-2": 5}, []string{"127.100.1.10:30080, weight 0\n", "127.100.1.12:30080, weight 5\n"}},
		{3, "equal", map[string]any{"node-1": 0}, map[string]int{}, nil},
	} {
		env := newEnvironment(t, nil)
		env.addNodes(test.nodes)
		_, lb := env.served("web", []int32{80}, annotated("member-weights", test.asked))
		for _, member := range lb.Pools[0].Members {
			if weight, other := test.weights[member.Name]; other {
				env.must(env.session.Octavia().UpdateMember(t.Context(), lb.Pools[0].ID, member.ID, octavia.Changes{"weight": weight}))
				env.Settle()
			}
		}
		report := env.read(t, "web")
		got := map[string]int{}
		for _, member := range report.Services[0].LoadBalancer.Listeners[0].Pool.Members {
			if member.Weight != nil {
				got[member.Node] = *member.Weight
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s, %d nodes: weights (-want +got):\n%s", test.asked, test.nodes, diff)
		}
		for _, want := range test.shown {
			if shown := text(t, report); !strings.Contains(shown, want) {
				t.Errorf("%s, %d nodes: no %q in\n%s", test.asked, test.nodes, want, shown)
			}
		}
	}
}

// With policy Local, nodes without endpoints need not answer the health monitor, but each pod must.
func TestStatus_MissesPodsThatDoNotAnswerWithPolicyLocal(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]status.State{"nodes": status.Good, "pods": status.Degraded} {
		env := newEnvironment(t, map[string]string{"create-monitor": "true"})
		env.addNodes(2)
		svc, lb := env.served("web", []int32{80}, func(svc *v1.Service) {
			svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
		})
		env.must(env.Cloud.Octavia.SetMemberOperatingStatus(lb.Pools[0].Members[1].ID, simoctavia.Error))
		annotated("members", members)(svc)
		env.store(svc)
		for _, report := range []*status.Report{env.read(t), env.read(t, "web")} {
			if s := report.Services[0]; s.State != want || s.Local != (members == "nodes") {
				t.Errorf("%s: %+v", members, s)
			}
		}
	}
}
