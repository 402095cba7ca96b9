package loadbalancer_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// shortage is a resource that the cloud has run out of.
type shortage struct {
	// quota of Octavia, or of Neutron, and its limit.
	octavia, neutron string
	limit            int
	// subnet that is full: that of the VIP or that of floating IPs.
	vipFull, poolEmpty bool
	keys               map[string]string
	// event is the text of the event.
	event string
	// exist is the number of load balancers meanwhile, reads the number of reads of quotas, and
	// atMost the maximum number of lost ports.
	exist, reads, atMost int
}

func shortages() map[string]shortage {
	monitored, grouped := map[string]string{"create-monitor": "true"}, map[string]string{"manage-security-groups": "true"}
	return map[string]shortage{
		"load balancers":       {octavia: "loadbalancer", limit: 0, event: "quota of load balancers is used up (0)", reads: 1},
		"listeners":            {octavia: "listener", limit: 1, event: "quota of listeners is used up (1)", exist: 1, reads: 1, atMost: 1},
		"pools":                {octavia: "pool", limit: 1, event: "quota of pools is used up (1)", exist: 1, reads: 1, atMost: 1},
		"members":              {octavia: "member", limit: 3, event: "quota of members is used up (3)", exist: 1, reads: 1, atMost: 1},
		"health monitors":      {octavia: "healthmonitor", limit: 1, keys: monitored, event: "quota of health monitors is used up (1)", exist: 1, reads: 1, atMost: 1},
		"ports":                {neutron: "port", limit: 0, event: "quota of ports is used up (", reads: 1},
		"floating IPs":         {neutron: "floatingip", limit: 0, event: "quota of floating IPs is used up (0 of 0)", exist: 1, reads: 1},
		"security groups":      {neutron: "security_group", limit: 1, keys: grouped, event: "quota of security groups is used up (1 of 1)", reads: 1},
		"security group rules": {neutron: "security_group_rule", limit: 4, keys: grouped, event: "quota of security group rules is used up (", reads: 1},
		"the subnet of VIPs":   {vipFull: true, event: "has no free address"},
		"floating IPs left":    {poolEmpty: true, event: "has no free address", exist: 1},
	}
}

// set causes the shortage, and returns the function that ends it.
func (s shortage) set(env *environment) (end func()) {
	env.T.Helper()
	project := env.Cloud.Account.ProjectID
	full := func(subnet string) func() {
		id, err := env.Cloud.ExhaustSubnet(subnet)
		if err != nil {
			env.T.Fatal(err)
		}
		return func() { env.Cloud.Faults.Remove(id) }
	}
	switch {
	case s.octavia != "":
		env.Cloud.Octavia.SetQuota(project, s.octavia, s.limit)
		return func() { env.Cloud.Octavia.SetQuota(project, s.octavia, -1) }
	case s.neutron != "":
		env.Cloud.Neutron.SetQuota(project, s.neutron, s.limit)
		return func() { env.Cloud.Neutron.SetQuota(project, s.neutron, -1) }
	case s.vipFull:
		return full(env.Cloud.Subnet.ID)
	}
	return full(env.Cloud.ExternalSubnet.ID)
}

// A shortage is reported by one event, with the figures and the request, and retried slowly. Each
// retry costs a few requests and loses nothing, and nothing is left when there is room.
//
//proves:80
func TestQuota_IsToldOnceWithNumbersAndHealsWithRoom(t *testing.T) {
	t.Parallel()
	for name, c := range shortages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{simulator: simulator.Options{}, keys: c.keys})
			nodes, svc := env.nodes(2), service("web", 2)
			end := c.set(env)
			said := map[string]bool{}
			var emitted strings.Builder
			for range 3 {
				_, err := env.engine.Ensure(env.ctx, svc, nodes)
				var later *api.RetryError
				if !errors.As(err, &later) || later.RetryAfter() < 5*time.Minute {
					t.Fatalf("error %v, want one that asks for five minutes", err)
				}
				said[err.Error()] = true
				emitted.WriteString(env.emitted() + "\n")
			}
			if len(said) != 1 {
				t.Errorf("%d different errors, want the same words each time:\n%v", len(said), said)
			}
			if got := emitted.String(); strings.Count(got, "LoadBalancerQuotaExceeded") != 1 || !strings.Contains(got, c.event) || !strings.Contains(got, "req-") {
				t.Errorf("want one event with %q and a request ID:\n%s", c.event, got)
			}
			if got := env.refusedFor(); got != "quota" {
				t.Errorf("refused for %q", got)
			}
			if quotas := env.quotaReads(); quotas != c.reads {
				t.Errorf("quotas were read %d times, want %d", quotas, c.reads)
			}
			if lost := len(env.Cloud.LeakedPorts()); lost > c.atMost {
				t.Errorf("%d ports are lost, want %d at most", lost, c.atMost)
			}
			env.loadBalancers(c.exist)
			end()
			env.ensure(svc, nodes)
			if lb := env.loadBalancer(); len(lb.Listeners) != 2 || len(lb.Pools[0].Members) != 2 {
				t.Errorf("%d listeners, %d members", len(lb.Listeners), len(lb.Pools[0].Members))
			}
			env.floatingIPs(1)
			if got := env.refusedFor(); got != "" {
				t.Errorf("still refused for %q", got)
			}
			env.unchanged(svc, nodes)
		})
	}
}

// Octavia loses a port with the first load balancer that it refuses for a quota of its parts, and
// with no other one, however many Services exceed that quota.
//
//proves:80
func TestQuota_OfPartsLosesOnePortForAllServices(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Quota: map[string]int{"listener": 1}}})
	nodes := env.nodes(1)
	for i := range 4 {
		env.refused(service("web-"+itoa(i), 2), nodes, "quota of listeners is used up (1)")
	}
	if lost := len(env.Cloud.LeakedPorts()); lost != 1 {
		t.Errorf("%d ports are lost, want one", lost)
	}
}

// quotaReads returns the number of reads of quotas.
func (env *environment) quotaReads() int {
	n := 0
	for _, r := range env.Cloud.RequestLog.Requests() {
		if strings.Contains(r.Path, "/quotas/") {
			n++
		}
	}
	return n
}

// A quota that is exceeded again later is reported again. If quotas cannot be read, the event has
// no figures.
//
//proves:80
func TestQuota_IsToldAgainWhenMetAgain(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	env.Cloud.Faults.Add(faultOn("GET", "/network/v2.0/quotas/**", 403))
	nodes, svc := env.nodes(1), service("web", 1)
	c := shortages()["floating IPs"]
	for range 2 {
		end := c.set(env)
		env.refused(svc, nodes, "quota of floating IPs is used up: ask the cloud's operator")
		if emitted := env.emitted(); strings.Count(emitted, "LoadBalancerQuotaExceeded") != 1 {
			t.Errorf("want one event:\n%s", emitted)
		}
		end()
		env.ensure(svc, nodes)
		env.delete(svc)
		svc = service("web", 1)
		svc.Status.LoadBalancer = v1.LoadBalancerStatus{}
	}
}
