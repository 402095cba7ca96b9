package cloudprovider

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// migration is a cluster that moves to another project as docs/day-two.md describes.
type migration struct {
	t      *testing.T
	cloud  *simulator.Cloud
	c      Connection
	client *fake.Clientset
	clock  *clocktesting.FakeClock
}

func newMigration(t *testing.T, change func(*config.Config)) *migration {
	t.Helper()
	cloud, c := connection(t, change)
	m := &migration{t: t, cloud: cloud, client: fake.NewClientset(kubeSystem()), clock: clocktesting.NewFakeClock(time.Now())}
	c.Client = m.client
	m.c = c
	return m
}

// start begins a process of the controller. It ends with the test at the latest.
func (m *migration) start() *Provider {
	m.t.Helper()
	p, err := Connect(m.t.Context(), m.c)
	if err != nil {
		m.t.Fatal(err)
	}
	p.scope = cluster.NewGuard(m.client.CoreV1().ConfigMaps(metav1.NamespaceSystem), cluster.Controller{}, p.options.Scope, m.c.Recorder, m.clock)
	p.Initialize(nil, m.t.Context().Done())
	return p
}

// node is a Node on a server of a project.
func (m *migration) node(p *Provider, name, project, network string) *v1.Node {
	m.t.Helper()
	server, err := m.cloud.Nova.AddServer(nova.ServerSpec{Name: name, ProjectID: project, NetworkID: network})
	if err != nil {
		m.t.Fatal(err)
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Spec.ProviderID = "openstack:///" + server.ID
	nodes, _ := p.InstancesV2()
	meta, err := nodes.InstanceMetadata(m.t.Context(), node)
	if err != nil {
		m.t.Fatal(err)
	}
	node.Status.Addresses = meta.NodeAddresses
	return node
}

// serve calls for a Service as the service controller does, and writes the annotations of the
// controller.
func (m *migration) serve(p *Provider, svc *v1.Service, node *v1.Node) {
	m.t.Helper()
	status, err := balancer(m.t, p).EnsureLoadBalancer(m.t.Context(), "", svc, []*v1.Node{node})
	for n := 0; err != nil && n < 40; n++ {
		status, err = balancer(m.t, p).EnsureLoadBalancer(m.t.Context(), "", svc, []*v1.Node{node})
	}
	if err != nil {
		m.t.Fatal(err)
	}
	found := m.loadBalancers()
	if len(found) != 1 || len(status.Ingress) != 1 {
		m.t.Fatalf("%d load balancers, published %v", len(found), status.Ingress)
	}
	record := annotation.Record{Service: svc.UID, LoadBalancerID: found[0].ID, Address: status.Ingress[0].IP, Named: svc.Annotations[annotation.LoadBalancerID]}
	if svc.Annotations == nil {
		svc.Annotations = map[string]string{}
	}
	for name, value := range record.Changes(svc.Annotations) {
		svc.Annotations[name] = *value
	}
	svc.Status.LoadBalancer = *status
}

// emitted reports whether an event with these words was emitted.
func (m *migration) emitted(words ...string) bool {
	for {
		select {
		case event := <-m.c.Recorder.(*record.FakeRecorder).Events:
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(event, word) }) {
				return true
			}
		default:
			return false
		}
	}
}

// loadBalancers lists the load balancers of the project in cloud.conf.
func (m *migration) loadBalancers() []octavia.LoadBalancer {
	m.t.Helper()
	session := simulated.SignIn(m.t, m.c.Config, openstack.SessionOptions{})
	found, err := session.Octavia().LoadBalancers(m.t.Context(), octavia.LoadBalancerFilter{All: true})
	if err != nil {
		m.t.Fatal(err)
	}
	return found
}

// move changes cloud.conf to another project, which has a network of its own.
func (m *migration) move() (project, network string) {
	m.t.Helper()
	other := m.cloud.AddAccount("other", "other")
	net := m.cloud.Neutron.AddNetwork(neutron.NetworkSpec{Name: "other-net", ProjectID: other.ProjectID})
	subnet, err := m.cloud.Neutron.AddSubnet(neutron.SubnetSpec{NetworkID: net.ID, CIDR: "127.140.0.0/24"})
	if err != nil {
		m.t.Fatal(err)
	}
	_, err = m.cloud.Neutron.AddRouter(neutron.RouterSpec{ProjectID: other.ProjectID, ExternalNetworkID: m.cloud.ExternalNetwork.ID, SubnetIDs: []string{subnet.ID}})
	if err != nil {
		m.t.Fatal(err)
	}
	conf := *m.c.Config
	conf.Global.Username, conf.Global.UserID = other.UserName, ""
	conf.Global.Password, conf.Global.TenantID, conf.Global.TenantName = other.Password, other.ProjectID, ""
	conf.LoadBalancer.SubnetID = subnet.ID
	m.c.Config = &conf
	return other.ProjectID, net.ID
}

