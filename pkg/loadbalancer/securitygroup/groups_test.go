package securitygroup_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/lookup"
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
	return n.revised(n.Client.SetPortGroups(ctx, port, groups))
}

func (n *network) DeleteSecurityGroup(ctx context.Context, id string) error {
	if n.beforeDelete != nil {
		n.once.Do(func() { n.beforeDelete(id) })
	}
	return n.Client.DeleteSecurityGroup(ctx, id)
}

// world is a simulated cloud and the Groups that work on it.
type world struct {
	t      *testing.T
	cloud  *simulator.Cloud
	groups *securitygroup.Groups
	nodes  []securitygroup.Node
}

func newWorld(t *testing.T, mode string, n *network) *world {
	t.Helper()
	cloud, conf := simulated.Cloud(t, simulator.Options{})
	session := simulated.SignIn(t, conf, openstack.SessionOptions{})
	n.Client = session.Neutron()
	reader := lookup.New(n, session.Octavia(), session.LoadBalancerVersion, clock.RealClock{}, time.Hour)
	w := &world{t: t, cloud: cloud, groups: securitygroup.New(n, reader, state.New(clock.RealClock{}, nil), clock.RealClock{}, mode)}
	for name, address := range map[string]string{"a": "127.100.1.1", "b": "127.100.1.2"} {
		server, err := cloud.AddServer(name, address)
		if err != nil {
			t.Fatal(err)
		}
		w.nodes = append(w.nodes, securitygroup.Node{Name: name, Server: server.ID, Addresses: []string{address}})
	}
	return w
}

func id(service string) ownership.Identity {
	return ownership.Identity{
		ClusterName: "kubernetes", ClusterID: "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11",
		ServiceUID: "uid-of-" + service, Namespace: "default", Service: service,
	}
}

// plan looks at what a Service at a NodePort needs.
func (w *world) plan(mode, service string, nodePort int) *securitygroup.Task {
	w.t.Helper()
	task, err := w.groups.Plan(w.t.Context(), securitygroup.Request{ID: id(service), VIPSubnet: w.cloud.Subnet.ID, Spec: &securitygroup.Spec{
		Mode: mode, NodePorts: []securitygroup.Opening{{Protocol: "tcp", Port: nodePort}}, Subnets: []string{w.cloud.Subnet.ID}, Members: w.nodes,
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	return task
}

func (w *world) open(mode, service string, nodePort int) {
	w.t.Helper()
	if err := w.groups.Open(w.t.Context(), w.plan(mode, service, nodePort)); err != nil {
		w.t.Fatal(err)
	}
}

// group makes a group of somebody else's.
func (w *world) group(name string) string {
	w.t.Helper()
	group, err := w.cloud.Neutron.CreateSecurityGroup(simneutron.SecurityGroupSpec{ProjectID: w.cloud.Account.ProjectID, Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	return group.ID
}

// ports returns the ports of servers.
func (w *world) ports() []simneutron.Port {
	return slices.DeleteFunc(w.cloud.Neutron.Ports(), func(p simneutron.Port) bool {
		return !slices.ContainsFunc(w.nodes, func(n securitygroup.Node) bool { return n.Server == p.DeviceID })
	})
}

// set returns a port these groups, as somebody else.
func (w *world) set(port simneutron.Port, groups ...string) {
	w.t.Helper()
	if _, err := w.cloud.Neutron.UpdatePort(port.ID, simneutron.PortUpdate{SecurityGroups: &groups}); err != nil {
		w.t.Fatal(err)
	}
}

// A Neutron without revision_number does not refuse a list of groups that is out of
// date: there it must be read right before it is written.
func TestGroupsThatOthersPutOnAPortStayWithoutRevisionNumbers(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{securitygroup.PerService, securitygroup.Shared} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mode, &network{unrevised: true})
			task := w.plan(mode, "web", 30080)
			theirs := w.group("theirs")
			for _, port := range w.ports() {
				w.set(port, append(port.SecurityGroups, theirs)...)
			}
			if err := w.groups.Open(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			for _, port := range w.ports() {
				if len(port.SecurityGroups) != 3 || !slices.Contains(port.SecurityGroups, theirs) {
					t.Errorf("port %s uses %v, want the default group, theirs (%s) and ours", port.ID, port.SecurityGroups, theirs)
				}
			}
		})
	}
}

func TestAGroupThatAPortGetsWhileItGoesIsTakenOffAgain(t *testing.T) {
	t.Parallel()
	n := &network{}
	w := newWorld(t, securitygroup.PerService, n)
	w.open(securitygroup.PerService, "web", 30080)
	n.beforeDelete = func(id string) { w.set(w.ports()[0], append(w.ports()[0].SecurityGroups, id)...) }
	if err := w.groups.Remove(t.Context(), id("web")); err != nil {
		t.Fatal(err)
	}
	if left := w.cloud.Neutron.SecurityGroups(); len(left) != 1 {
		t.Errorf("groups that are left: %v, want the default one", left)
	}
	for _, port := range w.ports() {
		if len(port.SecurityGroups) != 1 {
			t.Errorf("port %s uses %v, want the default group", port.ID, port.SecurityGroups)
		}
	}
}

func TestANodeWhosePortWasReplacedGetsItsGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, securitygroup.PerService, &network{})
	w.open(securitygroup.PerService, "web", 30080)
	node := &w.nodes[0]
	port, err := w.cloud.Neutron.CreatePort(simneutron.PortSpec{
		ProjectID: w.cloud.Account.ProjectID, SubnetID: w.cloud.Subnet.ID, Address: "127.100.1.77", DeviceID: node.Server,
	})
	if err != nil {
		t.Fatal(err)
	}
	node.Addresses = []string{"127.100.1.77"}
	task := w.plan(securitygroup.PerService, "web", 30080)
	if len(task.Unfound) > 0 {
		t.Errorf("no port was found of %v", task.Unfound)
	}
	if err := w.groups.Open(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	for _, now := range w.ports() {
		if now.ID == port.ID && len(now.SecurityGroups) != 2 {
			t.Errorf("the new port uses %v, want the default group and ours", now.SecurityGroups)
		}
	}
}

func TestASharedGroupThatSomebodyDeletedIsMadeAnewAfterTheError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, securitygroup.Shared, &network{})
	w.open(securitygroup.Shared, "web", 30080)
	for _, group := range w.cloud.Neutron.SecurityGroups() {
		if group.Name == "default" {
			for _, port := range w.ports() {
				w.set(port, group.ID)
			}
		}
	}
	for _, group := range w.cloud.Neutron.SecurityGroups() {
		if group.Name != "default" {
			if err := w.cloud.Neutron.DeleteSecurityGroup(group.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.groups.Open(t.Context(), w.plan(securitygroup.Shared, "dns", 30053)); err == nil {
		t.Fatal("rules were added to a group that is gone")
	}
	w.open(securitygroup.Shared, "dns", 30053)
	for _, port := range w.ports() {
		if len(port.SecurityGroups) != 2 {
			t.Errorf("port %s uses %v, want the default group and a new one", port.ID, port.SecurityGroups)
		}
	}
}
