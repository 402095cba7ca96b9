package garbage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// environment is a simulated cloud with what clusters and people have made there.
type environment struct {
	*simulated.Environment
	ctx     context.Context
	session *openstack.Session
	nodes   int
}

func newEnvironment(t *testing.T) *environment {
	t.Helper()
	delays := simoctavia.Delays{Create: 10 * time.Millisecond, Update: 5 * time.Millisecond, Delete: 5 * time.Millisecond}
	options := simulator.Options{Delays: map[string]simoctavia.Delays{simoctavia.ProviderAmphora: delays}}
	options.Config.LoadBalancer = map[string]string{"manage-security-groups": "true"}
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	t.Cleanup(cancel)
	env := &environment{Environment: simulated.New(t, options), ctx: ctx}
	env.session = env.SignIn(openstack.SessionOptions{Retry: transport.RetryPolicy{BaseDelay: time.Millisecond, MaxDelay: 5 * time.Millisecond}})
	return env
}

// cluster is a cluster that the controller works for.
type cluster struct {
	env    *environment
	engine *loadbalancer.Reconciler
	node   *v1.Node
}

func (env *environment) cluster(id, name string) *cluster {
	env.T.Helper()
	env.nodes++
	address := fmt.Sprintf("127.100.1.%d", 10+env.nodes)
	server, err := env.Cloud.AddServer("node of "+name, address)
	env.check(err)
	poll := driver.PollInterval{First: 3 * time.Millisecond, Step: 3 * time.Millisecond, Cap: 20 * time.Millisecond}
	engine, err := loadbalancer.New(loadbalancer.Options{
		Config: env.Conf, Session: env.session, ClusterName: name, ClusterID: id,
		Recorder: record.NewFakeRecorder(1000), Clock: clock.RealClock{},
		Timing: driver.Timing{Create: poll, Update: poll, Delete: poll, ChildInterval: 5 * time.Millisecond, ChildTimeout: time.Minute, LostCreateRetry: 5 * time.Millisecond},
	})
	env.check(err)
	env.T.Cleanup(engine.Close)
	return &cluster{env, engine, &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node of " + name}, Spec: v1.NodeSpec{ProviderID: "openstack:///" + server.ID},
		Status: v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}},
	}}
}

func (env *environment) check(err error) {
	env.T.Helper()
	if err != nil {
		env.T.Fatal(err)
	}
}

// serviceOf returns a Service with one port.
func serviceOf(name string, uid int) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{},
			UID: types.UID(fmt.Sprintf("83edf9cb-240e-4ea1-8c14-%012d", uid))},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster, SessionAffinity: v1.ServiceAffinityNone,
			Ports: []v1.ServicePort{{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: int32(30000 + uid)}},
		},
	}
}

// ensure makes the load balancer of a Service, with a floating IP and a security group.
func (c *cluster) ensure(name string, uid int) *v1.Service {
	c.env.T.Helper()
	svc := serviceOf(name, uid)
	status, err := c.engine.Ensure(c.env.ctx, svc, []*v1.Node{c.node})
	c.env.check(err)
	svc.Status.LoadBalancer = *status
	return svc
}

// left makes what cloud-provider-openstack leaves of a Service: a load balancer with a
// floating IP, and a security group on a port.
func (env *environment) left(clusterName, service string) {
	env.T.Helper()
	name := "kube_service_" + clusterName + "_default_" + service
	made := env.loadBalancer(name, "Kubernetes external service default/"+service+" from cluster "+clusterName, []string{name}, "listener_0_"+name, "pool_0_"+name)
	_, err := env.Cloud.Neutron.CreateFloatingIP(simneutron.FloatingIPSpec{
		ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Conf.LoadBalancer.FloatingNetworkID, PortID: made.VIPPortID,
		Description: "Floating IP for Kubernetes external service default/" + service + " from cluster " + clusterName,
	})
	env.check(err)
	env.nodes++
	group, err := env.session.Neutron().CreateSecurityGroup(env.ctx, fmt.Sprintf("lb-sg-83edf9cb-240e-4ea1-8c14-%012d-default-%s", 900+env.nodes, service),
		"Security Group for default/"+service+" Service LoadBalancer in cluster "+clusterName)
	env.check(err)
	_, err = env.Cloud.Neutron.CreatePort(simneutron.PortSpec{
		ProjectID: env.Cloud.Account.ProjectID, SubnetID: env.Cloud.Subnet.ID, Name: "node of " + clusterName, SecurityGroups: []string{group.ID},
	})
	env.check(err)
}

