package loadbalancer_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// What somebody can do to others who may write the Services of one namespace, and
// nothing else.

// in puts a Service into a namespace.
func in(namespace string, svc *v1.Service) *v1.Service {
	svc.Namespace, svc.UID = namespace, types.UID("uid-of-"+namespace+"-"+svc.Name)
	return svc
}

// refusedBeforeAnything fails unless the Service is refused for a field or annotation,
// and nothing is written for it.
func (w *world) refusedBeforeAnything(svc *v1.Service, nodes []*v1.Node, path string, words ...string) {
	w.t.Helper()
	w.cloud.Books.Reset()
	_, err := w.engine.Ensure(w.ctx, svc, nodes)
	if err == nil || !strings.HasPrefix(err.Error(), path+":") {
		w.t.Fatalf("Ensure: got error %v, want one of %s", err, path)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.t.Errorf("error %q says nothing of %q", err, word)
		}
	}
	w.writes(0)
}

func TestAMonitorOpensNoPortOfTheNodesThatIsNotTheServices(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"shared", "per-service"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			nodes, svc := w.nodes(3), in("evil", service("a", 1))
			annotate(annotation.Monitor, "true", annotation.MonitorPort, "10250", annotation.MonitorPath, "/anything")(svc)
			w.refusedBeforeAnything(svc, nodes, annotation.Path(annotation.MonitorPort).String(), "10250", "monitor-ports")
			if groups := w.groups(); len(groups) > 0 {
				t.Errorf("the nodes are opened by %v", groups)
			}
			svc.Annotations[annotation.MonitorPort] = "30080"
			w.ensure(svc, nodes)
			for _, rule := range rulesOf(w.group()) {
				if strings.Contains(rule, "10250") {
					t.Errorf("the nodes are opened by %s", rule)
				}
			}
		})
	}
}

// toldNow gives the events since the last time.
func (w *world) toldNow() []string {
	var all []string
	for {
		select {
		case event := <-w.events.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}

func TestAnErrorOfThousandsOfSourceRangesIsShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), in("evil", service("a", 1))
	for i := range 30000 {
		svc.Spec.LoadBalancerSourceRanges = append(svc.Spec.LoadBalancerSourceRanges, fmt.Sprintf("2001:db8:%x::/48", i))
	}
	w.refusedBeforeAnything(svc, nodes, "spec.loadBalancerSourceRanges[0]", "2001:db8:0::/48", "spec.loadBalancerSourceRanges[5]", "more")
	_, err := w.engine.Ensure(w.ctx, svc, nodes)
	if text := err.Error(); len(text) > message.MaxError {
		t.Errorf("an error of %d bytes", len(text))
	}
}

func TestAThousandUnknownAnnotationsAreToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), in("evil", service("a", 1))
	for i := range 900 {
		svc.Annotations[fmt.Sprintf("loadbalancer.openstack.org/x%03d", i)] = ""
	}
	ignored := func() []string {
		var all []string
		for _, event := range w.toldNow() {
			if strings.Contains(event, "there is no such annotation") {
				all = append(all, event)
			}
		}
		return all
	}
	w.ensure(svc, nodes)
	if told := ignored(); len(told) != 1 || !strings.Contains(told[0], "x000: there is") || !strings.HasSuffix(told[0], "and 890 more") {
		t.Errorf("told at first: %q", told)
	}
	w.ensure(svc, nodes)
	if told := ignored(); len(told) != 0 {
		t.Errorf("told again though nothing changed: %q", told)
	}
	delete(svc.Annotations, "loadbalancer.openstack.org/x000")
	w.ensure(svc, nodes)
	if told := ignored(); len(told) != 1 || strings.Contains(told[0], "x000") {
		t.Errorf("told after a change: %q", told)
	}
}

