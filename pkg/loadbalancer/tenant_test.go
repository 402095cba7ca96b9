package loadbalancer_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// These tests show what a user who may only write Services in one namespace can do to other users.

// in puts a Service into a namespace.
func in(namespace string, svc *v1.Service) *v1.Service {
	svc.Namespace, svc.UID = namespace, types.UID("uid-of-"+namespace+"-"+svc.Name)
	return svc
}

// refusedBeforeAnything fails unless the Service is refused for a field or annotation, without a
// write.
func (env *environment) refusedBeforeAnything(svc *v1.Service, nodes []*v1.Node, path string, words ...string) {
	env.T.Helper()
	env.Cloud.RequestLog.Reset()
	_, err := env.engine.Ensure(env.ctx, svc, nodes)
	if err == nil || !strings.HasPrefix(err.Error(), path+":") {
		env.T.Fatalf("Ensure: got error %v, want one of %s", err, path)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			env.T.Errorf("error %q says nothing of %q", err, word)
		}
	}
	env.writes(0)
}

func TestMonitors_OpenNoPortOfNodesBeyondThoseOfService(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"shared", "per-service"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes, svc := env.nodes(3), in("evil", service("a", 1))
			annotate(annotation.Monitor, "true", annotation.MonitorPort, "10250", annotation.MonitorPath, "/anything")(svc)
			env.refusedBeforeAnything(svc, nodes, annotation.Path(annotation.MonitorPort).String(), "10250", "monitor-ports")
			if groups := env.groups(); len(groups) > 0 {
				t.Errorf("the nodes are opened by %v", groups)
			}
			svc.Annotations[annotation.MonitorPort] = "30080"
			env.ensure(svc, nodes)
			for _, rule := range rulesOf(env.group()) {
				if strings.Contains(rule, "10250") {
					t.Errorf("the nodes are opened by %s", rule)
				}
			}
		})
	}
}

// toldNow returns the events since the last call.
func (env *environment) toldNow() []string {
	var all []string
	for {
		select {
		case event := <-env.events.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}

func TestRefusal_OfThousandsOfSourceRangesIsShort(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), in("evil", service("a", 1))
	for i := range 30000 {
		svc.Spec.LoadBalancerSourceRanges = append(svc.Spec.LoadBalancerSourceRanges, fmt.Sprintf("2001:db8:%x::/48", i))
	}
	env.refusedBeforeAnything(svc, nodes, "spec.loadBalancerSourceRanges[0]", "2001:db8:0::/48", "spec.loadBalancerSourceRanges[5]", "more")
	_, err := env.engine.Ensure(env.ctx, svc, nodes)
	if text := err.Error(); len(text) > message.MaxError {
		t.Errorf("an error of %d bytes", len(text))
	}
}

func TestEnsure_ReportsManyUnknownAnnotationsOnce(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), in("evil", service("a", 1))
	for i := range 900 {
		svc.Annotations[fmt.Sprintf("loadbalancer.openstack.org/x%03d", i)] = ""
	}
	ignored := func() []string {
		var all []string
		for _, event := range env.toldNow() {
			if strings.Contains(event, "there is no such annotation") {
				all = append(all, event)
			}
		}
		return all
	}
	env.ensure(svc, nodes)
	if emitted := ignored(); len(emitted) != 1 || !strings.Contains(emitted[0], "x000: there is") || !strings.HasSuffix(emitted[0], "and 890 more") {
		t.Errorf("emitted at first: %q", emitted)
	}
	env.ensure(svc, nodes)
	if emitted := ignored(); len(emitted) != 0 {
		t.Errorf("emitted again though nothing changed: %q", emitted)
	}
	delete(svc.Annotations, "loadbalancer.openstack.org/x000")
	env.ensure(svc, nodes)
	if emitted := ignored(); len(emitted) != 1 || strings.Contains(emitted[0], "x000") {
		t.Errorf("emitted after a change: %q", emitted)
	}
}

// The error has the facts that a user who named the object may know. It does not have its owner, or
// other objects.
func TestRefusal_RevealsNothingOfOthers(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"max-shared-lb": "1"}})
	nodes, shop := env.nodes(2), in("bank", service("shop", 1))
	address := env.ensure(shop, nodes).Ingress[0].IP
	theirs := env.loadBalancer()
	server, err := env.Cloud.AddServer("vault", "127.100.1.99")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*v1.Service)
		says   string
	}{
		"their floating IP": {func(svc *v1.Service) { svc.Spec.LoadBalancerIP = address }, address + " is in use"},
		"their VIP's address": {annotate(annotation.Internal, "true", annotation.VIPAddress, theirs.VIP.Address),
			theirs.VIP.Address + " is in use in the subnet of the VIP"},
		"their VIP's port":         {annotate(annotation.PortID, theirs.VIP.PortID), "is in use by a device"},
		"a server's address":       {annotate(annotation.Internal, "true", annotation.VIPAddress, "127.100.1.99"), "is in use in the subnet"},
		"their load balancer":      {annotate(annotation.LoadBalancerID, theirs.ID), "cannot be shared"},
		"their floating IP by tag": {annotate(annotation.FloatingTags, "bank"), "sees no subnet of the external network"},
	} {
		t.Run(name, func(t *testing.T) {
			svc := in("evil", service("a", 0))
			svc.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 443)}
			c.change(svc)
			_, err := env.engine.Ensure(env.ctx, svc, nodes)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("Ensure: got error %v, want one with %q", err, c.says)
			}
			given := svc.Spec.LoadBalancerIP + fmt.Sprint(svc.Annotations)
			for _, secret := range []string{"shop", "bank", "vault", server.ID, theirs.ID, theirs.VIP.PortID, theirs.VIP.Address, address, theirs.Name, "lb-" + theirs.ID} {
				if strings.Contains(err.Error(), secret) && !strings.Contains(given, secret) {
					t.Errorf("the error tells of %q: %v", secret, err)
				}
			}
		})
	}
}

