package examples_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// site is the cloud that an example is applied to.
type site struct {
	*testenv.Env
	t *testing.T
	// ids are those of the examples, with what they are in this cloud.
	ids map[string]string
	// dmz and storage are further networks of the project.
	dmz, storage neutron.Subnet
	// ports is how many NodePorts there are.
	ports int32
	// dualHomed is set if the nodes' servers are in two networks, and cloud.conf selects the
	// addresses.
	dualHomed bool
}

// shared is the ID that examples have in place of that of the first load balancer.
const shared = "28438d75-4c4e-43b4-a15b-5056fded2a34"

// apply applies an example to a cloud of its own, and returns what that has then.
func apply(t *testing.T, e *example) (result string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := applied(t, e)
		defer s.Close()
		for _, event := range s.Events() {
			if strings.Contains(event, " "+v1.EventTypeWarning+" ") {
				t.Errorf("something is refused or ignored: %s", event)
			}
		}
		s.assertStatus()
		s.assertPlan()
		result = s.summary() + s.farewell()
	})
	return result
}

// applied returns a cloud of its own for an example, after it was applied. The caller closes it.
func applied(t *testing.T, e *example) *site {
	t.Helper()
	s := newSite(t, strings.Contains(e.conf, "[Networking]"))
	if e.conf != "" {
		s.configure(e.conf)
	}
	s.addNodes()
	s.Start(t.Context())
	s.settle() // nodes have their addresses from the controller
	for _, document := range e.documents() {
		s.apply(document)
		s.settle()
	}
	return s
}

// newSite makes the cloud, with what the examples take to be there.
func newSite(t *testing.T, dualHomed bool) *site {
	t.Helper()
	env, err := testenv.New(testenv.Options{Instances: dualHomed, Simulator: simulator.Options{Topology: simulator.Topology{
		ExternalCIDR: "203.0.113.0/24", CIDR: "10.0.0.0/24", IPv6CIDR: "2001:db8::/64", RouterVIPCIDR: "10.77.0.0/24",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Env: env, t: t, dualHomed: dualHomed}
	s.dmz, s.storage = s.addNetwork("dmz", "10.0.8.0/24"), s.addNetwork("storage", "10.0.9.0/24")
	certificate, err := env.Cloud.AddCertificate()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := env.Cloud.Neutron.CreateFloatingIP(neutron.FloatingIPSpec{
		ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Cloud.ExternalNetwork.ID, Address: "203.0.113.80",
	}); err != nil {
		t.Fatal(err)
	}
	s.ids = map[string]string{
		"5d0b8a0e-9f4c-4b8b-8a5f-7c1e2d3f4a5b":                                         env.Cloud.Subnet.ID,
		"6c1f0d0a-2b7e-4a57-9d6a-8f3e5b2c4d1e":                                         env.Cloud.SubnetV6.ID,
		"e1d1c6a3-7d0b-4f0c-8f43-2c5b8a9d7e60":                                         s.dmz.ID,
		"0a7c7f5c-4d9e-4f07-9b4f-2a4e5d5b3a11":                                         env.Cloud.ExternalNetwork.ID,
		"c9a6b0f3-1d7e-4b52-8a4c-6e0f9d3b2a18":                                         env.Cloud.RouterVIPs.ID,
		"https://barbican.example.com/v1/secrets/94ae1d1d-5a8a-4b1e-8d3e-3a2c6a0a7b1f": certificate,
	}
	return s
}

func (s *site) addNetwork(name, cidr string) neutron.Subnet {
	s.t.Helper()
	network := s.Cloud.Neutron.AddNetwork(neutron.NetworkSpec{Name: name, ProjectID: s.Cloud.Account.ProjectID})
	subnet, err := s.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{Name: name + "-subnet", NetworkID: network.ID, CIDR: cidr})
	if err != nil {
		s.t.Fatal(err)
	}
	return subnet
}

// configure adds sections to the credentials of cloud.conf.
func (s *site) configure(conf string) {
	s.t.Helper()
	credentials, _, _ := strings.Cut(s.Cloud.CloudConf(), "[LoadBalancer]")
	whole := credentials + s.translate(conf)
	if _, warnings, err := config.Load(strings.NewReader(whole), nil); err != nil || len(warnings) > 0 {
		s.t.Fatalf("%v, warnings %v:\n%s", err, warnings, conf)
	}
	if err := s.ConfigureText(whole); err != nil {
		s.t.Fatal(err)
	}
}

// addNodes adds two nodes, of which the first has a label. Where cloud.conf is about networks,
// the controller has to find out what the addresses are.
func (s *site) addNodes() {
	s.t.Helper()
	for i, labels := range []map[string]string{{"node-pool": "web"}, nil} {
		name, last := fmt.Sprintf("node-%d", i+1), fmt.Sprint(11+i)
		first, further := nova.ServerSpec{NetworkID: s.Cloud.Network.ID, Address: "10.0.0." + last}, "2001:db8::"+last
		if s.dualHomed {
			first, further = nova.ServerSpec{NetworkID: s.storage.NetworkID, Address: "10.0.9." + last}, first.Address
		}
		first.Name, first.ProjectID = name, s.Cloud.Account.ProjectID
		server, err := s.Cloud.Nova.AddServer(first)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.Cloud.Nova.AttachInterface(server.ID, s.Cloud.Network.ID, further); err != nil {
			s.t.Fatal(err)
		}
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: v1.NodeSpec{ProviderID: "openstack:///" + server.ID}}
		node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
		node.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: first.Address}, {Type: v1.NodeInternalIP, Address: further}}
		if s.dualHomed {
			node.Status.Addresses, node.Spec.ProviderID = nil, ""
			node.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
		}
		s.Cluster.SetNode(node)
	}
}