// What somebody may know who named it in his Service stays in the error; what he may
// not is whose it is, and what else is there.
func TestARefusalTellsNothingOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"max-shared-lb": "1"}})
	nodes, shop := w.nodes(2), in("bank", service("shop", 1))
	address := w.ensure(shop, nodes).Ingress[0].IP
	theirs := w.loadBalancer()
	server, err := w.cloud.AddServer("vault", "127.100.1.99")
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
			_, err := w.engine.Ensure(w.ctx, svc, nodes)
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
func TestAnAddressOfAnotherNetworkIsNotInTheWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes := w.nodes(2)
	network := w.cloud.Neutron.AddNetwork(neutron.NetworkSpec{ProjectID: w.cloud.Account.ProjectID, Name: "theirs"})
	subnet, err := w.cloud.Neutron.AddSubnet(neutron.SubnetSpec{ProjectID: w.cloud.Account.ProjectID, NetworkID: network.ID, CIDR: w.cloud.Subnet.CIDR})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.cloud.Neutron.CreatePort(neutron.PortSpec{ProjectID: w.cloud.Account.ProjectID, SubnetID: subnet.ID, Address: "127.100.5.5"}); err != nil {
		t.Fatal(err)
	}
	svc := service("web", 1)
	svc.Annotations[annotation.Internal], svc.Spec.LoadBalancerIP = "true", "127.100.5.5"
	w.ensure(svc, nodes)
	if got := w.loadBalancer().VIP.Address; got != "127.100.5.5" {
		t.Errorf("the VIP is %s", got)
	}
	second := service("second", 1)
	second.Annotations[annotation.Internal], second.Spec.LoadBalancerIP = "true", "127.100.5.5"
	w.refused(second, nodes, "spec.loadBalancerIP: 127.100.5.5 is in use in the subnet of the VIP")
}

func TestALoadBalancerInAnotherNetworkOfTheSameRangeIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, theirs := w.nodes(2), service("web", 1)
	theirLB := w.inherit(peers("production", theirs), theirs, nodes)
	network := w.cloud.Neutron.AddNetwork(neutron.NetworkSpec{ProjectID: w.cloud.Account.ProjectID, Name: "other"})
	subnet, err := w.cloud.Neutron.AddSubnet(neutron.SubnetSpec{ProjectID: w.cloud.Account.ProjectID, NetworkID: network.ID, CIDR: w.cloud.Subnet.CIDR})
	if err != nil {
		t.Fatal(err)
	}
	ours := service("web", 1)
	ours.UID = "uid-of-evil"
	annotate(annotation.Internal, "true", annotation.SubnetID, subnet.ID, annotation.VIPAddress, theirLB.VIP.Address)(ours)
	w.ensure(ours, nodes)
	if got := ours.Status.LoadBalancer.Ingress[0].IP; got != theirLB.VIP.Address {
		t.Fatalf("published %s, want the same address as theirs, %s", got, theirLB.VIP.Address)
	}
	w.restart()
	w.delete(ours)
	if left := w.loadBalancer(); left.ID != theirLB.ID {
		t.Errorf("left is %s, want theirs, %s", left.ID, theirLB.ID)
	}
	w.floatingIPs(1)
}

// allAnnotations is a cloud.conf that lets Services use all annotations.
func allAnnotations() map[string]string { return map[string]string{"deny-annotations": ""} }

func TestAnAnnotationThatCloudConfDeniesIsRefused(t *testing.T) {
	t.Parallel()
	id := "5b8e7a55-2b1c-4d0c-93b5-1d4a3c1f0a77"
	for name, c := range map[string]struct {
		keys       map[string]string
		annotation string
		value      func(*world) string
	}{
		"a floating IP, by default":           {nil, annotation.FloatingIPID, func(*world) string { return id }},
		"a floating IP by tag, by default":    {nil, annotation.FloatingIPTag, func(*world) string { return "web" }},
		"security groups, by default":         {nil, annotation.VIPSecurityGroups, func(*world) string { return id }},
		"no QoS policy, by default":           {nil, annotation.VIPQoSPolicyID, func(*world) string { return "none" }},
		"a certificate, where it is denied":   {map[string]string{"deny-annotations": "default-tls-container-ref"}, annotation.TLSContainer, (*world).certificate},
		"a reserved port, where it is denied": {map[string]string{"deny-annotations": "hostname, port-id"}, annotation.PortID, func(w *world) string { return w.port("127.100.1.200", "").ID }},
		"by its whole name":                   {map[string]string{"deny-annotations": annotation.Internal}, annotation.Internal, func(*world) string { return "true" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: c.keys})
			nodes, svc := w.nodes(1), in("evil", service("a", 1))
			svc.Annotations[c.annotation] = c.value(w)
			w.refusedBeforeAnything(svc, nodes, annotation.Path(c.annotation).String(), "deny-annotations of cloud.conf", svc.Annotations[c.annotation])
			delete(svc.Annotations, c.annotation)
			w.ensure(svc, nodes)
		})
	}
}

