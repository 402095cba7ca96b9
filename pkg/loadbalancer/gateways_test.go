package loadbalancer_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/resync"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath/attach"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// gateways are the sections of docs/gateways.md. The Services and EndpointSlices of each program are in
// testdata/gateways.
func gateways() []string {
	return []string{"Envoy Gateway", "Cilium", "Istio", "NGINX Gateway Fabric", "Traefik", "ingress-nginx", "HAProxy"}
}

// The Services of gateways and ingress controllers, with the annotations of docs/gateways.md, get an address
// and carry traffic, without a Warning, and a restart writes nothing.
//
//proves:144
func TestGateways_AreServed(t *testing.T) {
	t.Parallel()
	for _, program := range gateways() {
		for _, provider := range []string{"amphora", "ovn"} {
			t.Run(program+" on "+provider, func(t *testing.T) {
				t.Parallel()
				services, endpoints := gatewayObjects(t, program)
				recipes := gatewayAnnotations(t, program)
				if len(services) != 2 || len(recipes) != 2 {
					t.Fatalf("%d Services and the annotations of %d, want an external and an internal one", len(services), len(recipes))
				}
				s := newGatewaySite(t, provider)
				for i, internal := range []bool{false, true} {
					svc := services[i]
					metav1.SetMetaDataAnnotation(&svc.ObjectMeta, "example.org/owner", program)
					maps.Copy(svc.Annotations, recipes[internal])
					if provider == "ovn" { // as the page recommends
						maps.DeleteFunc(svc.Annotations, func(name, _ string) bool { return strings.HasPrefix(name, annotation.ProxyProtocol) })
					}
					s.serve(svc, endpoints[svc.Name], internal)
				}
			})
		}
	}
}

// gatewayObjects returns the Services of a program, with the fields that Kubernetes adds, and their
// EndpointSlices by the name of the Service. Those of Services with a selector are at node-0 and node-1.
func gatewayObjects(t *testing.T, program string) (services []*v1.Service, endpoints map[string][]discovery.EndpointSlice) {
	t.Helper()
	file := "testdata/gateways/" + strings.ReplaceAll(strings.ToLower(program), " ", "-") + ".yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	endpoints = map[string][]discovery.EndpointSlice{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		if strings.Contains(document, "kind: EndpointSlice") {
			var slice discovery.EndpointSlice
			if err := yaml.UnmarshalStrict([]byte(document), &slice); err != nil {
				t.Fatal(err)
			}
			of := slice.Labels[discovery.LabelServiceName]
			endpoints[of] = append(endpoints[of], slice)
			continue
		}
		svc := &v1.Service{}
		if err := yaml.UnmarshalStrict([]byte(document), svc); err != nil {
			t.Fatal(err)
		}
		asAdmitted(svc, len(services))
		if services = append(services, svc); svc.Spec.Selector != nil {
			endpoints[svc.Name] = append(endpoints[svc.Name], sliceOf(svc))
		}
	}
	return services, endpoints
}

// asAdmitted sets the fields that the API server and the service controller set. Ports below 1024 become
// others, because a test may not listen there: those with one number stay together.
func asAdmitted(svc *v1.Service, index int) {
	svc.UID, svc.Finalizers = types.UID("uid-of-"+svc.Name), []string{"service.kubernetes.io/load-balancer-cleanup"}
	spec := &svc.Spec
	spec.ExternalTrafficPolicy = cmp.Or(spec.ExternalTrafficPolicy, v1.ServiceExternalTrafficPolicyCluster)
	spec.SessionAffinity, spec.AllocateLoadBalancerNodePorts = v1.ServiceAffinityNone, ptr.To(true)
	spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol}
	spec.IPFamilyPolicy = cmp.Or(spec.IPFamilyPolicy, ptr.To(v1.IPFamilyPolicySingleStack))
	if spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
		spec.HealthCheckNodePort = int32(30990 + index)
	}
	numbers := map[int32]int32{}
	for i := range spec.Ports {
		port := &spec.Ports[i]
		if numbers[port.Port] == 0 {
			numbers[port.Port] = loopback.Port + int32(len(numbers))
		}
		port.Port, port.NodePort = numbers[port.Port], int32(30900+10*index+i)
	}
}

