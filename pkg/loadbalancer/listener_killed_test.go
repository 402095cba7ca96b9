package loadbalancer_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// A controller is killed at every moment of the change, in turn. The next one completes it and
// leaves nothing over. A listener that keeps its protocol exists all the time.
//
//proves:11,13
func TestCrash_DuringProtocolChangeIsFinishedByNextProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*v1.Service)
		want   string
		keeps  bool
	}{
		"PROXY":   {set(annotation.ProxyProtocol, "v1"), "80 TCP→PROXY", true},
		"headers": {set(annotation.ForwardedFor, "true"), "80 HTTP→HTTP", false},
	} {
		for _, afterWork := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for n, killed := 1, true; killed; n++ {
					if n > 100 {
						t.Fatal("a change takes more than 100 requests")
					}
					env := newEnvironment(t, environmentOptions{})
					nodes, svc := env.nodes(2), service("web", 1)
					svc.Annotations[annotation.Monitor] = "true"
					env.ensure(svc, nodes)
					before := env.loadBalancer().Listeners[0].ID
					c.change(svc)
					killed = env.killed(svc, nodes, n, afterWork)
					if c.keeps {
						if l := env.loadBalancer().Listeners; len(l) != 1 || l[0].ID != before {
							t.Fatalf("killed at moment %d: the listeners are %v", n, l)
						}
					}
					env.ensure(svc, nodes)
					if problem := speak(c.want)(env.loadBalancer()); problem != "" {
						t.Fatalf("killed at moment %d: %s", n, problem)
					}
					env.unchanged(svc, nodes)
				}
			})
		}
	}
}
