package securitygroup_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// network is the Neutron of a simulated cloud, as a test wants it to be.
type network struct {
	*neutron.Client
	// unrevised has no revision_number, as a Neutron without that extension.
	unrevised bool
	// beforeDelete runs once, right before a group is deleted.
	beforeDelete func(id string)
	once         sync.Once
	// hanging, if not nil, gets a value with each change of a port, which then hangs until its
	// context ends.
	hanging chan struct{}
	// writing, if not nil, is called before each change of a port.
	writing func()
	// hidden makes lists of rules empty.
	hidden bool
}

func (n *network) revise(ports []neutron.Port) []neutron.Port {
	for i := range ports {
		if n.unrevised {
			ports[i].Revision = nil
		}
	}
	return ports
}

func (n *network) revised(port *neutron.Port, err error) (*neutron.Port, error) {
	if err == nil && n.unrevised {
		port.Revision = nil
	}
	return port, err
}

func (n *network) PortsOfDevices(ctx context.Context, ids []string) ([]neutron.Port, error) {
	ports, err := n.Client.PortsOfDevices(ctx, ids)
	return n.revise(ports), err
}

func (n *network) PortsInGroup(ctx context.Context, id string) ([]neutron.Port, error) {
	ports, err := n.Client.PortsInGroup(ctx, id)
	return n.revise(ports), err
}

func (n *network) Port(ctx context.Context, id string) (*neutron.Port, error) {
	return n.revised(n.Client.Port(ctx, id))
}