// sliceOf returns the EndpointSlice of a Service with a pod on node-0 and one on node-1.
func sliceOf(svc *v1.Service) discovery.EndpointSlice {
	slice := discovery.EndpointSlice{AddressType: discovery.AddressTypeIPv4}
	for _, port := range svc.Spec.Ports {
		slice.Ports = append(slice.Ports, discovery.EndpointPort{Name: ptr.To(port.Name), Protocol: ptr.To(port.Protocol), Port: ptr.To(int32(8000))})
	}
	for i, node := range []string{"node-0", "node-1"} {
		slice.Endpoints = append(slice.Endpoints, discovery.Endpoint{
			Addresses: []string{fmt.Sprintf("10.244.%d.11", i)}, NodeName: &node,
			Conditions: discovery.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)},
		})
	}
	return slice
}

var fencedYAML = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// gatewayAnnotations returns the annotations of the external Service and of the internal one in a section of
// docs/gateways.md.
func gatewayAnnotations(t *testing.T, section string) map[bool]map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/gateways.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	found := map[bool]map[string]string{}
	for _, block := range fencedYAML.FindAllStringSubmatch(text, -1) {
		for document := range strings.SplitSeq(block[1], "\n---\n") {
			var object map[string]any
			if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
				t.Fatalf("%s: %v", section, err)
			}
			addAnnotations(found, object)
		}
	}
	return found
}

// addAnnotations adds the values of all keys "annotations" below an object.
func addAnnotations(found map[bool]map[string]string, object map[string]any) {
	for key, value := range object {
		below, is := value.(map[string]any)
		switch {
		case is && key == "annotations":
			all := map[string]string{}
			for name, text := range below {
				all[name] = fmt.Sprint(text)
			}
			found[all[annotation.Internal] == "true"] = all
		case is:
			addAnnotations(found, below)
		}
	}
}

// gatewaySite is a cloud with a data path and three nodes.
type gatewaySite struct {
	*environment
	provider  string
	endpoints *fakeEndpoints
	nodes     []*v1.Node
}

func newGatewaySite(t *testing.T, provider string) *gatewaySite {
	t.Helper()
	block := loopback.Block(t)
	s := &gatewaySite{provider: provider, endpoints: &fakeEndpoints{}}
	s.environment = newEnvironment(t, environmentOptions{
		keys: map[string]string{"lb-provider": provider}, endpoints: s.endpoints,
		simulator: simulator.Options{Release: "2025.1", Topology: simulator.Topology{
			CIDR: fmt.Sprintf("127.232.%d.0/24", block), ExternalCIDR: fmt.Sprintf("127.233.%d.0/24", block),
		}},
	})
	plane := attach.Start(s.Cloud.Octavia, s.Cloud.Neutron, datapath.Options{TimeScale: 0.01})
	t.Cleanup(plane.Close)
	for i := range 3 {
		s.nodes = append(s.nodes, s.nodeAt(fmt.Sprintf("node-%d", i), fmt.Sprintf("127.232.%d.%d", block, 201+i)))
	}
	return s
}

// serve creates the load balancer of a Service, judges it, and deletes it.
func (s *gatewaySite) serve(svc *v1.Service, endpoints []discovery.EndpointSlice, internal bool) {
	s.T.Helper()
	s.endpoints.set(resync.Endpoints(endpoints))
	everywhere := svc.Spec.Selector == nil // the program answers on each node
	local := svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal
	open, members := s.nodes, "0 1 2"
	if local && !everywhere {
		open = s.nodes[:2]
	}
	if s.provider == "ovn" {
		members = strings.Join([]string{"0", "1", "2"}[:len(open)], " ")
	}
	s.openNodePorts(svc, open)

	s.Cloud.RequestLog.Reset()
	address := s.ensure(svc, s.nodes).Ingress[0].IP
	writes, network := 2, "127.233." // the load balancer and its floating IP
	if internal {
		writes, network = 1, "127.232."
	}
	s.writes(writes)
	if !strings.HasPrefix(address, network) {
		s.T.Fatalf("%s has the address %s", svc.Name, address)
	}
	if want := strings.TrimSuffix(strings.Repeat(members+"; ", len(svc.Spec.Ports)), "; "); s.onNodes() != want {
		s.T.Fatalf("the members of %s are nodes %s, want %s", svc.Name, s.onNodes(), want)
	}
	for _, port := range svc.Spec.Ports {
		await.Eventually(s.T, fmt.Sprintf("traffic to %s of %s", port.Name, svc.Name), func(context.Context) error {
			return carries(net.JoinHostPort(address, itoa(int(port.Port))), port.Protocol, proxied(svc, port))
		})
	}
	s.healthy(len(open))
	if emitted := s.emitted(); strings.Contains(emitted, "Warning") {
		s.T.Errorf("events of %s:\n%s", svc.Name, emitted)
	}
	s.unchanged(svc, s.nodes)
	s.delete(svc)
	s.loadBalancers(0)
}