// Two networks of a project often have the same range: clusters are made from one
// template.
func TestVIP_MayHaveAddressUsedInOtherNetwork(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(2)
	network := env.Cloud.Neutron.AddNetwork(neutron.NetworkSpec{ProjectID: env.Cloud.Account.ProjectID, Name: "theirs"})
	subnet, err := env.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{ProjectID: env.Cloud.Account.ProjectID, NetworkID: network.ID, CIDR: env.Cloud.Subnet.CIDR})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := env.Cloud.Neutron.CreatePort(neutron.PortSpec{ProjectID: env.Cloud.Account.ProjectID, SubnetID: subnet.ID, Address: "127.100.5.5"}); err != nil {
		t.Fatal(err)
	}
	svc := service("web", 1)
	svc.Annotations[annotation.Internal], svc.Spec.LoadBalancerIP = "true", "127.100.5.5"
	env.ensure(svc, nodes)
	if got := env.loadBalancer().VIP.Address; got != "127.100.5.5" {
		t.Errorf("the VIP is %s", got)
	}
	second := service("second", 1)
	second.Annotations[annotation.Internal], second.Spec.LoadBalancerIP = "true", "127.100.5.5"
	env.refused(second, nodes, "spec.loadBalancerIP: 127.100.5.5 is in use in the subnet of the VIP")
}

func TestOwnership_LeavesLoadBalancerInNetworkOfSameRangeAlone(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, theirs := env.nodes(2), service("web", 1)
	theirLB := env.inherit(peers("production", theirs), theirs, nodes)
	network := env.Cloud.Neutron.AddNetwork(neutron.NetworkSpec{ProjectID: env.Cloud.Account.ProjectID, Name: "other"})
	subnet, err := env.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{ProjectID: env.Cloud.Account.ProjectID, NetworkID: network.ID, CIDR: env.Cloud.Subnet.CIDR})
	if err != nil {
		t.Fatal(err)
	}
	ours := service("web", 1)
	ours.UID = "uid-of-evil"
	annotate(annotation.Internal, "true", annotation.SubnetID, subnet.ID, annotation.VIPAddress, theirLB.VIP.Address)(ours)
	env.ensure(ours, nodes)
	if got := ours.Status.LoadBalancer.Ingress[0].IP; got != theirLB.VIP.Address {
		t.Fatalf("published %s, want the same address as theirs, %s", got, theirLB.VIP.Address)
	}
	env.restart()
	env.delete(ours)
	if left := env.loadBalancer(); left.ID != theirLB.ID {
		t.Errorf("left is %s, want theirs, %s", left.ID, theirLB.ID)
	}
	env.floatingIPs(1)
}

// allAnnotations returns a cloud.conf that permits all annotations.
func allAnnotations() map[string]string { return map[string]string{"deny-annotations": ""} }

func TestCloudConf_DeniesAnnotations(t *testing.T) {
	t.Parallel()
	id := "5b8e7a55-2b1c-4d0c-93b5-1d4a3c1f0a77"
	for name, c := range map[string]struct {
		keys       map[string]string
		annotation string
		value      func(*environment) string
	}{
		"a floating IP, by default":           {nil, annotation.FloatingIPID, func(*environment) string { return id }},
		"a floating IP by tag, by default":    {nil, annotation.FloatingIPTag, func(*environment) string { return "web" }},
		"security groups, by default":         {nil, annotation.VIPSecurityGroups, func(*environment) string { return id }},
		"no QoS policy, by default":           {nil, annotation.VIPQoSPolicyID, func(*environment) string { return "none" }},
		"a certificate, where it is denied":   {map[string]string{"deny-annotations": "default-tls-container-ref"}, annotation.TLSContainer, (*environment).certificate},
		"a reserved port, where it is denied": {map[string]string{"deny-annotations": "hostname, port-id"}, annotation.PortID, func(env *environment) string { return env.port("127.100.1.200", "").ID }},
		"by its whole name":                   {map[string]string{"deny-annotations": annotation.Internal}, annotation.Internal, func(*environment) string { return "true" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: c.keys})
			nodes, svc := env.nodes(1), in("evil", service("a", 1))
			svc.Annotations[c.annotation] = c.value(env)
			env.refusedBeforeAnything(svc, nodes, annotation.Path(c.annotation).String(), "deny-annotations of cloud.conf", svc.Annotations[c.annotation])
			delete(svc.Annotations, c.annotation)
			env.ensure(svc, nodes)
		})
	}
}

