package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/monitoring"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// servedToAll are the paths that a test reads without credentials. Not every release of the
// libraries serves /flagz and /statusz.
func servedToAll() []string {
	return []string{
		"/healthz", "/readyz", "/metrics", "/configz", "/flagz", "/statusz",
		"/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1", "/debug/pprof/threadcreate?debug=1",
	}
}

// rivals are processes that lead one after the other, in one cluster, on a cloud that takes its
// time; they say all that they can say.
type rivals struct {
	*Cluster
	t     *testing.T
	cloud *simulator.Cloud
	logs  []string
}

func startRivals(t *testing.T) *rivals {
	t.Helper()
	slow := octavia.Delays{Create: 600 * time.Millisecond, Update: 200 * time.Millisecond, Delete: 200 * time.Millisecond}
	cloud, err := simulator.Start(simulator.Options{Delays: map[string]octavia.Delays{"": slow}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	r := &rivals{t: t, cloud: cloud}
	r.Cluster, err = Start(t.Context(), Options{CloudConf: cloud.CloudConf(), Logf: t.Logf, CCMArgs: []string{
		"--v=10", "--leader-elect-lease-duration=12s", "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=500ms",
		"--authorization-always-allow-paths=/healthz,/readyz,/metrics,/configz,/flagz,/statusz,/debug/*", "--profiling=true",
		"--feature-gates=ComponentFlagz=true,ComponentStatusz=true",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	server, err := cloud.AddServer("node-0", "127.100.1.10")
	if err != nil {
		t.Fatal(err)
	}
	recreateNode(t, r.Cluster, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-0"}, Spec: corev1.NodeSpec{ProviderID: "openstack:///" + server.ID},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.100.1.10"}}},
	})
	return r
}

// start starts a process of a name, which its requests to the cloud have.
func (r *rivals) start(name string) *Controller {
	r.t.Helper()
	program := r.program
	program.Directory = r.t.TempDir()
	program.Args = append(slices.Clone(program.Args), "--user-agent="+name)
	r.logs = append(r.logs, program.logFile())
	ccm, err := program.Start(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if ccm.Stop(stopGrace); r.t.Failed() {
			r.t.Logf("the end of the log of %s:\n%s", name, ccm.Log(40))
		}
	})
	return ccm
}

// writesOf are the writes of a process, in order of their ends.
func (r *rivals) writesOf(name string) []int {
	var at []int
	for n, request := range r.cloud.RequestLog.Requests() {
		if strings.HasPrefix(request.UserAgent, name+" ") && requestlog.Writes()(request) {
			at = append(at, n)
		}
	}
	return at
}

// awaitWrites returns when a process has written something in the cloud.
func (r *rivals) awaitWrites(name string, n int) {
	r.t.Helper()
	await.Eventually(r.t, "writes of "+name, func(context.Context) error {
		if got := len(r.writesOf(name)); got < n {
			return fmt.Errorf("%d of %d", got, n)
		}
		return nil
	})
}

// services makes so many Services, or changes them.
func (r *rivals) services(from, to int) {
	r.t.Helper()
	for i := from; i < to; i++ {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i)}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "a", Port: 80}, {Name: "b", Port: 443}},
		}}
		if _, err := r.Client().CoreV1().Services("default").Create(r.t.Context(), service, metav1.CreateOptions{}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// assertHandedOver fails where a write of the old process had not ended when the new one began
// to write.
func (r *rivals) assertHandedOver(before, after string) {
	r.t.Helper()
	all, last, first := r.cloud.RequestLog.Requests(), r.writesOf(before), r.writesOf(after)
	if len(last) == 0 || len(first) == 0 {
		r.t.Fatalf("%s has written %d times, %s %d times", before, len(last), after, len(first))
	}
	end := last[len(last)-1]
	for _, n := range first {
		if all[n].Before <= end {
			r.t.Errorf("%s began %s %s before %s had ended %s %s", after, all[n].Method, all[n].Path, before, all[end].Method, all[end].Path)
		}
	}
}

// awaitAddresses returns when all Services have an address, and one load balancer and one
// floating IP each.
func (r *rivals) awaitAddresses(services int) {
	r.t.Helper()
	await.Eventually(r.t, "addresses", func(ctx context.Context) error {
		for i := range services {
			if _, err := ExternalIP(ctx, r.Client(), "default", fmt.Sprint("web-", i)); err != nil {
				return err
			}
		}
		return nil
	})
	if balancers, ips := len(r.cloud.Octavia.Snapshot()), len(r.cloud.Neutron.FloatingIPs()); balancers != services || ips != services {
		r.t.Errorf("%d Services have %d load balancers and %d floating IPs", services, balancers, ips)
	}
}

// stealLease gives the lease to a holder that does not renew it.
func (r *rivals) stealLease() {
	r.t.Helper()
	leases := r.Client().CoordinationV1().Leases("kube-system")
	await.Eventually(r.t, "another holder of the lease", func(ctx context.Context) error {
		lease, err := leases.Get(ctx, "cloud-controller-manager", metav1.GetOptions{})
		if err != nil {
			return err
		}
		now := metav1.NowMicro()
		lease.Spec.HolderIdentity, lease.Spec.AcquireTime, lease.Spec.RenewTime = ptr.To("thief"), &now, &now
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err
	})
}

// The process that led has ended its last write when the next one begins its first, be it
// stopped in the middle of its work or robbed of its lease, and nothing is made twice. Whatever it
// was given on the way, of all that they log at the highest level, emit and serve nothing has a
// secret in it.
func TestLeadership_MovesWithoutTwoWritersAndRevealsNoSecret(t *testing.T) {
	t.Parallel()
	r := startRivals(t)
	first := r.start("first")
	r.services(0, 3)
	r.awaitWrites("first", 3)
	second := r.start("second")
	r.services(3, 6)
	first.Stop(stopGrace)
	r.services(6, 8)
	r.awaitWrites("second", 3)
	r.awaitAddresses(8)
	r.assertHandedOver("first", "second")

	third := r.start("third")
	r.services(8, 11)
	r.stealLease()
	<-second.Done()
	r.services(11, 13)
	r.awaitAddresses(13)
	r.assertHandedOver("second", "third")

	r.misconfigure()
	if err := r.Client().CoreV1().Services("default").Delete(t.Context(), "web-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await.Eventually(t, "deletion", func(ctx context.Context) error { return Gone(ctx, r.Client(), "default", "web-0") })
	r.assertSecret(third)
}

// misconfigure gives the process that leads wrong credentials, and a file that cannot be read, each
// with secrets of its own, and then what it had.
func (r *rivals) misconfigure() {
	r.t.Helper()
	right := r.cloud.CloudConf()
	wrong := strings.ReplaceAll(right, "password=", "trustee-password=planted-trustee-password\napplication-credential-id=c\n"+
		"application-credential-secret=planted-credential-secret\nplanted-second-line\npassword=planted-\"\\\"-password\n#")
	key := filepath.Join(r.t.TempDir(), "key.pem")
	broken := strings.ReplaceAll(right, "password=", "cert-file="+key+"\nkey-file="+key+"\npassword=\nplanted_secret_in_a_line\n#")
	r.secrets.Add(map[string]string{
		"the second line": "planted-second-line", "the line of its own": "planted_secret", "the quoted password": `planted-"-password`,
	})
	for n, conf := range []string{wrong, broken} {
		if err := r.Configure(conf); err != nil {
			r.t.Fatal(err)
		}
		await.Eventually(r.t, "refusal of the configuration", func(ctx context.Context) error {
			events, err := r.Client().CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "reason=ConfigurationRefused"})
			if err != nil {
				return err
			}
			if len(events.Items) <= n {
				return errors.New("no event")
			}
			return nil
		})
	}
	if err := r.Configure(right); err != nil {
		r.t.Fatal(err)
	}
}