// healthy waits until the health monitors, if there are some, find so many members of each pool online.
func (s *gatewaySite) healthy(want int) {
	s.T.Helper()
	await.Eventually(s.T, "health monitors", func(context.Context) error {
		for _, pool := range s.loadBalancer().Pools {
			online := 0
			for _, m := range pool.Members {
				if m.OperatingStatus == simoctavia.Online {
					online++
				}
			}
			if pool.Monitor != nil && online != want {
				return fmt.Errorf("%d members of %s are online, want %d", online, pool.Name, want)
			}
		}
		return nil
	})
}

// proxied reports whether connections to a port of a gateway begin with a PROXY header.
func proxied(svc *v1.Service, port v1.ServicePort) bool {
	return svc.Annotations[annotation.ProxyProtocol] != "" && svc.Annotations[annotation.ProxyProtocol+"."+port.Name] != "false"
}

// carries sends a request or a datagram. Ports of TCP are reached with a PROXY header or without one.
func carries(at string, protocol v1.Protocol, proxied bool) error {
	if protocol == v1.ProtocolUDP {
		return echoes(at)
	}
	got, err := ask(at, false)
	if err != nil {
		return err
	}
	want := "plain\n"
	if proxied {
		want = "PROXY 2 of 127.0.0.1\n"
	}
	if !strings.HasPrefix(got, want) {
		return fmt.Errorf("the gateway saw %q, want %q", got, want)
	}
	return nil
}

func echoes(at string) error {
	client, err := net.DialTimeout("udp", at, 2*time.Second)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	if _, err := client.Write([]byte("echo")); err != nil {
		return err
	}
	answer := make([]byte, 16)
	n, err := client.Read(answer)
	if err == nil && string(answer[:n]) != "echo" {
		err = fmt.Errorf("the answer is %q", answer[:n])
	}
	return err
}

// openNodePorts listens at the NodePorts of a Service on some nodes, and at its health check port on all, as
// kube-proxy does.
func (s *gatewaySite) openNodePorts(svc *v1.Service, open []*v1.Node) {
	s.T.Helper()
	for _, node := range s.nodes {
		address, serves := node.Status.Addresses[0].Address, slices.Contains(open, node)
		if port := svc.Spec.HealthCheckNodePort; port != 0 {
			s.serveHealth(net.JoinHostPort(address, itoa(int(port))), serves)
		}
		for _, port := range svc.Spec.Ports {
			at := net.JoinHostPort(address, itoa(int(port.NodePort)))
			switch {
			case !serves:
			case port.Protocol == v1.ProtocolUDP:
				s.serveEchoes(at)
			default:
				serveHTTP(s.T, at)
			}
		}
	}
}

func (s *gatewaySite) serveHealth(at string, endpoints bool) {
	s.T.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		s.T.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !endpoints {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	s.T.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
}

func (s *gatewaySite) serveEchoes(at string) {
	s.T.Helper()
	socket, err := net.ListenPacket("udp", at)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { _ = socket.Close() })
	go func() {
		datagram := make([]byte, 1500)
		for {
			n, client, err := socket.ReadFrom(datagram)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo(datagram[:n], client)
		}
	}()
}
