package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// servicesAtOnce is as many as are worth a test; the bounds are those of a thousand.
var servicesAtOnce = flag.Int("services", 40, "how many Services a change of nodes is counted with")

// mostWrites is how many writes a change of nodes, or a restart, may cost the API server
// beside events, whatever the number of Services.
const mostWrites = 10

// component is who emits our events.
const component = "cloud-controller-manager"

// crowd is a cluster with Services of two ports, on the simulator.
type crowd struct {
	*Cluster
	t     *testing.T
	cloud *simulator.Cloud
	audit *audit
}

func startCrowd(t *testing.T, nodes int, delays octavia.Delays, args ...string) *crowd {
	t.Helper()
	cloud, err := simulator.Start(simulator.Options{Delays: map[string]octavia.Delays{octavia.ProviderAmphora: delays}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	for _, resource := range []string{"port", "floatingip"} {
		cloud.Neutron.SetQuota(cloud.Account.ProjectID, resource, -1)
	}
	w := &crowd{t: t, cloud: cloud}
	options := Options{CCMArgs: args, CloudConf: cloud.CloudConf() + "\ndrift-interval=2s\ngarbage-interval=5s\ngarbage-policy=delete\n", Logf: t.Logf}
	w.audit = newAudit(t, &options.ControlPlane)
	if w.Cluster, err = Start(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && w.CCM != nil {
			t.Logf("the end of the cloud controller manager's log:\n%s", w.CCM.Log(100))
		}
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	for i := range nodes {
		w.addNode(i)
	}
	return w
}

// addNode makes a Node with a server, and nothing that runs on it.
func (w *crowd) addNode(i int) {
	w.t.Helper()
	name, address := fmt.Sprint("node-", i), fmt.Sprintf("127.100.1.%d", 10+i)
	server, err := w.cloud.AddServer(name, address)
	if err != nil {
		w.t.Fatal(err)
	}
	recreateNode(w.t, w.Cluster, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: "openstack:///" + server.ID},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: name},
		}},
	})
}

func (w *crowd) addServices(n int) {
	w.t.Helper()
	for i := range n {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprint("web-", i), Annotations: map[string]string{"loadbalancer.openstack.org/unknown": "is reported once"},
			},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{
				{Name: "http", Port: 80}, {Name: "https", Port: 443},
			}},
		}
		if _, err := w.Client().CoreV1().Services("default").Create(w.t.Context(), service, metav1.CreateOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// awaitMembers returns when all load balancers have so many members in each pool, and the
// controller has read them often enough since, every two seconds, to confirm a state of three
// seconds ago and to record it.
func (w *crowd) awaitMembers(services, members int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d members everywhere", members), func(ctx context.Context) error {
		done := 0
		for _, lb := range w.cloud.Octavia.Snapshot() {
			if lb.ProvisioningStatus == octavia.Active && len(lb.Pools) == 2 && len(lb.Pools[0].Members) == members && len(lb.Pools[1].Members) == members {
				done++
			}
		}
		if done < services {
			return fmt.Errorf("%d of %d load balancers", done, services)
		}
		list, err := w.Client().CoreV1().Services("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, service := range list.Items {
			if service.Spec.Type == corev1.ServiceTypeLoadBalancer && (len(service.Status.LoadBalancer.Ingress) == 0 || service.Annotations["loadbalancer.openstack.org/load-balancer-address"] == "") {
				return fmt.Errorf("%s is not published", service.Name)
			}
		}
		return nil
	})
	w.awaitLooks(5)
}

// eventually waits as long as many Services may take.
func (w *crowd) eventually(what string, check func(context.Context) error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), await.Patience+time.Duration(*servicesAtOnce)*time.Second/2)
	defer cancel()
	if err := await.Every(ctx, 200*time.Millisecond, check); err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
}

// awaitLooks returns when the drift watch has begun to look at the project n times.
func (w *crowd) awaitLooks(n int) {
	w.t.Helper()
	looks := func() int {
		return len(w.cloud.RequestLog.Requests(requestlog.Reads(), func(r requestlog.Request) bool {
			return r.Route == "/load-balancer/v2.0/lbaas/loadbalancers" && strings.Contains(r.Path, "vip_qos_policy_id") && !strings.Contains(r.Path, "marker=")
		}))
	}
	before := looks()
	w.eventually("looks at the project", func(context.Context) error {
		if looks() < before+n {
			return errors.New("too few")
		}
		return nil
	})
}

