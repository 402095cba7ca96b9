package plan_test

import (
	"fmt"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// web makes what a Service with HTTP and HTTPS on three nodes asks for; changes
// make other Services of it.
func web(changes ...func(*model.LoadBalancer)) *model.LoadBalancer {
	lb := &model.LoadBalancer{
		Name: "kube_service_rig_default_web", Provider: "amphora",
		Listeners:  []model.Listener{listener(0, model.TCP, 80), listener(1, model.TCP, 443)},
		FloatingIP: &model.FloatingIP{NetworkID: "public"},
	}
	for _, change := range changes {
		change(lb)
	}
	lb.Sort()
	return lb
}

func listener(i int, protocol model.Protocol, port int) model.Listener {
	l := model.Listener{
		Name: fmt.Sprintf("listener_%d_kube_service_rig_default_web", i), Protocol: protocol, Port: port,
		Pool: model.Pool{
			Name:     fmt.Sprintf("pool_%d_kube_service_rig_default_web", i),
			Protocol: protocol, Algorithm: "ROUND_ROBIN",
		},
	}
	for node := range 3 {
		l.Pool.Members = l.Pool.Members.With(model.MembersOf(memberOn(node+1, port)))
	}
	return l
}

func memberOn(i, port int) model.Member {
	return model.Member{Name: fmt.Sprintf("node-%d", i), Address: fmt.Sprintf("10.0.0.%d", i), Port: 30000 + port, SubnetID: "subnet"}
}

func onPools(change func(*model.Pool)) func(*model.LoadBalancer) {
	return func(lb *model.LoadBalancer) {
		for i := range lb.Listeners {
			change(&lb.Listeners[i].Pool)
		}
	}
}

func nodes(numbers ...int) func(*model.LoadBalancer) {
	return func(lb *model.LoadBalancer) {
		for i := range lb.Listeners {
			l := &lb.Listeners[i]
			l.Pool.Members = model.Members{}
			for _, n := range numbers {
				l.Pool.Members = l.Pool.Members.With(model.MembersOf(memberOn(n, l.Port)))
			}
		}
	}
}

func clients(cidrs ...string) func(*model.LoadBalancer) {
	return func(lb *model.LoadBalancer) {
		for i := range lb.Listeners {
			lb.Listeners[i].AllowedCIDRs = cidrs
		}
	}
}

// onVIP asks for a QoS policy and security groups of the VIP.
func onVIP(qos string, groups ...string) func(*model.LoadBalancer) {
	return func(lb *model.LoadBalancer) {
		lb.VIP.VIPSettings = model.VIPSettings{QoSPolicyID: qos, SecurityGroupIDs: groups}
	}
}

func monitor(kind string) func(*model.LoadBalancer) {
	return onPools(func(pool *model.Pool) {
		pool.Monitor = &model.Monitor{Type: kind, Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3}
		if kind == model.MonitorHTTP {
			pool.Monitor.HTTPMethod, pool.Monitor.URLPath, pool.Monitor.ExpectedCodes = "GET", "/healthz", "200"
			fixture.EditMembers(pool, func(_ int, m *model.Member) { m.MonitorPort = 31000 })
		}
	})
}

// onListeners changes the listeners.
func onListeners(change func(*model.Listener)) func(*model.LoadBalancer) {
	return func(lb *model.LoadBalancer) {
		for i := range lb.Listeners {
			change(&lb.Listeners[i])
		}
	}
}

// speaks gives listeners and pools other protocols.
func speaks(listener, pool model.Protocol) func(*model.LoadBalancer) {
	return onListeners(func(l *model.Listener) {
		l.Protocol, l.Pool.Protocol = listener, pool
		if listener == model.TerminatedHTTPS {
			l.TLSContainerRef = "https://barbican.example.com/v1/secrets/a"
		}
	})
}

func ports(listeners ...model.Listener) func(*model.LoadBalancer) {
	return func(lb *model.LoadBalancer) { lb.Listeners = listeners }
}

func floatingIP(fip *model.FloatingIP) func(*model.LoadBalancer) {
	return func(lb *model.LoadBalancer) { lb.FloatingIP = fip }
}

// made gives the cloud in which a load balancer was made as it was asked for.
func made(t *testing.T, lb *model.LoadBalancer) model.Observed {
	t.Helper()
	c := &cloud{}
	if err := c.run(plan.Diff(lb, model.Observed{}, plan.Options{}).Steps); err != nil {
		t.Fatal(err)
	}
	return c.observed
}
