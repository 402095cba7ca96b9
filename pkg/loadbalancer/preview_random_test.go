package loadbalancer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// A Service and its settings change at random. Before each round a preview predicts it, in a new
// process or in the running one.
//
//proves:90
func TestPreview_ForetellsRandomRounds(t *testing.T) {
	t.Parallel()
	const changes = 8
	for i, c := range []struct {
		release string
		keys    map[string]string
	}{
		{"zed", nil},
		{"2026.1", nil},
		{"2026.1", map[string]string{"create-monitor": "true", "cascade-delete": "false"}},
		{"zed", map[string]string{"lb-provider": "ovn", "lb-method": "SOURCE_IP_PORT", "create-monitor": "true"}},
		{"2026.1", map[string]string{"lb-provider": "ovn", "lb-method": "SOURCE_IP_PORT"}},
		{"2026.1", managed("per-service")},
		{"2026.1", managed("shared")},
		{"zed", managed("per-service")},
	} {
		t.Run(fmt.Sprint(c.release, c.keys), func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: c.release}, keys: c.keys})
			w := &wanderer{env: env, random: rand.New(rand.NewPCG(uint64(i), 7)), nodes: env.nodes(5), other: env.elsewhere().ID}
			svc := service("web", 2)
			for range changes {
				changed := w.change(svc)
				p := env.foretold(svc, w.selected())
				t.Logf("%s: %d steps, %d writes, refused %v", changed, len(p.Steps), p.Writes(), p.Refusal != nil)
			}
			now := nowTime()
			svc.DeletionTimestamp = &now
			env.foretold(svc, w.selected())
			env.loadBalancers(0)
		})
	}
}

// wanderer changes a Service at random.
type wanderer struct {
	env    *environment
	random *rand.Rand
	nodes  []*v1.Node
	// other is another subnet for the VIP.
	other string
	// to is the present number of nodes.
	from, to int
}

func (w *wanderer) selected() []*v1.Node { return w.nodes[w.from:max(w.to, w.from+1)] }

// change changes two or three settings of a Service, the nodes, or the process.
func (w *wanderer) change(svc *v1.Service) (changed []string) {
	for range 1 + w.random.IntN(3) {
		name, change := w.pick()
		change(svc)
		changed = append(changed, name)
	}
	return changed
}

func (w *wanderer) pick() (string, func(*v1.Service)) {
	set := func(key string, values ...string) func(*v1.Service) {
		value := values[w.random.IntN(len(values))]
		return func(svc *v1.Service) {
			if svc.Annotations[key] = value; value == "" {
				delete(svc.Annotations, key)
			}
		}
	}
	all := []struct {
		name   string
		change func(*v1.Service)
	}{
		{"restart", func(*v1.Service) { w.env.restart() }},
		{"nodes", func(*v1.Service) { w.from, w.to = w.random.IntN(2), 1+w.random.IntN(len(w.nodes)) }},
		{"nodes", func(*v1.Service) { w.from, w.to = w.random.IntN(2), 1+w.random.IntN(len(w.nodes)) }},
		{"ports", w.ports},
		{"ports", w.ports},
		{"source ranges", func(svc *v1.Service) {
			all := []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"}
			svc.Spec.LoadBalancerSourceRanges = all[w.random.IntN(len(all)):]
		}},
		{"affinity", func(svc *v1.Service) {
			svc.Spec.SessionAffinity = []v1.ServiceAffinity{v1.ServiceAffinityNone, v1.ServiceAffinityClientIP}[w.random.IntN(2)]
		}},
		{"local", func(svc *v1.Service) {
			svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
			if w.random.IntN(2) == 0 {
				svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
			}
		}},
		{"internal", set(annotation.Internal, "true", "false")},
		{"timeout", set(annotation.ClientData, "60000", "90000", "")},
		{"connections", set(annotation.ConnLimit, "100", "-1", "")},
		{"PROXY", set(annotation.ProxyProtocol, "true", "false", "v2")},
		{"certificate", set(annotation.TLSContainer, "http://nowhere/containers/none", "", "")},
		{"monitor", set(annotation.Monitor, "true", "false", "")},
		{"monitor delay", set(annotation.MonitorDelay, "7", "9")},
		{"provider", set(annotation.Provider, "amphora", "", "")},
		{"subnet", set(annotation.SubnetID, w.other, "", "")},
		{"replacement", set(annotation.AllowReplace, "true", "false")},
		{"keep", set(annotation.KeepFloatingIP, "true", "false")},
	}
	picked := all[w.random.IntN(len(all))]
	return picked.name, picked.change
}

// ports adds a port, removes one or changes its NodePort.
func (w *wanderer) ports(svc *v1.Service) {
	switch number := 80 + w.random.IntN(6); {
	case w.random.IntN(3) == 0:
		svc.Spec.Ports[0].NodePort = int32(31000 + w.random.IntN(500))
	case !slices.ContainsFunc(svc.Spec.Ports, func(p v1.ServicePort) bool { return int(p.Port) == number }):
		svc.Spec.Ports = append(svc.Spec.Ports, port([]v1.Protocol{v1.ProtocolTCP, v1.ProtocolTCP, v1.ProtocolUDP}[w.random.IntN(3)], number))
	case len(svc.Spec.Ports) > 1:
		svc.Spec.Ports = svc.Spec.Ports[1:]
	}
}
