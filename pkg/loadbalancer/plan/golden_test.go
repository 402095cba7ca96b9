package plan_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

// situation is a Service, what the cloud has for it, and the plan between them,
// which is in a file of the situation's name.
type situation struct {
	name     string
	desired  *model.LoadBalancer // nil: the Service is deleted
	observed model.Observed
	options  plan.Options
}

func TestPlan_MatchesGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, s := range append(situations(t), troubles(t)...) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			todo := plan.Delete(s.observed, s.options)
			if s.desired != nil {
				todo = plan.Diff(s.desired, s.observed, s.options)
			}
			golden.File(t, filepath.Join("testdata", strings.ReplaceAll(s.name, " ", "-")+".golden"), printed(todo))
		})
	}
}

// printed returns a plan with its properties as text.
func printed(todo plan.Plan) string {
	got := todo.String()
	for _, text := range todo.Retained {
		got += fmt.Sprintf("retained: %s\n", text)
	}
	for _, text := range todo.Notices {
		got += fmt.Sprintf("notice: %s\n", text)
	}
	if got == "" {
		return "nothing to do\n"
	}
	return got
}

// situations are those of everyday life.
func situations(t *testing.T) []situation {
	internal := floatingIP(nil)
	udp := func(lb *model.LoadBalancer) { lb.Listeners = []model.Listener{listener(0, model.UDP, 53)} }
	timeouts := func(ms int) func(*model.LoadBalancer) {
		return onListeners(func(l *model.Listener) {
			l.Limits.TimeoutClientData = model.Limit{Value: ms, Asked: true}
			l.Limits.ConnectionLimit = model.Limit{Value: 1000, Asked: true}
		})
	}
	return []situation{
		{name: "new Service", desired: web()},
		{name: "new internal Service", desired: web(internal)},
		{name: "nothing changed", desired: web(), observed: made(t, web())},
		{name: "a node more", desired: web(nodes(1, 2, 3, 4)), observed: made(t, web())},
		{name: "a node less", desired: web(nodes(1, 3)), observed: made(t, web())},
		{name: "many nodes replaced", desired: web(nodes(3, 4, 5, 6, 7, 8)), observed: made(t, web())},
		{name: "a port more", desired: web(ports(listener(0, model.TCP, 80), listener(1, model.TCP, 443), listener(2, model.UDP, 443))), observed: made(t, web())},
		{name: "a port less", desired: web(ports(listener(0, model.TCP, 443))), observed: made(t, web())},
		{name: "another protocol", desired: web(ports(listener(0, model.TCP, 80), listener(1, model.UDP, 443))), observed: made(t, web())},
		{name: "other NodePorts", desired: web(onPools(func(p *model.Pool) {
			fixture.EditMembers(p, func(_ int, m *model.Member) { m.Port++ })
		})), observed: made(t, web())},
		{name: "clients shut out and let in", desired: web(clients("10.0.0.0/8"), nodes(1, 2)), observed: made(t, web(func(lb *model.LoadBalancer) {
			lb.Listeners[1].AllowedCIDRs = []string{}
			lb.Listeners[0].AllowedCIDRs = []string{"10.0.0.0/8", "192.168.0.0/16"}
		}))},
		{name: "clients let in after all else", desired: web(nodes(1, 2)), observed: made(t, web(clients("10.0.0.0/8")))},
		{name: "affinity and algorithm", desired: web(onPools(func(p *model.Pool) {
			p.Algorithm, p.Persistence.Type = "LEAST_CONNECTIONS", model.SourceIP
		})), observed: made(t, web())},
		{name: "affinity with a timeout", desired: web(udp, onPools(func(p *model.Pool) {
			p.Persistence = model.Persistence{Type: model.SourceIP, Timeout: 600}
		})), observed: made(t, web(udp, onPools(func(p *model.Pool) { p.Persistence.Type = model.SourceIP })))},
		{name: "limits asked for", desired: web(timeouts(60000), clients("10.0.0.0/8")), observed: made(t, web())},
		{name: "limits not asked for any more", desired: web(clients("10.0.0.0/8", "192.168.0.0/16")), observed: made(t, web(timeouts(60000), clients("10.0.0.0/8")))},
		{name: "QoS policy and security groups of the VIP", desired: web(onVIP("qos-b", "sg-b", "sg-c"), nodes(1, 2, 3, 4)), observed: made(t, web(onVIP("qos-a", "sg-a")))},
		{name: "security groups of the VIP not asked for any more", desired: web(), observed: made(t, web(onVIP("qos-a", "sg-a")))},
		{name: "security groups of the VIP taken away", desired: web(onVIP(model.None, model.None)), observed: made(t, web(onVIP("qos-a", "sg-a")))},
		{name: "no security groups where there are none", desired: web(onVIP(model.None, model.None)), observed: made(t, web())},
		{name: "security groups of the VIP in place of clients", desired: web(onVIP("", "sg-a")), observed: made(t, web(clients("10.0.0.0/8")))},
		{name: "clients in place of security groups of the VIP", desired: web(onVIP("", model.None), clients("10.0.0.0/8")), observed: made(t, web(onVIP("", "sg-a")))},
		{name: "headers and certificate", desired: web(speaks(model.TerminatedHTTPS, model.HTTP), onListeners(func(l *model.Listener) {
			l.InsertHeaders, l.TLSContainerRef = []string{"X-Forwarded-For"}, "https://barbican.example.com/v1/secrets/b"
		})), observed: made(t, web(speaks(model.TerminatedHTTPS, model.HTTP)))},
		{name: "PROXY protocol switched on", desired: web(speaks(model.TCP, model.Proxy), monitor(model.MonitorTCP)), observed: made(t, web(monitor(model.MonitorTCP)))},
		{name: "PROXY protocol switched on and clients shut out", desired: web(speaks(model.TCP, model.Proxy), clients("10.0.0.0/8")), observed: made(t, web())},
		{name: "forwarded headers switched on", desired: web(speaks(model.HTTP, model.HTTP), monitor(model.MonitorTCP)), observed: made(t, web(monitor(model.MonitorTCP)))},
		{name: "TLS ends here", desired: web(speaks(model.TerminatedHTTPS, model.HTTP), clients("10.0.0.0/8")), observed: made(t, web(speaks(model.HTTP, model.HTTP)))},
		{name: "monitors switched on", desired: web(monitor(model.MonitorTCP)), observed: made(t, web())},
		{name: "monitors switched off", desired: web(), observed: made(t, web(monitor(model.MonitorTCP)))},
		{name: "traffic policy becomes Local", desired: web(monitor(model.MonitorHTTP)), observed: made(t, web(monitor(model.MonitorTCP)))},
		{name: "slower monitors", desired: web(monitor(model.MonitorTCP), onPools(func(p *model.Pool) { p.Monitor.Delay, p.Monitor.MaxRetries = 30, 2 })),
			observed: made(t, web(monitor(model.MonitorTCP)))},
		{name: "becomes internal", desired: web(internal), observed: made(t, web())},
		{name: "becomes internal and keeps its floating IP", desired: web(internal), observed: made(t, web()), options: plan.Options{KeepFloatingIP: true}},
		{name: "becomes external", desired: web(), observed: made(t, web(internal))},
		{name: "asks for another address", desired: web(floatingIP(&model.FloatingIP{NetworkID: "public", Address: "203.0.113.9"})), observed: made(t, web())},
		{name: "deleted", observed: made(t, web()), options: plan.Options{Cascade: true}},
		{name: "deleted without cascade", observed: made(t, web())},
		{name: "deleted and keeps its floating IP", observed: made(t, web()), options: plan.Options{Cascade: true, KeepFloatingIP: true}},
	}
}