// events counts those on Services, by who has emitted them and why.
func (w *crowd) events() map[string]int {
	w.t.Helper()
	list, err := w.Client().CoreV1().Events("default").List(w.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=Service"})
	if err != nil {
		w.t.Fatal(err)
	}
	counts := map[string]int{}
	for _, event := range list.Items {
		n := int(max(event.Count, 1))
		counts[event.Source.Component] += n
		counts[event.Reason] += n
	}
	return counts
}

// assertConditions fails unless each Service has the four conditions, by one patch each, and kubectl
// can wait for them.
func (w *crowd) assertConditions(services int) {
	w.t.Helper()
	for i := range services {
		svc, err := w.Client().CoreV1().Services("default").Get(w.t.Context(), fmt.Sprint("web-", i), metav1.GetOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, condition := range reason.Conditions() {
			if is := condition == reason.Provisioned; meta.IsStatusConditionPresentAndEqual(svc.Status.Conditions, string(condition), metav1.ConditionTrue) != is || len(svc.Status.Conditions) != 4 {
				w.t.Fatalf("%s has the conditions %+v", svc.Name, svc.Status.Conditions)
			}
		}
	}
	for _, condition := range []string{string(reason.Provisioned), string(reason.IsRefused) + "=False"} {
		if said, err := w.plane.Kubectl(w.t.Context(), "", "wait", "service/web-0", "--timeout=10s", "--for=condition="+condition); err != nil {
			w.t.Errorf("kubectl wait --for=condition=%s: %v\n%s", condition, err, said)
		}
	}
	// Finalizer, address, and conditions with annotations. Those of a Service that changed meanwhile
	// are written on their own.
	if writes := w.audit.writes(); writes["patch services/status"] > 3*services || writes["patch services"] > services/4 {
		w.t.Errorf("%d Services cost %v", services, writes)
	}
}

// assertWrites fails when more was written than events and a few ConfigMaps.
func (w *crowd) assertWrites(what string) {
	w.t.Helper()
	writes, beside := w.audit.writes(), 0
	for kind, n := range writes {
		if !strings.HasSuffix(kind, " events") {
			beside += n
		}
		if strings.HasPrefix(kind, "patch services") {
			w.t.Errorf("%s: %d × %s", what, n, kind)
		}
	}
	w.t.Logf("%s: %v", what, writes)
	if beside > mostWrites {
		w.t.Errorf("%s: %d writes beside events, want %d at most: %v", what, beside, mostWrites, writes)
	}
}

// Whatever the number of Services, a change of nodes costs the API server one event of ours
// for each, and a handful of writes: none on Services, which the service controller would
// sync again for it, as it does not for the annotations of a new one. Those are made at the end of the process, at the latest. The next one
// finds what the last has recorded, and has nothing to say.
//
//proves:72
func TestNodeChangeAndRestart_CostAPIServerFewWrites(t *testing.T) {
	t.Parallel()
	w, services := startCrowd(t, 3, octavia.Delays{}), *servicesAtOnce
	if err := w.StartCCM(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.addServices(services)
	w.awaitMembers(services, 3)
	w.assertConditions(services)
	w.eventually("events of the service controller", func(context.Context) error {
		if ensured := w.events()["EnsuredLoadBalancer"]; ensured < services {
			return fmt.Errorf("%d of %d", ensured, services)
		}
		return nil
	})

	w.audit.writes()
	before := w.events()
	if err := w.Client().CoreV1().Nodes().Delete(t.Context(), "node-2", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.awaitMembers(services, 2)
	w.eventually("events of ours", func(context.Context) error { // a hundred are written a second
		if ours := w.events()[component] - before[component]; ours < services {
			return fmt.Errorf("%d of %d", ours, services)
		}
		return nil
	})
	w.StopCCM()
	w.assertWrites("a node goes")
	after := w.events()
	if ours := after[component] - before[component]; ours != services {
		t.Errorf("%d events of ours, want one for each Service: %v, before %v", ours, after, before)
	}
	if ensured := after["EnsuredLoadBalancer"]; ensured != services {
		t.Errorf("the service controller has synced Services %d times, want once each, and none of them again for its annotations or for a node", ensured)
	}

	w.assertPlan(services)
	w.cloud.RequestLog.Reset()
	if err := w.StartCCM(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.eventually("Services are synced", func(ctx context.Context) error {
		synced, err := w.CCM.Ensured(ctx)
		if err == nil && synced < services {
			err = fmt.Errorf("%d are", synced)
		}
		return err
	})
	w.awaitLooks(5)
	w.StopCCM()
	w.assertWrites("a restart")
	if now := w.events(); now[component] != after[component] || now["EnsuringLoadBalancer"] != after["EnsuringLoadBalancer"] || now["EnsuredLoadBalancer"] != after["EnsuredLoadBalancer"] {
		t.Errorf("events after a restart %v, before %v", now, after)
	}
	if writes := w.cloud.RequestLog.Requests(requestlog.Writes()); len(writes) > 0 {
		t.Errorf("a restart has written %s %s", writes[0].Method, writes[0].Path)
	}
	contents := func(r requestlog.Request) bool {
		return r.Method == http.MethodGet && strings.Contains(r.Path, "/lbaas/") && !strings.Contains(r.Path, "fields=")
	}
	if reads := w.cloud.RequestLog.Requests(contents); len(reads) > 0 {
		t.Errorf("a restart has read load balancers %d times, as %s", len(reads), reads[0].Path)
	}
	w.assertStatus(services)
	w.assertGarbageGoes("web-0")
}