// apply applies one object.
func (s *site) apply(document string) {
	s.t.Helper()
	text := []byte(s.translate(document))
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(text, &kind); err != nil {
		s.t.Fatal(err)
	}
	switch kind.Kind {
	case "Namespace":
		var namespace v1.Namespace
		if err := yaml.UnmarshalStrict(text, &namespace); err != nil {
			s.t.Fatal(err)
		}
		s.Cluster.SetNamespace(namespace.Name, namespace.Annotations)
	case "Service":
		var svc v1.Service
		if err := yaml.UnmarshalStrict(text, &svc); err != nil {
			s.t.Fatal(err)
		}
		asked := s.asAPIServer(&svc)
		if asked.Annotations[annotation.Members] != "" { // its pods are on the first node
			s.Cluster.SetEndpoints(testenv.KeyOf(asked), "node-1")
		}
		if unmanaged(asked) {
			s.serveBefore(asked)
		} else {
			s.assertForetold(string(text))
		}
		s.Cluster.Apply(asked)
	default:
		s.t.Fatalf("an example has a %q", kind.Kind)
	}
}

func unmanaged(svc *v1.Service) bool { return svc.Annotations[annotation.Managed] == "false" }

// serveBefore serves the first port of a Service that is not managed afterwards.
func (s *site) serveBefore(svc *v1.Service) {
	s.t.Helper()
	before := svc.DeepCopy()
	delete(before.Annotations, annotation.Managed)
	before.Spec.Ports = before.Spec.Ports[:1]
	s.Cluster.Apply(before)
	s.settle()
}

// translate replaces what differs from cloud to cloud.
func (s *site) translate(text string) string {
	for id, is := range s.ids {
		text = strings.ReplaceAll(text, id, is)
	}
	if balancers := s.Cloud.Octavia.Snapshot(); len(balancers) > 0 {
		text = strings.ReplaceAll(text, shared, balancers[0].ID)
	}
	return text
}

// asAPIServer fills in what the API server does.
func (s *site) asAPIServer(svc *v1.Service) *v1.Service {
	svc.Namespace = cmp.Or(svc.Namespace, "default")
	svc.UID = types.UID(fmt.Sprintf("83edf9cb-240e-4ea1-8c14-%012d", 1+len(s.Cluster.Services())))
	spec := &svc.Spec
	spec.ExternalTrafficPolicy = cmp.Or(spec.ExternalTrafficPolicy, v1.ServiceExternalTrafficPolicyCluster)
	spec.SessionAffinity = cmp.Or(spec.SessionAffinity, v1.ServiceAffinityNone)
	if spec.SessionAffinity == v1.ServiceAffinityClientIP && spec.SessionAffinityConfig == nil {
		seconds := v1.DefaultClientIPServiceAffinitySeconds
		spec.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol}
	}
	for i := range spec.Ports {
		s.ports++
		spec.Ports[i].Protocol = cmp.Or(spec.Ports[i].Protocol, v1.ProtocolTCP)
		if allocates := spec.AllocateLoadBalancerNodePorts; allocates == nil || *allocates {
			spec.Ports[i].NodePort = 30000 + s.ports
		}
	}
	if spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
		spec.HealthCheckNodePort = 32000 + s.ports
	}
	return svc
}

func (s *site) settle() {
	s.t.Helper()
	if err := s.Settle(s.t.Context(), 2*testenv.DriftInterval, time.Hour); err != nil {
		s.t.Fatalf("%v\n%s", err, strings.Join(s.Events(), "\n"))
	}
}

// farewell deletes the Services, and returns the objects of theirs that stay.
func (s *site) farewell() string {
	s.t.Helper()
	for _, svc := range s.Cluster.Services() {
		s.Cluster.Delete(testenv.KeyOf(svc))
	}
	s.settle()
	left := s.left()
	if len(left) == 0 {
		return ""
	}
	return fmt.Sprintf("once the Service is deleted:\n  %s stays\n", strings.Join(left, ", "))
}

// left returns the objects in the cloud that the controller has made.
func (s *site) left() (left []string) {
	for _, lb := range s.Cloud.Octavia.Snapshot() {
		left = append(left, "load balancer "+lb.Name)
	}
	for _, ip := range s.Cloud.Neutron.FloatingIPs() {
		left = append(left, "floating IP "+ip.Address)
	}
	for _, port := range s.routerVIPs() {
		left = append(left, "VIP "+port.FixedIPs[0].Address)
	}
	for _, group := range s.Cloud.Neutron.SecurityGroups() {
		if strings.HasPrefix(group.Name, "lb-sg-") {
			left = append(left, "security group "+group.Name)
		}
	}
	return slices.DeleteFunc(left, func(what string) bool { return what == "floating IP 203.0.113.80" }) // made before
}