func (n *network) SetPortGroups(ctx context.Context, port neutron.Port, groups []string) (*neutron.Port, error) {
	if n.hanging != nil {
		n.hanging <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if n.writing != nil {
		n.writing()
	}
	return n.revised(n.Client.SetPortGroups(ctx, port, groups))
}

func (n *network) SecurityGroupRules(ctx context.Context, id string, descriptions ...string) ([]neutron.SecurityGroupRule, error) {
	if n.hidden {
		return nil, nil
	}
	return n.Client.SecurityGroupRules(ctx, id, descriptions...)
}

func (n *network) DeleteSecurityGroup(ctx context.Context, id string) error {
	if n.beforeDelete != nil {
		n.once.Do(func() { n.beforeDelete(id) })
	}
	return n.Client.DeleteSecurityGroup(ctx, id)
}

// environment is a simulated cloud and the Groups that work on it.
type environment struct {
	*simulated.Environment
	groups *securitygroup.Groups
	// restart returns the Groups of a new process, which believes for so long what it has read;
	// configured those of one with a mode.
	restart    func(age time.Duration) *securitygroup.Groups
	configured func(mode string, age time.Duration) *securitygroup.Groups
	network    *network
	nodes      []securitygroup.Node
}

func newEnvironment(t *testing.T, mode string, n *network) *environment {
	t.Helper()
	simulation := simulated.New(t, simulator.Options{})
	session := simulation.SignIn(openstack.SessionOptions{})
	n.Client = session.Neutron()
	env := &environment{Environment: simulation, network: n}
	env.configured = func(mode string, age time.Duration) *securitygroup.Groups {
		reader := lookup.New(n, session.Octavia(), session.LoadBalancerVersion, clock.RealClock{}, age)
		return securitygroup.New(n, reader, newStore(), clock.RealClock{}, mode)
	}
	env.restart = func(age time.Duration) *securitygroup.Groups { return env.configured(mode, age) }
	env.groups = env.restart(time.Hour)
	for name, address := range map[string]string{"a": "127.100.1.1", "b": "127.100.1.2"} {
		server, err := simulation.Cloud.AddServer(name, address)
		if err != nil {
			t.Fatal(err)
		}
		env.nodes = append(env.nodes, securitygroup.Node{Name: name, Server: server.ID, Addresses: []string{address}})
	}
	return env
}

func newStore() securitygroup.Store {
	return state.SecurityGroups{Store: state.New(clock.RealClock{}, nil)}
}

func id(service string) ownership.Identity {
	return ownership.Identity{
		ClusterName: "kubernetes", ClusterID: "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11",
		ServiceUID: "uid-of-" + service, Namespace: "default", Service: service,
	}
}

// request asks for what a Service at a NodePort needs.
func (env *environment) request(mode, service string, nodePort int) securitygroup.Request {
	return securitygroup.Request{ID: id(service), VIPSubnet: env.Cloud.Subnet.ID, Spec: &securitygroup.Spec{
		Mode: mode, NodePorts: []securitygroup.Opening{{Protocol: "tcp", Port: nodePort}}, Subnets: []string{env.Cloud.Subnet.ID}, Members: env.nodes,
	}}
}

// plan looks at what a Service at a NodePort needs.
func (env *environment) plan(mode, service string, nodePort int) *securitygroup.Task {
	env.T.Helper()
	task, err := env.groups.Plan(env.T.Context(), env.request(mode, service, nodePort))
	if err != nil {
		env.T.Fatal(err)
	}
	return task
}

func (env *environment) open(mode, service string, nodePort int) {
	env.T.Helper()
	if err := env.groups.Open(env.T.Context(), env.plan(mode, service, nodePort)); err != nil {
		env.T.Fatal(err)
	}
}

// group makes a group of another's.
func (env *environment) group(name string) string {
	env.T.Helper()
	group, err := env.Cloud.Neutron.CreateSecurityGroup(simneutron.SecurityGroupSpec{ProjectID: env.Cloud.Account.ProjectID, Name: name})
	if err != nil {
		env.T.Fatal(err)
	}
	return group.ID
}

// ports returns the ports of servers.
func (env *environment) ports() []simneutron.Port {
	return slices.DeleteFunc(env.Cloud.Neutron.Ports(), func(p simneutron.Port) bool {
		return !slices.ContainsFunc(env.nodes, func(n securitygroup.Node) bool { return n.Server == p.DeviceID })
	})
}

// set returns a port these groups, as another client.
func (env *environment) set(port simneutron.Port, groups ...string) {
	env.T.Helper()
	if _, err := env.Cloud.Neutron.UpdatePort(port.ID, simneutron.PortUpdate{SecurityGroups: &groups}); err != nil {
		env.T.Fatal(err)
	}
}

// A Neutron without revision_number does not refuse a list of groups that is out of
// date: there it must be read right before it is written.
func TestOpen_KeepsGroupsOfOthersWithoutRevisionNumbers(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{securitygroup.PerService, securitygroup.Shared} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, mode, &network{unrevised: true})
			task := env.plan(mode, "web", 30080)
			theirs := env.group("theirs")
			for _, port := range env.ports() {
				env.set(port, append(port.SecurityGroups, theirs)...)
			}
			if err := env.groups.Open(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			for _, port := range env.ports() {
				if len(port.SecurityGroups) != 3 || !slices.Contains(port.SecurityGroups, theirs) {
					t.Errorf("port %s uses %v, want the default group, theirs (%s) and ours", port.ID, port.SecurityGroups, theirs)
				}
			}
		})
	}
}

func TestRemove_TakesGroupOffPortThatGetsItMeanwhile(t *testing.T) {
	t.Parallel()
	n := &network{}
	env := newEnvironment(t, securitygroup.PerService, n)
	env.open(securitygroup.PerService, "web", 30080)
	n.beforeDelete = func(id string) { env.set(env.ports()[0], append(env.ports()[0].SecurityGroups, id)...) }
	if err := env.groups.Remove(t.Context(), id("web")); err != nil {
		t.Fatal(err)
	}
	if left := env.Cloud.Neutron.SecurityGroups(); len(left) != 1 {
		t.Errorf("groups that are left: %v, want the default one", left)
	}
	for _, port := range env.ports() {
		if len(port.SecurityGroups) != 1 {
			t.Errorf("port %s uses %v, want the default group", port.ID, port.SecurityGroups)
		}
	}
}

