package routes_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// cloud is a simulated one that many clusters can be on.
type cloud struct {
	*testing.T
	*simulator.Cloud
	network routes.Network
}

func newCloud(t *testing.T, options simulator.Options) *cloud {
	t.Helper()
	options.Topology.CIDR = cmp.Or(options.Topology.CIDR, "10.6.0.0/16")
	started, conf := simulated.Cloud(t, options)
	return &cloud{t, started, simulated.SignIn(t, conf, openstack.SessionOptions{}).Neutron()}
}

// dualStack is a cloud with many routes and both IP families.
func dualStack() simulator.Options {
	return simulator.Options{
		Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"},
		Neutron:  func(o *simneutron.Options) { o.MaxRoutes = 1000 },
	}
}

// routes are those of the router, in order.
func (c *cloud) routes() []string {
	texts := []string{}
	for _, r := range c.Neutron.Routers()[0].Routes {
		texts = append(texts, r.Destination+" via "+r.NextHop)
	}
	slices.Sort(texts)
	return texts
}

func (c *cloud) wantRoutes(want ...string) {
	c.Helper()
	slices.Sort(want)
	if got := c.routes(); !slices.Equal(got, append([]string{}, want...)) {
		c.Errorf("the router's routes are %q, want %q", got, want)
	}
}

// setRoutes is what another client does, each a destination and a next hop.
func (c *cloud) setRoutes(routes ...[2]string) {
	c.Helper()
	var all []simneutron.Route
	for _, r := range routes {
		all = append(all, simneutron.Route{Destination: r[0], NextHop: r[1]})
	}
	if err := c.Neutron.SetRoutes(c.Router.ID, all); err != nil {
		c.Fatal(err)
	}
}

// spent returns the requests to Neutron since the last call.
func (c *cloud) spent() []string {
	var texts []string
	for _, r := range c.RequestLog.Requests(requestlog.Under("/network")) {
		texts = append(texts, r.Method+" "+strings.TrimPrefix(r.Route, "/network/v2.0/"))
	}
	c.RequestLog.Reset()
	return texts
}

func count(requests []string, part string) int {
	return len(slices.DeleteFunc(slices.Clone(requests), func(r string) bool { return !strings.Contains(r, part) }))
}

// cluster is a cluster on the cloud, and the controller that works for it.
type cluster struct {
	*cloud
	name   string
	client *fake.Clientset
	nodes  cache.Indexer
	table  *routes.Table
	clock  *clocktesting.FakeClock
	ports  map[string]string // of nodes' servers
	// tracer records the calls of a sync, unless it is nil; logged is the context that they have.
	tracer trace.TracerProvider
	logged context.Context
	// gathered is closed when all calls of a sync wait for their batch.
	gathered chan time.Time
}

func (c *cloud) cluster(name string) *cluster {
	k := &cluster{
		cloud: c, name: name, client: fake.NewClientset(), ports: map[string]string{},
		nodes: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}),
		clock: clocktesting.NewFakeClock(time.Now()), logged: c.Context(),
	}
	k.restart()
	return k
}

// record is the content of the ConfigMap.
func (k *cluster) record() map[string]string {
	k.Helper()
	stored, err := k.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(k.Context(), routes.RecordName, metav1.GetOptions{})
	if err != nil {
		k.Fatal(err)
	}
	return stored.Data
}

// restart is another process.
func (k *cluster) restart() {
	k.table = routes.New(routes.Options{
		Network: k.network, RouterID: k.Router.ID,
		Nodes: corelisters.NewNodeLister(k.nodes), Synced: func() bool { return true },
		ConfigMaps: k.client.CoreV1().ConfigMaps(metav1.NamespaceSystem), ClusterID: k.name,
		Gather: 20 * time.Millisecond, Clock: patientClock{k.clock, k},
	})
}

// patientClock has the time of the test. Operations are gathered until all of a sync are there,
// however slow the machine is, and those of other calls in true time.
type patientClock struct {
	*clocktesting.FakeClock
	k *cluster
}

func (c patientClock) After(d time.Duration) <-chan time.Time {
	if c.k.gathered != nil {
		return c.k.gathered
	}
	return time.After(d)
}

// join adds a server and the Node on it.
func (k *cluster) join(name string, podCIDRs ...string) *v1.Node {
	k.Helper()
	server, err := k.AddServer(name, "")
	if err != nil {
		k.Fatal(err)
	}
	k.ports[name] = server.PortIDs[0]
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.NodeSpec{ProviderID: "openstack:///" + server.ID, PodCIDRs: podCIDRs},
	}
	for _, address := range server.Addresses {
		node.Status.Addresses = append(node.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: address})
	}
	k.set(node)
	return node
}