// Services may refer to the same objects as with cloud-provider-openstack, unless the operator
// denies it.
func TestCloudConf_AllowsCertificateAndReservedPortByDefault(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), in("evil", service("a", 1))
	reserved := env.port("127.100.1.200", "")
	annotate(annotation.TLSContainer, env.certificate(), annotation.PortID, reserved.ID)(svc)
	env.ensure(svc, nodes)
	if lb := env.loadBalancer(); lb.VIP.PortID != reserved.ID || lb.Listeners[0].Protocol != "TERMINATED_HTTPS" {
		t.Errorf("VIP %+v, listener of %s", lb.VIP, lb.Listeners[0].Protocol)
	}
}

func TestCloudConf_LetsClassSetWhatServicesMayNot(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	env.Conf.LoadBalancerClass = map[string]*config.LoadBalancerClass{"limited": {VIPQoSPolicyID: policyA}}
	env.restart()
	nodes, svc := env.nodes(1), in("evil", service("a", 1))
	svc.Annotations[annotation.Class] = "limited"
	env.ensure(svc, nodes)
	if got := env.loadBalancer().VIP.QoSPolicyID; got != policyA {
		t.Errorf("the QoS policy is %q, want that of the class", got)
	}
}

func TestNew_FailsWhenDeniedAnnotationDoesNotExist(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	env.Conf.LoadBalancer.DenyAnnotations = "vip-sgids"
	_, err := loadbalancer.New(loadbalancer.Options{Config: env.Conf})
	if err == nil || !strings.Contains(err.Error(), `[LoadBalancer] deny-annotations: "vip-sgids" is not an annotation of Services: did you mean "vip-sg-ids"?`) {
		t.Errorf("got %v", err)
	}
}

func TestCloudConf_LimitsPortsAndSourceRangesOfService(t *testing.T) {
	t.Parallel()
	ranges := func(n int) func(*v1.Service) {
		return func(svc *v1.Service) {
			svc.Spec.LoadBalancerSourceRanges = nil
			for i := range n {
				svc.Spec.LoadBalancerSourceRanges = append(svc.Spec.LoadBalancerSourceRanges, fmt.Sprintf("10.0.%d.0/24", i))
			}
		}
	}
	ports := func(n int) func(*v1.Service) {
		return func(svc *v1.Service) { svc.Spec.Ports = service("", n).Spec.Ports }
	}
	for name, c := range map[string]struct {
		keys  map[string]string
		limit string
		give  func(n int) func(*v1.Service)
		path  string
	}{
		"source ranges": {nil, "max-source-ranges", ranges, "spec.loadBalancerSourceRanges"},
		"source ranges that rules of the nodes' security groups keep": {managed("shared", "lb-provider", "ovn"), "max-source-ranges", ranges,
			"spec.loadBalancerSourceRanges"},
		"ports": {nil, "max-ports", ports, "spec.ports"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: c.keys})
			nodes, svc := env.nodes(2), in("evil", service("a", 1))
			limit := func(n uint) {
				lb := &env.Conf.LoadBalancer
				*map[string]*uint{"max-ports": &lb.MaxPorts, "max-source-ranges": &lb.MaxSourceRanges}[c.limit] = n
				env.restart()
			}
			limit(3)
			c.give(4)(svc)
			env.refusedBeforeAnything(svc, nodes, c.path, ": 4:", "3", c.limit+" of cloud.conf")
			limit(4)
			env.ensure(svc, nodes)
			limit(3)
			env.ensure(svc, append(nodes, env.node(7))) // it stays, and follows the nodes
			c.give(5)(svc)
			env.refused(svc, nodes, c.limit+" of cloud.conf")
			c.give(3)(svc)
			env.ensure(svc, nodes)
			limit(0)
			c.give(9)(svc)
			env.ensure(svc, nodes)
		})
	}
}

func TestCloudConf_LimitsLoadBalancersOfNamespace(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"max-services-per-namespace": "2"}})
	nodes := env.nodes(1)
	a, b, c := in("evil", service("a", 1)), in("evil", service("b", 1)), in("evil", service("c", 1))
	env.ensure(a, nodes)
	env.ensure(b, nodes)
	env.Cloud.RequestLog.Reset()
	env.refused(c, nodes, "namespace evil has 2 Services with load balancers, which is max-services-per-namespace of cloud.conf")
	env.writes(0)
	env.ensure(in("bank", service("shop", 1)), nodes)
	env.restart()
	env.ensure(a, nodes)
	env.ensure(b, append(nodes, env.node(7)))
	env.refused(c, nodes, "max-services-per-namespace")
	env.delete(a)
	env.ensure(c, nodes)
	env.loadBalancers(3)
}
