package loadbalancer_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// With member-port=service of cloud.conf or a class, members are at the Service's own ports, also without
// NodePorts, and security groups open these. Another value changes the members in one batch.
//
//proves:57
func TestMembers_AreAtServicePort(t *testing.T) {
	t.Parallel()
	keys := managed("per-service")
	env := newEnvironment(t, environmentOptions{keys: keys})
	env.Conf.LoadBalancerClass = map[string]*config.LoadBalancerClass{"direct": {MemberPort: config.MemberPortService}}
	env.restart()
	nodes, svc := env.nodes(2), service("web", 1)
	svc.Spec.Ports[0].NodePort = 0
	env.refused(svc, nodes, "spec.ports[0].nodePort")
	svc.Annotations[annotation.Class] = "direct"
	env.ensure(svc, nodes)
	env.areAt("127.100.1.10:80 127.100.1.11:80")
	if rules := strings.Join(rulesOf(env.group()), " "); !strings.Contains(rules, " 80-80") {
		t.Errorf("rules %s", rules)
	}
	env.unchanged(svc, nodes)
	delete(svc.Annotations, annotation.Class)
	svc.Spec.Ports[0].NodePort = 30080
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.areAt("127.100.1.10:30080 127.100.1.11:30080")
}
