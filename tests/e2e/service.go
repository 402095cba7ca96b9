package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
)

// scene is one scenario at work: an environment and a namespace of Kubernetes of its own.
type scene struct {
	*testing.T
	*Environment
	namespace string
	patience  Patience
	// carrier is the provider of the Services. Their traffic is judged if it carries any.
	carrier string
}

// carries reports whether the Services carry traffic of a protocol.
func (s *scene) carries(protocol corev1.Protocol) bool { return s.Cloud.Traffic(s.carrier, protocol) }

// service is a Service of the scene. It can be spoken to by name.
type service struct {
	*scene
	name string
}

// eventually fails the test when check does not come true with patience.
func (s *scene) eventually(what string, check func(context.Context) error) {
	s.Helper()
	ctx, cancel := s.patient(s.Context(), s.patience)
	defer cancel()
	if err := s.await(ctx, check); err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// port is a port of a Service.
func port(protocol corev1.Protocol, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: strings.ToLower(fmt.Sprintf("%s-%d", protocol, number)), Protocol: protocol, Port: number}
}

// create makes a Service, after change has had a look at it, and pods on the nodes.
func (s *scene) create(name string, change func(*corev1.Service), nodes ...string) *service {
	s.Helper()
	created, err := s.add(s.Context(), name, change, nodes...)
	s.must(err)
	return created
}

// add is create for those who do not run the test: several goroutines at once.
func (s *scene) add(ctx context.Context, name string, change func(*corev1.Service), nodes ...string) (*service, error) {
	object := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{port(corev1.ProtocolTCP, 8080)}},
	}
	if change != nil {
		change(object)
	}
	made, err := s.Client().CoreV1().Services(s.namespace).Create(ctx, object, metav1.CreateOptions{})
	if err == nil && len(nodes) > 0 {
		err = s.SetPods(ctx, made, nodes)
	}
	if err != nil {
		return nil, err
	}
	return &service{s, made.Name}, nil
}

// get reads the Service.
func (s *service) get() *corev1.Service {
	s.Helper()
	object, err := s.Client().CoreV1().Services(s.namespace).Get(s.Context(), s.name, metav1.GetOptions{})
	s.must(err)
	return object
}

// pods puts one pod on each of these nodes, and on no other.
func (s *service) pods(nodes ...string) {
	s.Helper()
	s.must(s.SetPods(s.Context(), s.get(), nodes))
}

// change changes the Service, and leaves the slice of its pods as it is.
func (s *service) change(change func(*corev1.Service)) {
	s.Helper()
	s.eventually("change of "+s.name, func(ctx context.Context) error {
		object := s.get()
		change(object)
		_, err := s.Client().CoreV1().Services(s.namespace).Update(ctx, object, metav1.UpdateOptions{})
		return err
	})
}

// annotate sets an annotation; an empty value takes it away.
func (s *service) annotate(key, value string) {
	s.Helper()
	var set any = value
	if value == "" {
		set = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: set}}})
	s.must(err)
	_, err = s.Client().CoreV1().Services(s.namespace).Patch(s.Context(), s.name, types.MergePatchType, patch, metav1.PatchOptions{})
	s.must(err)
}

// address waits for the published address.
func (s *service) address() (address string) {
	s.Helper()
	s.eventually("address of "+s.name, func(ctx context.Context) (err error) {
		address, err = cluster.ExternalIP(ctx, s.Client(), s.namespace, s.name)
		return err
	})
	return address
}

// loadBalancer waits until there is exactly one, and it is ACTIVE.
func (s *service) loadBalancer() (lb loadbalancers.LoadBalancer) {
	s.Helper()
	s.eventually("load balancer of "+s.name, func(ctx context.Context) error {
		all, err := s.Cloud.API().LoadBalancers(ctx, "_"+s.namespace+"_"+s.name)
		if err != nil {
			return err
		}
		if len(all) != 1 {
			return fmt.Errorf("there are %d", len(all))
		}
		lb = all[0]
		if lb.ProvisioningStatus != "ACTIVE" {
			return fmt.Errorf("it is %s", lb.ProvisioningStatus)
		}
		return nil
	})
	return lb
}

// remove deletes the Service and waits for its end.
func (s *service) remove() {
	s.Helper()
	s.must(s.Client().CoreV1().Services(s.namespace).Delete(s.Context(), s.name, metav1.DeleteOptions{}))
	s.eventually("end of "+s.name, func(ctx context.Context) error { return cluster.Gone(ctx, s.Client(), s.namespace, s.name) })
}

// nothingLeft judges that the cloud has nothing of this scene any more.
func (s *scene) nothingLeft() {
	s.Helper()
	s.eventually("leftovers", func(ctx context.Context) error {
		left, err := s.Cloud.API().Leftovers(ctx, s.namespace)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("left in the cloud: %s", strings.Join(left, ", "))
		}
		return err
	})
}