// assertUpstream fails unless the libraries have the metrics that alerts rely on.
func (r *rivals) assertUpstream(metrics string) {
	r.t.Helper()
	for name, labels := range monitoring.Upstream() {
		for _, label := range append(labels, "") {
			if !strings.Contains(metrics, "\n"+name) || !strings.Contains(metrics, name+"{"+label) && label != "" {
				r.t.Errorf("no metric %s with label %q", name, label)
			}
		}
	}
}

// assertSecret looks for secrets in the output of all processes, including the running one.
func (r *rivals) assertSecret(ccm *Controller) {
	r.t.Helper()
	for n, token := range r.cloud.Keystone.Tokens() {
		r.secrets[fmt.Sprint("token ", n)] = token
	}
	check := func(err error) {
		r.t.Helper()
		if err != nil {
			r.t.Error(err)
		}
	}
	for _, path := range servedToAll() {
		text, err := ccm.Ask(r.t.Context(), path)
		if err != nil && path != "/flagz" && path != "/statusz" {
			r.t.Errorf("%s: %v", path, err)
		}
		check(r.secrets.Check(path, text))
		if path == "/metrics" {
			r.assertUpstream(text)
		}
	}
	events, err := r.Client().CoreV1().Events("").List(r.t.Context(), metav1.ListOptions{})
	check(err)
	check(r.secrets.Check("an event", fmt.Sprint(events.Items)))
	maps, err := r.Client().CoreV1().ConfigMaps("kube-system").List(r.t.Context(), metav1.ListOptions{})
	check(err)
	check(r.secrets.Check("a ConfigMap", fmt.Sprint(maps.Items)))
	cleanup := exec.CommandContext(r.t.Context(), r.program.Program, "cleanup", "--v=10", "--cluster-name=kubernetes", "--cloud-config="+r.program.CloudConf)
	said, _ := cleanup.CombinedOutput() // its exit code is not 0, because it finds objects
	check(r.secrets.Check("cleanup", string(said)))
	ccm.Stop(stopGrace)
	for _, log := range r.logs {
		text, err := os.ReadFile(log)
		check(err)
		check(r.secrets.Check(log, string(text)))
		if !strings.Contains(string(text), `"OpenStack request"`) {
			r.t.Errorf("%s does not have all that is logged", log)
		}
	}
}
