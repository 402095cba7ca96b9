package loadbalancer_test

import (
	"maps"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// reconfigured returns the configuration of an environment with a change.
func (env *environment) reconfigured(change func(*config.Config)) *config.Config {
	conf := *env.Conf
	conf.LoadBalancerClass = maps.Clone(conf.LoadBalancerClass)
	change(&conf)
	return &conf
}

// A changed class or default affects only Services without another value. The others cost no
// request, neither at once nor after a restart.
//
//proves:94
func TestReconfigure_ChangesServicesThatItConcernsAndNoOther(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	slow, fast := "LEAST_CONNECTIONS", "SOURCE_IP"
	env.Conf.LoadBalancerClass = map[string]*config.LoadBalancerClass{"slow": {LBMethod: slow}, "other": {LBMethod: fast}}
	env.restart()
	nodes := env.nodes(2)
	plain, inClass, inOther, annotated := service("plain", 1), service("class", 1), service("other", 1), service("annotated", 1)
	inClass.Annotations[annotation.Class] = "slow"
	inOther.Annotations[annotation.Class] = "other"
	annotated.Annotations[annotation.Method] = slow
	all := []*v1.Service{plain, inClass, inOther, annotated}
	for _, svc := range all {
		env.ensure(svc, nodes)
	}
	env.emitted()

	for _, step := range []struct {
		change    func(*config.Config)
		concerned *v1.Service
		emitted   string
	}{
		{func(c *config.Config) { c.LoadBalancerClass["slow"] = &config.LoadBalancerClass{LBMethod: fast} }, inClass, "algorithm LEAST_CONNECTIONS → SOURCE_IP"},
		{func(c *config.Config) { c.LoadBalancer.LBMethod = fast }, plain, "algorithm ROUND_ROBIN → SOURCE_IP"},
		{func(c *config.Config) { c.LoadBalancer.MaxSharedLB, c.LoadBalancer.MaxPorts = new(5), 50 }, nil, ""},
	} {
		env.Conf = env.reconfigured(step.change)
		if err := env.engine.Reconfigure(env.Conf); err != nil {
			t.Fatal(err)
		}
		for _, svc := range all {
			env.Cloud.RequestLog.Reset()
			if _, err := env.engine.Repair(env.ctx, svc, nodes, there); err != nil {
				t.Fatalf("%s: %v", svc.Name, err)
			}
			if svc == step.concerned {
				env.writes(1)
				continue
			}
			if asked := env.Cloud.RequestLog.Requests(); len(asked) > 0 {
				t.Errorf("%s, which the change does not concern:\n%s", svc.Name, printed(asked))
			}
		}
		if emitted := env.emitted(); !strings.Contains(emitted, step.emitted) || step.concerned == nil && emitted != "" {
			t.Errorf("emitted %q, want %q", emitted, step.emitted)
		}
	}
	env.restart() // with the same configuration
	env.Cloud.RequestLog.Reset()
	for _, svc := range all {
		env.ensure(svc, nodes)
	}
	env.writes(0)
}

// The Services of a removed class are refused, and their load balancers keep serving.
func TestReconfigure_KeepsServicesOfClassThatIsGoneAlive(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	env.Conf.LoadBalancerClass = map[string]*config.LoadBalancerClass{"slow": {LBMethod: "LEAST_CONNECTIONS"}}
	env.restart()
	nodes, svc := env.nodes(3), service("web", 1)
	svc.Annotations[annotation.Class] = "slow"
	env.ensure(svc, nodes[:2])
	if err := env.engine.Reconfigure(env.reconfigured(func(c *config.Config) { c.LoadBalancerClass = nil })); err != nil {
		t.Fatal(err)
	}
	env.refused(svc, nodes, annotation.Class)
	env.membersAre(nodes)
	if pools := env.Cloud.RequestLog.Requests(requestlog.Writes()); strings.Contains(printed(pools), "DELETE") {
		t.Errorf("something was deleted:\n%s", printed(pools))
	}
	if err := env.engine.Reconfigure(env.Conf); err != nil {
		t.Fatal(err)
	}
	env.ensure(svc, nodes)
}

func TestReconfigure_RefusesUnknownAnnotations(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	if err := env.engine.Reconfigure(env.reconfigured(func(c *config.Config) { c.LoadBalancer.DenyAnnotations = "no-such" })); err == nil {
		t.Error("no error")
	}
	env.ensure(service("web", 1), env.nodes(1))
}