// What cloud-provider-openstack lets Services name they may name here, unless the
// operator denies it.
func TestACertificateAndAReservedPortAreForAnyServiceByDefault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), in("evil", service("a", 1))
	reserved := w.port("127.100.1.200", "")
	annotate(annotation.TLSContainer, w.certificate(), annotation.PortID, reserved.ID)(svc)
	w.ensure(svc, nodes)
	if lb := w.loadBalancer(); lb.VIP.PortID != reserved.ID || lb.Listeners[0].Protocol != "TERMINATED_HTTPS" {
		t.Errorf("VIP %+v, listener of %s", lb.VIP, lb.Listeners[0].Protocol)
	}
}

func TestAClassSetsWhatServicesMayNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	w.conf.LoadBalancerClass = map[string]*config.LoadBalancerClass{"limited": {VIPQoSPolicyID: policyA}}
	w.restart()
	nodes, svc := w.nodes(1), in("evil", service("a", 1))
	svc.Annotations[annotation.Class] = "limited"
	w.ensure(svc, nodes)
	if got := w.loadBalancer().VIP.QoSPolicyID; got != policyA {
		t.Errorf("the QoS policy is %q, want that of the class", got)
	}
}

func TestADeniedAnnotationThatThereIsNotEndsTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	w.conf.LoadBalancer.DenyAnnotations = "vip-sgids"
	_, err := loadbalancer.New(loadbalancer.Options{Config: &w.conf})
	if err == nil || !strings.Contains(err.Error(), `[LoadBalancer] deny-annotations: "vip-sgids" is not an annotation of Services: did you mean "vip-sg-ids"?`) {
		t.Errorf("got %v", err)
	}
}

func TestMoreThanCloudConfAllowsOneServiceIsRefused(t *testing.T) {
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
			w := newWorld(t, worldOptions{keys: c.keys})
			nodes, svc := w.nodes(2), in("evil", service("a", 1))
			limit := func(n uint) {
				lb := &w.conf.LoadBalancer
				*map[string]*uint{"max-ports": &lb.MaxPorts, "max-source-ranges": &lb.MaxSourceRanges}[c.limit] = n
				w.restart()
			}
			limit(3)
			c.give(4)(svc)
			w.refusedBeforeAnything(svc, nodes, c.path, ": 4:", "3", c.limit+" of cloud.conf")
			limit(4)
			w.ensure(svc, nodes)
			limit(3)
			w.ensure(svc, append(nodes, w.node(7))) // it stays, and follows the nodes
			c.give(5)(svc)
			w.refused(svc, nodes, c.limit+" of cloud.conf")
			c.give(3)(svc)
			w.ensure(svc, nodes)
			limit(0)
			c.give(9)(svc)
			w.ensure(svc, nodes)
		})
	}
}

func TestANamespaceGetsNoMoreLoadBalancersThanCloudConfAllows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"max-services-per-namespace": "2"}})
	nodes := w.nodes(1)
	a, b, c := in("evil", service("a", 1)), in("evil", service("b", 1)), in("evil", service("c", 1))
	w.ensure(a, nodes)
	w.ensure(b, nodes)
	w.cloud.Books.Reset()
	w.refused(c, nodes, "namespace evil has 2 Services with load balancers, which is max-services-per-namespace of cloud.conf")
	w.writes(0)
	w.ensure(in("bank", service("shop", 1)), nodes)
	w.restart()
	w.ensure(a, nodes)
	w.ensure(b, append(nodes, w.node(7)))
	w.refused(c, nodes, "max-services-per-namespace")
	w.delete(a)
	w.ensure(c, nodes)
	w.loadBalancers(3)
}