func TestOpen_PutsGroupOnReplacedPortOfNode(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, securitygroup.PerService, &network{})
	env.open(securitygroup.PerService, "web", 30080)
	node := &env.nodes[0]
	port, err := env.Cloud.Neutron.CreatePort(simneutron.PortSpec{
		ProjectID: env.Cloud.Account.ProjectID, SubnetID: env.Cloud.Subnet.ID, Address: "127.100.1.77", DeviceID: node.Server,
	})
	if err != nil {
		t.Fatal(err)
	}
	node.Addresses = []string{"127.100.1.77"}
	task := env.plan(securitygroup.PerService, "web", 30080)
	if len(task.Unfound) > 0 {
		t.Errorf("no port was found of %v", task.Unfound)
	}
	if err := env.groups.Open(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	for _, now := range env.ports() {
		if now.ID == port.ID && len(now.SecurityGroups) != 2 {
			t.Errorf("the new port uses %v, want the default group and ours", now.SecurityGroups)
		}
	}
}

func TestOpen_RecreatesDeletedSharedGroupAfterError(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, securitygroup.Shared, &network{})
	env.open(securitygroup.Shared, "web", 30080)
	for _, group := range env.Cloud.Neutron.SecurityGroups() {
		if group.Name == "default" {
			for _, port := range env.ports() {
				env.set(port, group.ID)
			}
		}
	}
	for _, group := range env.Cloud.Neutron.SecurityGroups() {
		if group.Name != "default" {
			if err := env.Cloud.Neutron.DeleteSecurityGroup(group.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := env.groups.Open(t.Context(), env.plan(securitygroup.Shared, "dns", 30053)); err == nil {
		t.Fatal("rules were added to a group that is gone")
	}
	env.open(securitygroup.Shared, "dns", 30053)
	for _, port := range env.ports() {
		if len(port.SecurityGroups) != 2 {
			t.Errorf("port %s uses %v, want the default group and a new one", port.ID, port.SecurityGroups)
		}
	}
}

// close opens and closes what a Service at a NodePort needs, with nodes that are current or not.
func (env *environment) close(service string, nodePort int, current func() bool) error {
	request := env.request(securitygroup.Shared, service, nodePort)
	request.NodesCurrent = current
	task, err := env.groups.Plan(env.T.Context(), request)
	if err != nil {
		return err
	}
	if err := env.groups.Open(env.T.Context(), task); err != nil {
		return err
	}
	return env.groups.Close(env.T.Context(), task)
}

// inGroup returns how many ports use a group beside the default one.
func (env *environment) inGroup() (n int) {
	for _, port := range env.ports() {
		n += len(port.SecurityGroups) - 1
	}
	return n
}

func TestClose_LeavesSharedGroupOnPortsWhereThereAreLaterNodes(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, securitygroup.Shared, &network{})
	both := env.nodes
	for _, current := range []bool{false, true} {
		env.nodes = both
		env.open(securitygroup.Shared, "web", 30080)
		env.nodes = both[:1]
		if err := env.close("web", 30080, func() bool { return current }); err != nil {
			t.Fatal(err)
		}
		env.nodes = both
		if want := map[bool]int{false: 2, true: 1}[current]; env.inGroup() != want {
			t.Errorf("nodes current: %v: %d ports have the group, want %d", current, env.inGroup(), want)
		}
	}
}

// A node comes back while the group is being taken off its port.
func TestOpen_PutsSharedGroupBackOnPortThatIsLosingIt(t *testing.T) {
	t.Parallel()
	n := &network{}
	env := newEnvironment(t, securitygroup.Shared, n)
	both := env.nodes
	env.open(securitygroup.Shared, "web", 30080)
	losing, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	n.writing = func() { once.Do(func() { close(losing); <-goOn }) }
	var later atomic.Bool
	ended := make(chan error, 2)
	env.nodes = both[:1]
	request := env.request(securitygroup.Shared, "web", 30080)
	request.NodesCurrent = func() bool { return !later.Load() }
	go func() {
		task, err := env.groups.Plan(t.Context(), request)
		if err == nil {
			err = env.groups.Close(t.Context(), task)
		}
		ended <- err
	}()
	<-losing
	env.nodes = both
	later.Store(true)
	task := env.plan(securitygroup.Shared, "dns", 30053)
	go func() { ended <- env.groups.Open(t.Context(), task) }()
	close(goOn)
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if env.inGroup() != 2 {
		t.Errorf("%d ports have the group, want both", env.inGroup())
	}
}
