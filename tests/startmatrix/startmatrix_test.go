package startmatrix

import (
	"cmp"
	"context"
	encoding "encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/process"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/secrets"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// oldest runs the rows on the oldest supported release of Kubernetes. The build of its API server
// takes many minutes: make oldest.
var oldest = flag.Bool("oldest", false, "run on the oldest Kubernetes that is supported")

func TestMain(m *testing.M) {
	if sandbox := os.Getenv(asRuntime); sandbox != "" {
		runtimeMain(sandbox)
	}
	os.Exit(m.Run())
}

func base64(text string) string { return encoding.StdEncoding.EncodeToString([]byte(text)) }

// The rows run one after the other, on one cluster and one cloud: each takes over from
// the one before, as at a switch, initialises a node, and gives a Service its address
// and takes it back.
func TestProgram_StartsAndServesWhereCloudProviderOpenStackRuns(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	for _, row := range append(rows(), recipeRows()...) {
		t.Run(row.name, func(t *testing.T) { env.serve(t, row) })
	}
	for _, row := range append(ownRows(t, env), chartRows(t, env)...) {
		t.Run(row.name, func(t *testing.T) { env.serve(t, row) })
	}
}

// environment is what the rows share.
type environment struct {
	cloud *simulator.Cloud
	plane *controlplane.ControlPlane
	image image
	facts facts
	// sandboxed is set if this machine permits namespaces.
	sandboxed bool
}

func newEnvironment(t *testing.T) *environment {
	t.Helper()
	// With ovn, load balancers are first looked at after one second and not after five.
	cloud, err := simulator.Start(simulator.Options{Config: simulator.Config{LoadBalancer: map[string]string{"lb-provider": "ovn"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	env := &environment{cloud: cloud, image: readImage(t), plane: controlPlane(t)}
	grant(t, env.plane)
	missing := namespacesMissing(t.TempDir())
	if env.sandboxed = missing == nil; !env.sandboxed {
		t.Logf("without namespaces (%v): every program runs as the user of this test, and sees its files below a prefix", missing)
	}
	keystone := encrypted(t, cloud.URL())
	server, err := url.Parse(env.plane.Config().Host)
	if err != nil {
		t.Fatal(err)
	}
	address, err := net.ResolveTCPAddr("tcp", server.Host)
	if err != nil {
		t.Fatal(err)
	}
	bundle := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: keystone.Certificate().Raw}))
	certificate, key := servingPair(t)
	env.facts = facts{
		plainConf: cloud.CloudConf(), secureConf: strings.Replace(cloud.CloudConf(), cloud.URL(), keystone.URL, 1), caBundle: bundle,
		apiServer: address, apiServerCA: string(env.plane.Config().CAData), servingCertificate: certificate, servingKey: key,
	}
	return env
}

func controlPlane(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	options := controlplane.Options{WithoutControllerManager: true}
	if *oldest {
		apiServer, err := controlplane.BuildOldestAPIServer(t.Context(), t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		options.Programs.APIServer = apiServer
	}
	plane := controlplane.ForTest(t, options)
	version, err := plane.Client().Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("Kubernetes %s", version.GitVersion)
	return plane
}

// encrypted returns the same cloud behind a certificate of an unknown authority.
func encrypted(t *testing.T, cloud string) *httptest.Server {
	t.Helper()
	target, err := url.Parse(cloud)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(target))
	t.Cleanup(server.Close)
	return server
}

func (env *environment) serve(t *testing.T, row container) {
	f := env.facts
	back := func() {}
	if row.recipe != "" {
		back, row.rights = env.follow(t, row), peerName
	}
	f.token = token(t.Context(), t, env.plane, row)
	directory := t.TempDir()
	// Other tests run at the same time on this machine: the port is another one.
	box, err := row.prepare(env.image, &f, directory, fmt.Sprintf("--secure-port=%d", loopback.FreePort(t)))
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(strings.NewReplacer(" ", "-", ",", "").Replace(row.name))
	env.addNode(t, name)
	ccm := env.start(t, box, &f, directory)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	await := func(check func(context.Context) error) {
		t.Helper()
		if err := ccm.Await(ctx, check); err != nil {
			t.Fatal(err)
		}
	}
	remove := func() {}
	if !row.nodesOnly {
		remove = env.publish(ctx, t, name, await)
	}
	await(func(ctx context.Context) error { return cluster.Initialized(ctx, env.plane.Client(), name) })
	await(func(ctx context.Context) error { return env.leads(ctx, row) })
	remove()
	ccm.Stop(time.Minute)
	if err := ccm.Err(); !strings.Contains(err.Error(), "exit status 0") {
		t.Errorf("asked to end: %v\n%s", err, ccm.Log(30))
	}
	if ours := row.recipe != "" || row.ours; ours && strings.Contains(ccm.Log(1000), "forbidden") {
		t.Errorf("it lacks a right:\n%s", ccm.Log(1000))
	}
	back()
	if err := secrets.InConf(f.plainConf).CheckFile(filepath.Join(directory, "log")); err != nil {
		t.Error(err)
	}
}

// publish makes a Service and awaits its address. What it returns deletes it, and awaits that it is gone.
func (env *environment) publish(ctx context.Context, t *testing.T, name string, await func(func(context.Context) error)) (remove func()) {
	t.Helper()
	services := env.plane.Client().CoreV1().Services(metav1.NamespaceDefault)
	if _, err := services.Create(ctx, service(name), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(func(ctx context.Context) error {
		_, err := cluster.ExternalIP(ctx, env.plane.Client(), metav1.NamespaceDefault, name)
		return err
	})
	return func() {
		t.Helper()
		if err := services.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		await(func(ctx context.Context) error {
			return cluster.Gone(ctx, env.plane.Client(), metav1.NamespaceDefault, name)
		})
	}
}

func (w *environment) start(t *testing.T, box sandbox, f *facts, directory string) *process.Process {
	t.Helper()
	spec := process.Spec{Name: "the container", LogFile: filepath.Join(directory, "log")}
	if w.sandboxed {
		text, err := json.Marshal(box)
		if err != nil {
			t.Fatal(err)
		}
		spec.Path, spec.Env, spec.Attributes = os.Args[0], []string{asRuntime + "=" + string(text)}, namespaces
	} else {
		argv, env, err := box.withPrefix(f, directory)
		if err != nil {
			t.Fatal(err)
		}
		spec.Path, spec.Args, spec.Env = argv[0], argv[1:], env
	}
	ccm, err := process.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ccm.Kill)
	return ccm
}

// addNode makes a server and the Node that its kubelet registers.
func (env *environment) addNode(t *testing.T, name string) {
	t.Helper()
	server, err := env.cloud.AddServer(name, "")
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: server.Addresses[0]}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	if _, err := env.plane.Client().CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

// leads returns an error while no process has the lease of the row.
func (env *environment) leads(ctx context.Context, row container) error {
	name := "cloud-controller-manager"
	if row.lease != "" {
		name = row.lease
	}
	lease, err := env.plane.Client().CoordinationV1().Leases(cmp.Or(row.namespace, metav1.NamespaceSystem)).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return errors.New("no process has lease " + name)
	}
	return nil
}