// troubles are those in which something went wrong before.
func troubles(t *testing.T) []situation {
	broken := func(change func(*model.LoadBalancer)) model.Observed {
		observed := made(t, web(monitor(model.MonitorTCP)))
		change(observed.LoadBalancer)
		return observed
	}
	failed := model.Status{Provisioning: "ERROR"}
	inError := broken(func(lb *model.LoadBalancer) { lb.Status = failed })
	foreign := broken(func(lb *model.LoadBalancer) {
		lb.Foreign = []model.Foreign{{Kind: "listener", ID: "l-9", Name: "listener_0_other", Key: model.ListenerKey{Transport: model.TCP, Port: 8080}}}
	})
	others := []model.Foreign{{Kind: "listener", ID: "l-9", Name: "listener_0_other", Key: model.ListenerKey{Transport: model.TCP, Port: 8080}}}
	shared := func(removable bool, others ...model.Foreign) model.Observed {
		observed := made(t, web())
		observed.LoadBalancer.Shared = &model.Shared{Owner: "Service default/owner of cluster kubernetes", Removable: removable}
		observed.LoadBalancer.Foreign = others
		return observed
	}
	twice := made(t, web())
	twice.Duplicates = []model.LoadBalancer{{ID: "lb-77", Name: twice.LoadBalancer.Name}}
	leftover := model.Observed{UnattachedFloatingIPs: []model.FloatingIP{
		{ID: "fip-8", Address: "203.0.113.8", Owned: true}, {ID: "fip-9", Address: "203.0.113.9", Owned: true},
	}}
	monitored := web(monitor(model.MonitorTCP))
	zed := plan.Options{Driver: driver.Driver{Quirks: driver.Quirks{StaleMonitors: true}}}
	return []situation{
		{name: "in ERROR before it served", desired: monitored, observed: inError},
		{name: "in ERROR and published", desired: monitored, observed: inError, options: plan.Options{Published: true}},
		{name: "in ERROR and deleted", observed: inError},
		{name: "everything in it is broken", desired: monitored, observed: broken(func(lb *model.LoadBalancer) {
			l := &lb.Listeners[0]
			l.Status, l.Pool.Status, l.Pool.Monitor.Status = failed, failed, failed
			fixture.EditMember(&l.Pool, 1, func(m *model.Member) { m.Status = failed })
		})},
		{name: "a member was drained by hand", desired: monitored, observed: broken(func(lb *model.LoadBalancer) {
			fixture.EditMember(&lb.Listeners[1].Pool, 2, func(m *model.Member) { m.Drained = true })
			fixture.EditMember(&lb.Listeners[0].Pool, 1, func(m *model.Member) { m.AdminDown = true })
		})},
		{name: "a member was made a backup by hand", desired: monitored, observed: broken(func(lb *model.LoadBalancer) {
			fixture.EditMember(&lb.Listeners[1].Pool, 2, func(m *model.Member) { m.Backup = true })
		})},
		{name: "a listener lost its pool", desired: monitored, observed: broken(func(lb *model.LoadBalancer) {
			lb.Orphans = []model.Pool{lb.Listeners[0].Pool}
			lb.Listeners[0].Pool = model.Pool{}
		})},
		{name: "a listener was refused after its pool was created", desired: monitored, observed: broken(func(lb *model.LoadBalancer) {
			lb.Orphans = []model.Pool{lb.Listeners[0].Pool}
			lb.Listeners = lb.Listeners[1:]
			lb.Orphans[0].Members = lb.Orphans[0].Members.Slice(0, 1)
		})},
		{name: "made twice", desired: web(), observed: twice},
		{name: "floating IPs left over", desired: web(), observed: leftover},
		{name: "a foreign listener beside ours", desired: web(monitor(model.MonitorTCP), nodes(1, 2)), observed: foreign},
		{name: "a foreign listener on our port", desired: web(ports(listener(0, model.TCP, 8080))), observed: foreign},
		{name: "deleted beside a foreign listener", observed: foreign, options: plan.Options{Cascade: true}},
		{name: "a port more on a load balancer of another Service", observed: shared(true, others...), options: plan.Options{Published: true},
			desired: web(ports(listener(0, model.TCP, 80), listener(1, model.TCP, 443), listener(2, model.TCP, 8443)), func(lb *model.LoadBalancer) {
				lb.Provider, lb.FloatingIP = "ovn", &model.FloatingIP{Address: "203.0.113.9"}
			})},
		{name: "security groups of the VIP of a load balancer of another Service", observed: shared(true, others...), desired: web(onVIP("", "sg-a"))},
		{name: "a QoS policy of the VIP of a load balancer of another Service", observed: shared(true, others...), desired: web(onVIP("qos-a"))},
		{name: "a port that is taken on a load balancer of another Service", observed: shared(true, others...),
			desired: web(ports(listener(0, model.TCP, 8080)))},
		{name: "a load balancer of another Service is in ERROR", desired: web(), observed: func() model.Observed {
			observed := shared(true)
			observed.LoadBalancer.Status.Provisioning = "ERROR"
			return observed
		}()},
		{name: "deleted from a load balancer of another Service", observed: shared(true, others...), options: plan.Options{Cascade: true}},
		{name: "deleted as the last on a load balancer of another Service", observed: shared(true), options: plan.Options{Describe: "ours"}},
		{name: "deleted as the last on a load balancer made by hand", observed: shared(false), options: plan.Options{Cascade: true}},
		{name: "deleted with nothing on a load balancer of another Service", options: plan.Options{Cascade: true}, observed: func() model.Observed {
			observed := shared(true)
			observed.LoadBalancer.Listeners = nil
			return observed
		}()},
		{name: "settings that cannot change", observed: made(t, web()), desired: web(func(lb *model.LoadBalancer) {
			lb.Provider, lb.FlavorID, lb.VIP.SubnetID = "ovn", "large", "other-subnet"
		})},
		{name: "a port more where monitors block listeners", observed: made(t, monitored), options: zed,
			desired: web(ports(listener(0, model.TCP, 80), listener(1, model.TCP, 443), listener(2, model.TCP, 8443)), monitor(model.MonitorTCP))},
		{name: "the first time where monitors of a creation get lost", desired: monitored, options: zed},
		{name: "a monitor was lost in the creation", desired: monitored, options: zed,
			observed: broken(func(lb *model.LoadBalancer) { lb.Listeners[0].Pool.Monitor.Status.Provisioning = "PENDING_CREATE" })},
		{name: "a port less where the other monitors go blind", observed: made(t, monitored), options: zed,
			desired: web(ports(listener(1, model.TCP, 443)), monitor(model.MonitorTCP))},
		{name: "a monitor changes where its listener is forgotten", observed: made(t, monitored), options: zed,
			desired: web(monitor(model.MonitorTCP), onPools(func(pool *model.Pool) { pool.Monitor.Delay = 30 }))},
	}
}