// loadBalancer makes one with a listener and a pool as another client does.
func (env *environment) loadBalancer(name, description string, tags []string, listener, pool string) octavia.LoadBalancer {
	env.T.Helper()
	made, err := env.session.Octavia().CreateLoadBalancer(env.ctx, octavia.LoadBalancer{
		Name: name, Description: description, Tags: tags, VIPSubnetID: env.Cloud.Subnet.ID,
		Listeners: []octavia.Listener{{Name: listener, Protocol: "TCP", Port: 80, Tags: tags, DefaultPool: &octavia.NewPool{Pool: octavia.Pool{Name: pool, Protocol: "TCP", Algorithm: "ROUND_ROBIN"}}}},
	})
	env.check(err)
	env.Settle()
	return *made
}

// join adds a listener and a pool of a Service to a load balancer.
func (env *environment) join(loadBalancerID string, number int, who ownership.Identity) {
	env.T.Helper()
	pool, err := env.session.Octavia().CreatePool(env.ctx, octavia.Pool{
		LoadBalancerID: loadBalancerID, Name: who.PoolName(number), Protocol: "TCP", Algorithm: "ROUND_ROBIN", Tags: who.Tags(),
	})
	env.check(err)
	env.Settle()
	_, err = env.session.Octavia().CreateListener(env.ctx, octavia.Listener{
		LoadBalancerID: loadBalancerID, Name: who.ListenerName(number), Protocol: "TCP", Port: number, Tags: who.Tags(), DefaultPoolID: pool.ID,
	})
	env.check(err)
	env.Settle()
}

// clean runs the command.
func (env *environment) clean(options garbage.Options) (*garbage.Report, error) {
	if options.Octavia == nil {
		options.Octavia = env.session.Octavia()
	}
	if options.Neutron == nil {
		options.Neutron = env.session.Neutron()
	}
	if options.Clock == nil {
		options.Poll = 2 * time.Millisecond
	}
	return garbage.Run(env.ctx, options)
}

// cleaned runs the command and fails unless it ends with the exit code.
func (env *environment) cleaned(options garbage.Options, code int) *garbage.Report {
	env.T.Helper()
	report, err := env.clean(options)
	env.check(err)
	if got := report.ExitCode(); got != code {
		env.T.Errorf("exit code %d, want %d: %+v", got, code, report.Items)
	}
	return report
}

// books are all objects of the cloud, each with all that it has.
type books map[string]string

func (env *environment) books() books {
	env.T.Helper()
	env.Settle()
	all := books{}
	add := func(kind, id, name string, object any) {
		text, err := json.Marshal(object)
		env.check(err)
		all[kind+" "+id] = name + " " + string(text)
	}
	for _, lb := range env.Cloud.Octavia.Snapshot() {
		add("load balancer", lb.ID, lb.Name, lb)
	}
	for _, fip := range env.Cloud.Neutron.FloatingIPs() {
		add("floating IP", fip.ID, fip.Address, fip)
	}
	for _, group := range env.Cloud.Neutron.SecurityGroups() {
		add("security group", group.ID, group.Name, group)
	}
	for _, port := range env.Cloud.Neutron.Ports() {
		if port.DeviceOwner != "network:floatingip" { // which come and go with their floating IP
			add("port", port.ID, port.Name, port)
		}
	}
	for _, router := range env.Cloud.Neutron.Routers() {
		add("router", router.ID, router.Name, router)
	}
	return all
}

// became fails unless exactly what belongs to others is as it was before, and nothing else
// is there but what changed names, as it stands in the books.
func (env *environment) became(others books, changed ...string) {
	env.T.Helper()
	now := env.books()
	for _, key := range slices.Sorted(maps.Keys(others)) {
		if now[key] != others[key] && !slices.Contains(changed, key) {
			env.T.Errorf("%s\nwas    %s\nbecame %s", key, others[key], now[key])
		}
		delete(now, key)
	}
	for key, object := range now {
		env.T.Errorf("%s is left: %s", key, object)
	}
}

// writes are the requests that changed something, since the last reset of the log.
func (env *environment) writes() int { return len(env.Cloud.RequestLog.Requests(requestlog.Writes())) }

// leaps is a clock on which every wait ends at once. It counts them.
type leaps struct {
	clock.Clock

	mu    sync.Mutex
	now   time.Time
	waits int
	each  func(wait int)
}

func (l *leaps) Now() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

func (l *leaps) After(d time.Duration) <-chan time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now, l.waits = l.now.Add(d), l.waits+1
	if l.each != nil {
		l.each(l.waits)
	}
	over := make(chan time.Time, 1)
	over <- l.now
	return over
}