func webService() *v1.Service {
	svc := service("web")
	svc.Spec.Ports = []v1.ServicePort{{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}}
	svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol}
	svc.Spec.ExternalTrafficPolicy, svc.Spec.SessionAffinity = v1.ServiceExternalTrafficPolicyCluster, v1.ServiceAffinityNone
	return svc
}

// The load balancers of the old project stay until the Services have others. The annotations that
// the controller wrote refer to the old ones.
func TestProvider_MovesToAnotherProject(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*config.Config){
		"public":               func(*config.Config) {},
		"internal":             func(conf *config.Config) { conf.LoadBalancer.InternalLB = true },
		"with security groups": func(conf *config.Config) { conf.LoadBalancer.ManageSecurityGroups = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMigration(t, change)
			p := m.start()
			svc := webService()
			m.serve(p, svc, m.node(p, "old", m.cloud.Account.ProjectID, m.cloud.Network.ID))
			before := *svc.DeepCopy()
			if err := p.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			oldConf := m.c.Config

			project, network := m.move()
			p = m.start()
			if _, err := balancer(t, p).EnsureLoadBalancer(t.Context(), "", svc, nil); !errors.Is(err, cluster.ErrMoved) {
				t.Errorf("before the move is confirmed: %v", err)
			}
			if err := m.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Delete(t.Context(), cluster.ScopeRecord, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			m.clock.Step(time.Minute)
			m.serve(p, svc, m.node(p, "new", project, network))
			if svc.Status.LoadBalancer.Ingress[0].IP == before.Status.LoadBalancer.Ingress[0].IP || svc.Annotations[annotation.LoadBalancerID] == before.Annotations[annotation.LoadBalancerID] {
				t.Errorf("the Service has %v", svc.Annotations)
			}
			if !m.emitted("LoadBalancerAddressChanged", svc.Status.LoadBalancer.Ingress[0].IP) {
				t.Error("no event names the new address")
			}

			// A Service that has no load balancer here yet can be deleted, too.
			for _, gone := range []*v1.Service{&before, svc} {
				if err := balancer(t, p).EnsureLoadBalancerDeleted(t.Context(), "", gone); err != nil {
					t.Errorf("delete: %v", err)
				}
				if _, exists, err := balancer(t, p).GetLoadBalancer(t.Context(), "", unwanted(gone)); exists || err != nil {
					t.Errorf("after the deletion: %v, %v", exists, err)
				}
			}
			if left := m.loadBalancers(); len(left) > 0 {
				t.Errorf("left in the new project: %v", left)
			}
			if err := p.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			m.c.Config = oldConf
			if old := m.loadBalancers(); len(old) != 1 || old[0].ID != before.Annotations[annotation.LoadBalancerID] || old[0].ProvisioningStatus != "ACTIVE" {
				t.Errorf("left in the old project: %v", old)
			}
		})
	}
}

// unwanted returns a Service that no longer requests a load balancer.
func unwanted(svc *v1.Service) *v1.Service {
	svc = svc.DeepCopy()
	svc.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return svc
}

// A deletion right after the move finds nothing in the new project, and leaves the objects of the
// old one.
func TestProvider_DeletesServiceOfAnotherProject(t *testing.T) {
	t.Parallel()
	m := newMigration(t, func(*config.Config) {})
	p := m.start()
	svc := webService()
	m.serve(p, svc, m.node(p, "old", m.cloud.Account.ProjectID, m.cloud.Network.ID))
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.move()
	if err := m.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Delete(t.Context(), cluster.ScopeRecord, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p = m.start()
	lb := balancer(t, p)
	if _, exists, err := lb.GetLoadBalancer(t.Context(), "", unwanted(svc)); exists || err != nil {
		t.Errorf("get: %v, %v", exists, err)
	}
	if err := lb.EnsureLoadBalancerDeleted(t.Context(), "", svc); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if deleted := m.cloud.RequestLog.Requests(func(r requestlog.Request) bool { return r.Method == http.MethodDelete }); len(deleted) > 0 {
		t.Errorf("deleted: %v", deleted)
	}
}