// answeredBy waits until all requests to an address are answered, by exactly these
// nodes. Where the cloud carries no traffic there is nothing to be seen.
func (s *scene) answeredBy(client cluster.Client, address string, nodes ...string) {
	s.Helper()
	if !s.carries(corev1.ProtocolTCP) {
		return
	}
	s.eventually(fmt.Sprintf("answers at %s of %v alone", address, nodes), func(ctx context.Context) error {
		answers, err := client.Answers(ctx, address, 8*len(nodes)+2)
		if have := slices.Sorted(maps.Keys(answers)); err == nil && !slices.Equal(have, nodes) {
			err = fmt.Errorf("%v answered", answers)
		}
		return err
	})
}

// answersUDP waits until a datagram to an address is answered.
func (s *scene) answersUDP(client cluster.Client, address string) {
	s.Helper()
	if !s.carries(corev1.ProtocolUDP) {
		return
	}
	s.eventually("answer over UDP at "+address, func(ctx context.Context) error {
		_, err := client.UDP(ctx, address)
		return err
	})
}

// unharmed sends requests to an address until stop is called; none may fail. If the cloud carries
// no traffic, it sends none.
func (s *scene) unharmed(client cluster.Client, address string) (stop func()) {
	s.Helper()
	if !s.carries(corev1.ProtocolTCP) {
		return func() {}
	}
	hammer := withPorts(client).Hammer(s.Context(), address)
	return func() {
		s.Helper()
		hammer.Stop()
		s.Logf("%d requests, %d failed", hammer.Requests(), len(hammer.Failures))
		if len(hammer.Failures) > 0 {
			s.Errorf("%d of %d requests failed: %v", len(hammer.Failures), hammer.Requests(), hammer.Failures)
		}
	}
}

// healthy waits until, according to the health check node ports, only this node has pods. If nodes
// do not answer, it checks nothing. No request to the node ports themselves may come from the host
// of the load balancer: a client's connections to one backend from one port, once with and once
// without NAT, end Open vSwitch 3.1 in user space.
func (s *service) healthy(name string) {
	s.Helper()
	if s.elsewhere.Load() {
		return
	}
	object := s.get()
	s.eventually("health of "+name+" alone", func(ctx context.Context) error {
		for _, other := range nodeNames() {
			node, err := s.Client().CoreV1().Nodes().Get(ctx, other, metav1.GetOptions{})
			if err != nil {
				return err
			}
			address := node.Status.Addresses[0].Address
			_, _, health := s.inside().HTTP(ctx, at(address, object.Spec.HealthCheckNodePort))
			if other == name && health != nil || other != name && (health == nil || !strings.Contains(health.Error(), "503")) {
				return fmt.Errorf("health of %s: %v", other, health)
			}
		}
		return nil
	})
}

func (s *scene) outside() cluster.Client { return cluster.Client{From: s.Cloud.Outside()} }
func (s *scene) inside() cluster.Client  { return cluster.Client{From: s.Cloud.Inside()} }

// at gives a host and port.
func at(host string, port int32) string { return net.JoinHostPort(host, fmt.Sprint(port)) }

// members gives, by port of the listener, how many members its pool has.
func (s *service) members() map[string]int {
	s.Helper()
	counts, err := s.countMembers(s.Context())
	s.must(err)
	return counts
}

func (s *service) countMembers(ctx context.Context) (map[string]int, error) {
	s.Helper()
	api, lb := s.Cloud.API(), s.loadBalancer()
	all, err := api.Listeners(ctx, lb.ID)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, listener := range all {
		members, err := api.Members(ctx, listener.DefaultPoolID)
		if err != nil {
			return nil, err
		}
		counts[fmt.Sprintf("%s/%d", listener.Protocol, listener.ProtocolPort)] = len(members)
	}
	return counts, nil
}

// has waits until the load balancer has these members behind its listeners.
func (s *service) has(want map[string]int) {
	s.Helper()
	s.eventually(fmt.Sprintf("members %v of %s", want, s.name), func(ctx context.Context) error {
		have, err := s.countMembers(ctx)
		if err == nil && !maps.Equal(have, want) {
			err = fmt.Errorf("it has %v", have)
		}
		return err
	})
}

// tells waits for an event of the Service that contains a text.
func (s *service) tells(text string) {
	s.Helper()
	s.eventually(fmt.Sprintf("event with %q", text), func(ctx context.Context) error {
		events, err := s.Client().CoreV1().Events(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + s.name})
		if err != nil {
			return err
		}
		var said []string
		for _, event := range events.Items {
			if strings.Contains(event.Message, text) {
				return nil
			}
			said = append(said, event.Reason+": "+event.Message)
		}
		return fmt.Errorf("the events are %q", said)
	})
}