func (k *cluster) set(node *v1.Node) {
	k.Helper()
	if err := k.nodes.Update(node); err != nil {
		k.Fatal(err)
	}
}

// leave takes the Node away; its server stays.
func (k *cluster) leave(node *v1.Node) {
	k.Helper()
	if err := k.nodes.Delete(node); err != nil {
		k.Fatal(err)
	}
}

// inherit returns a deleted node with a route to its pod CIDR, and the node that has the pod CIDR
// now.
func (k *cluster) inherit(podCIDR string) (first, heir *v1.Node) {
	k.Helper()
	first = k.join("node-1", podCIDR)
	k.settle()
	k.leave(first)
	return first, k.join("node-2", podCIDR)
}

func (k *cluster) address(node *v1.Node) string { return node.Status.Addresses[0].Address }

// pairs are the allowed address pairs of a node's port.
func (k *cluster) pairs(node string) []string {
	k.Helper()
	port, err := k.Neutron.Port(k.ports[node])
	if err != nil {
		k.Fatal(err)
	}
	texts := []string{}
	for _, pair := range port.AddressPairs {
		if pair.MACAddress != port.MACAddress {
			k.Errorf("pair %+v has another MAC than the port's %s", pair, port.MACAddress)
		}
		texts = append(texts, pair.Address)
	}
	return texts
}

func (k *cluster) wantPairs(node string, want ...string) {
	k.Helper()
	if got := k.pairs(node); !slices.Equal(got, append([]string{}, want...)) {
		k.Errorf("allowed address pairs of %s are %q, want %q", node, got, want)
	}
}

// list is ListRoutes without errors, by name.
func (k *cluster) list() map[string]*cloudprovider.Route {
	k.Helper()
	all, err := k.table.ListRoutes(k.Context(), "kubernetes")
	if err != nil {
		k.Fatal(err)
	}
	byName := map[string]*cloudprovider.Route{}
	for _, r := range all {
		byName[r.Name] = r
	}
	return byName
}

// sync does what the route controller does in one round, and returns the errors of the
// calls, which it makes at the same time.
func (k *cluster) sync() []error {
	k.Helper()
	var calls []func(context.Context) error
	has := map[string]bool{}
	for _, r := range k.list() {
		if r.Blackhole {
			calls = append(calls, func(ctx context.Context) error { return k.table.DeleteRoute(ctx, "kubernetes", r) })
		}
		has[string(r.TargetNode)+" "+r.DestinationCIDR] = true
	}
	for _, object := range k.nodes.List() {
		node, _ := object.(*v1.Node)
		for _, cidr := range node.Spec.PodCIDRs {
			if !has[node.Name+" "+cidr] {
				wanted := &cloudprovider.Route{TargetNode: types.NodeName(node.Name), TargetNodeAddresses: node.Status.Addresses, DestinationCIDR: cidr}
				calls = append(calls, func(ctx context.Context) error { return k.table.CreateRoute(ctx, "kubernetes", "", wanted) })
			}
		}
	}
	k.gathered = make(chan time.Time)
	errs := make([]error, len(calls))
	var group sync.WaitGroup
	var refused atomic.Int32 // before they could wait
	for i, call := range calls {
		group.Go(func() {
			ctx, end := telemetry.Root(k.logged, k.tracer, "route")
			errs[i] = call(ctx)
			end(errs[i])
			refused.Add(1)
		})
	}
	await.Condition(k.T, "all calls are gathered", func() bool { return k.table.Gathered()+int(refused.Load()) == len(calls) })
	close(k.gathered)
	group.Wait()
	k.gathered = nil
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// settle syncs without errors.
func (k *cluster) settle() {
	k.Helper()
	for _, err := range k.sync() {
		k.Error(err)
	}
}

// many are nodes with a pod CIDR of each family.
func (k *cluster) many(count int) {
	k.Helper()
	for i := range count {
		k.join(fmt.Sprintf("node-%d", i), fmt.Sprintf("10.244.%d.0/24", i), fmt.Sprintf("fd00:244:0:%x::/64", i))
	}
}

// mentions fails the test unless there is one error and it has all of the texts.
func (k *cluster) mentions(errs []error, texts ...string) {
	k.Helper()
	if len(errs) != 1 {
		k.Fatalf("errors are %v, want one", errs)
	}
	for _, text := range texts {
		if !strings.Contains(errs[0].Error(), text) {
			k.Errorf("error %q does not mention %q", errs[0], text)
		}
	}
}
