package soak

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// tenant is the present Service of a place.
type tenant struct {
	key testenv.Key
	// nodePort is the first of its NodePorts.
	nodePort int32
}

// nodePortsPerTenant is the number of NodePorts of a Service; the last one is for health checks.
const nodePortsPerTenant = 4

// create creates a Service with a new name at a place. The previous one may still be in deletion:
// it has other NodePorts.
func (r *run) create(place int) {
	r.made++
	r.changes++
	second := int32(0)
	if r.tenants[place].nodePort%(2*nodePortsPerTenant) == 0 && r.tenants[place].nodePort > 0 {
		second = nodePortsPerTenant
	}
	t := tenant{
		key:      testenv.Key{Namespace: "default", Name: fmt.Sprintf("app-%d", r.made)},
		nodePort: 30000 + int32(place)*2*nodePortsPerTenant + second,
	}
	r.tenants[place] = t
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.key.Namespace, Name: t.key.Name, UID: types.UID(fmt.Sprintf("uid-of-app-%d", r.made)), Annotations: map[string]string{},
		},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster, SessionAffinity: v1.ServiceAffinityNone,
			Ports: []v1.ServicePort{t.port(0)},
		},
	}
	for _, edit := range t.edits() { // as edits and their reversals leave them, so that the mix stays
		if r.dice.IntN(2) == 0 {
			edit(svc)
		}
	}
	r.env.Cluster.Apply(svc)
}

// port returns the nth port of a Service.
func (t tenant) port(n int32) v1.ServicePort {
	return v1.ServicePort{Name: fmt.Sprintf("p%d", n), Protocol: v1.ProtocolTCP, Port: 80 + n, NodePort: t.nodePort + n}
}

// replace deletes a Service, and creates another one.
func (r *run) replace() {
	place := r.dice.IntN(len(r.tenants))
	r.changes++
	r.env.Cluster.Delete(r.tenants[place].key)
	r.create(place)
}

// edit changes one setting of a Service, or reverts that.
func (r *run) edit() {
	t := r.tenants[r.dice.IntN(len(r.tenants))]
	edits := t.edits()
	r.changes++
	r.env.Cluster.Edit(t.key, edits[r.dice.IntN(len(edits))])
}

// edits returns the changes that users make.
func (t tenant) edits() []func(*v1.Service) {
	flip := func(name, value string) func(*v1.Service) {
		return func(svc *v1.Service) {
			if _, is := svc.Annotations[name]; is {
				delete(svc.Annotations, name)
			} else {
				svc.Annotations[name] = value
			}
		}
	}
	return []func(*v1.Service){
		func(svc *v1.Service) {
			if len(svc.Spec.Ports) > 1 {
				svc.Spec.Ports = svc.Spec.Ports[:1]
			} else {
				svc.Spec.Ports = append(svc.Spec.Ports, t.port(1), t.port(2))
			}
		},
		func(svc *v1.Service) {
			if len(svc.Spec.LoadBalancerSourceRanges) > 0 {
				svc.Spec.LoadBalancerSourceRanges = nil
			} else {
				svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
			}
		},
		func(svc *v1.Service) {
			if svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
				svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
			} else {
				svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
				svc.Spec.HealthCheckNodePort = t.nodePort + nodePortsPerTenant - 1
			}
		},
		flip(annotation.MonitorDelay, "17"), flip(annotation.ConnLimit, "500"), flip(annotation.ClientData, "70000"),
		flip(annotation.Internal, "true"),
	}
}

// addNode adds a server with a Node that has its own address.
func (r *run) addNode() error {
	r.joined++
	name := fmt.Sprintf("node-%d", r.joined)
	r.nodes = append(r.nodes, name)
	r.changes++
	_, err := r.env.AddNode(name, fmt.Sprintf("127.100.%d.%d", 200+r.joined/200, 10+r.joined%200)) // far from those of load balancers
	return err
}

// removeNode removes the oldest server. Its kubelet stops reporting, and the controller finds the
// server gone.
func (r *run) removeNode() {
	name := r.nodes[0]
	r.nodes = r.nodes[1:]
	r.changes++
	if node := r.env.Cluster.Node(name); node != nil {
		r.env.Cloud.Nova.DeleteServer(strings.TrimPrefix(node.Spec.ProviderID, "openstack:///"))
		r.env.SetReady(name, false)
	}
}
