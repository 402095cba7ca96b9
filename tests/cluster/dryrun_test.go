package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// dryRunUser is who a dry run is to the API server, by manifests/dry-run.
const dryRunUser = "system:serviceaccount:kube-system:openstack-cloud-controller-manager-dry-run"

// rehearsal is a cluster with a controller that works, and a dry run beside it.
type rehearsal struct {
	*Cluster
	t     *testing.T
	cloud *simulator.Cloud
	audit *audit
	// dry is the dry run.
	dry *Controller
}

func startRehearsal(t *testing.T) *rehearsal {
	t.Helper()
	cloud, err := simulator.Start(simulator.Options{Delays: map[string]octavia.Delays{octavia.ProviderAmphora: {}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	r := &rehearsal{t: t, cloud: cloud}
	options := Options{
		CloudConf: cloud.CloudConf() + "\ndrift-interval=2s\ngarbage-interval=5s\ngarbage-policy=delete\n", Logf: t.Logf,
		CCMArgs: []string{"--leader-elect-lease-duration=12s", "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=500ms"},
	}
	r.audit = newAudit(t, &options.ControlPlane)
	if r.Cluster, err = Start(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && r.dry != nil {
			t.Logf("the end of the dry run's log:\n%s", r.dry.Log(150))
		}
		if r.dry != nil {
			r.dry.Stop(stopGrace)
		}
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// startDryRun starts it with the rights and the flags of manifests/dry-run.
func (r *rehearsal) startDryRun() {
	r.t.Helper()
	installed, err := InstallFrom(r.t.Context(), r.plane, "dry-run")
	if err != nil {
		r.t.Fatal(err)
	}
	program := r.program
	program.Installation, program.Directory = installed, r.t.TempDir()
	program.Args = append(program.Args, "--user-agent=dry-run", "--authorization-always-allow-paths=/healthz,/readyz,/metrics,/dry-run")
	if r.dry, err = program.Start(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// node makes a Node, on a server where it has one.
func (r *rehearsal) node(name, address string, server bool, taints ...corev1.Taint) {
	r.t.Helper()
	id := "00000000-0000-4000-8000-000000000000"
	if server {
		made, err := r.cloud.AddServer(name, address)
		if err != nil {
			r.t.Fatal(err)
		}
		id = made.ID
	}
	recreateNode(r.t, r.Cluster, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "openstack:///" + id, Taints: taints},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: name},
		}},
	})
}

func (r *rehearsal) service(name string, annotations map[string]string) {
	r.t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := r.Client().CoreV1().Services("default").Create(r.t.Context(), service, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// awaitAddress waits until the controller that works has published an address.
func (r *rehearsal) awaitAddress(name string) {
	r.t.Helper()
	await.Eventually(r.t, "the address of "+name, func(ctx context.Context) error {
		_, err := ExternalIP(ctx, r.Client(), "default", name)
		return err
	})
}

// awaitReport waits until the dry run reports these outcomes of all Services, and changes of
// these other objects.
func (r *rehearsal) awaitReport(what string, services map[string]string, objects ...string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), await.Patience)
	defer cancel()
	err := await.Every(ctx, 200*time.Millisecond, func(ctx context.Context) error {
		text, err := r.dry.Ask(ctx, "/dry-run?output=json")
		if err != nil {
			return err
		}
		var report struct {
			Services []struct{ Name, Outcome string }
			Changes  []struct{ Object, What string }
		}
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			return err
		}
		got, said := map[string]string{}, []string{}
		for _, s := range report.Services {
			got[s.Name] = s.Outcome
		}
		for _, c := range report.Changes {
			said = append(said, c.Object+": "+c.What)
		}
		if diff := cmp.Diff(services, got); diff != "" {
			return fmt.Errorf("outcomes (-want +got):\n%s\n%s", diff, text)
		}
		for _, object := range objects {
			if !strings.Contains(strings.Join(said, "\n"), object) {
				return fmt.Errorf("nothing of %q in %q", object, said)
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
}

// assertNothingWritten fails the test where the dry run has written, to OpenStack or to
// Kubernetes, or had to be kept from writing to OpenStack.
func (r *rehearsal) assertNothingWritten() {
	r.t.Helper()
	mine := func(request requestlog.Request) bool { return strings.Contains(request.UserAgent, "dry-run") }
	if asked := len(r.cloud.RequestLog.Requests(requestlog.Reads(), mine)); asked == 0 {
		r.t.Error("the dry run has not read anything")
	}
	for _, request := range r.cloud.RequestLog.Requests(requestlog.Writes(), mine) { // a sign-in is none
		r.t.Errorf("written to OpenStack: %s %s", request.Method, request.Path)
	}
	if writes := r.audit.writesOf(dryRunUser); len(writes) > 0 {
		r.t.Errorf("written to Kubernetes: %v", writes)
	}
	log := r.dry.Log(1 << 20)
	for _, wrong := range []string{"Refused a write to OpenStack", "forbidden", "retrying with exponential backoff", "requeuing"} {
		if n := strings.Count(log, wrong); n > 0 {
			r.t.Errorf("%d times in the log: %s", n, wrong)
		}
	}
}

// Days beside a controller that works: whatever happens, nothing is written, and what would be
// is reported. What that does by itself is not reported any more.
//
//proves:90,123
func TestDryRun_WritesNothingBesideControllerThatWorks(t *testing.T) {
	t.Parallel()
	r := startRehearsal(t)
	r.node("node-0", "127.100.1.10", true)
	if err := r.StartCCM(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.service("web", nil)
	r.service("shop", nil)
	r.service("wrong", map[string]string{"loadbalancer.openstack.org/floating-network-id": "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"})
	r.awaitAddress("web")
	r.awaitAddress("shop")
	r.startDryRun()
	r.awaitReport("beside a controller that works", map[string]string{"web": "unchanged", "shop": "unchanged", "wrong": "refused"})

	r.StopCCM()
	r.service("new", nil)
	services := r.Client().CoreV1().Services("default")
	ports := []byte(`{"spec":{"ports":[{"port":80,"name":"http"},{"port":443,"name":"https"}]}}`)
	if _, err := services.Patch(t.Context(), "web", types.MergePatchType, ports, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := services.Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.node("lost", "127.100.1.11", false)
	r.node("fresh", "127.100.1.12", true, corev1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	r.awaitReport("while nobody works", map[string]string{"web": "changed", "shop": "deleted", "wrong": "refused", "new": "changed"},
		"node lost: delete: its server is gone", "node fresh: initialize: ")

	if err := r.StartCCM(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.awaitAddress("new")
	r.awaitReport("after the work was done", map[string]string{"web": "unchanged", "wrong": "refused", "new": "unchanged"})
	metrics, err := r.dry.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if metrics["cloudprovider_openstack_dry_run_services"] == nil || metrics["cloudprovider_openstack_dry_run_withheld_writes_total"] == nil {
		t.Error("there are no metrics of the dry run")
	}
	r.dry.Stop(stopGrace)
	// Whether "web" is up to date in it depends on which of the two has heard first that "lost" is gone.
	if log := r.dry.Log(1 << 20); !strings.Contains(log, "Services: 1 would be refused, ") || !strings.Contains(log, "default/wrong would be refused (since ") {
		t.Error("the log does not end with the report")
	}
	r.assertNothingWritten()
	for _, name := range []string{"cloud-controller-manager", "cloud-controller-manager-dry-run"} {
		if _, err := r.Client().CoordinationV1().Leases("kube-system").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
}
