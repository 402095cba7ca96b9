package plan_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// maker makes random models from a seed. They come from few values, so that much
// of two of them is equal.
type maker struct{ *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, seed))} }

func (m maker) chance(percent int) bool { return m.IntN(100) < percent }

func pickOne[T any](m maker, from ...T) T { return from[m.IntN(len(from))] }

// some gives a random part of a list, in its order.
func some[T any](m maker, from ...T) []T {
	var picked []T
	for _, v := range from {
		if m.chance(50) {
			picked = append(picked, v)
		}
	}
	return picked
}

const name = "kube_service_test"

// desired makes what a Service asks for.
func (m maker) desired() *model.LoadBalancer {
	lb := &model.LoadBalancer{Name: name, Provider: pickOne(m, "amphora", "ovn"), FloatingIP: m.wantedFloatingIP()}
	lb.VIP.QoSPolicyID = pickOne(m, "", "", model.None, "qos-a", "qos-b")
	guard := pickOne(m, "", "", model.None, "sg-a", "sg-b")
	if guard != "" {
		lb.VIP.SecurityGroupIDs = []string{guard}
	}
	keys := []model.ListenerKey{
		{Transport: model.TCP, Port: 53}, {Transport: model.UDP, Port: 53}, {Transport: model.TCP, Port: 80},
		{Transport: model.TCP, Port: 443}, {Transport: model.UDP, Port: 443}, {Transport: model.SCTP, Port: 443},
	}
	m.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for i, key := range keys[:1+m.IntN(4)] {
		lb.Listeners = append(lb.Listeners, m.listener(i, key))
	}
	if guard != "" && guard != model.None { // one of the two is refused before
		for i := range lb.Listeners {
			lb.Listeners[i].AllowedCIDRs = nil
		}
	}
	lb.Sort()
	return lb
}

// listener makes a listener of any protocol of its transport.
func (m maker) listener(i int, key model.ListenerKey) model.Listener {
	l := model.Listener{
		Name:         fmt.Sprintf("listener_%d_%s", i, name),
		Protocol:     key.Transport,
		Port:         key.Port,
		AllowedCIDRs: some(m, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
		Limits:       m.limits(),
	}
	pool := key.Transport
	if key.Transport == model.TCP {
		l.Protocol = pickOne(m, model.TCP, model.TCP, model.HTTP, model.TerminatedHTTPS)
		pool = pickOne(m, model.TCP, model.TCP, model.Proxy, model.ProxyV2)
	}
	if l.Protocol != l.Protocol.Transport() {
		l.InsertHeaders = some(m, "X-Forwarded-For", "X-Forwarded-Proto")
		pool = pickOne(m, model.HTTP, model.HTTP, model.Proxy)
	}
	if l.Protocol == model.TerminatedHTTPS {
		l.TLSContainerRef = pickOne(m, "secrets/a", "secrets/b")
	}
	l.Pool = m.pool(i, pool, 30000+key.Port)
	return l
}

// limits makes limits of which most are not asked for.
func (m maker) limits() (l model.Limits) {
	for _, limit := range l.Named {
		if m.chance(20) {
			*limit = model.Limit{Value: pickOne(m, 0, 1000, 60000), Asked: true}
		}
	}
	return l
}

func (m maker) pool(i int, protocol model.Protocol, port int) model.Pool {
	pool := model.Pool{
		Name:        fmt.Sprintf("pool_%d_%s", i, name),
		Protocol:    protocol,
		Algorithm:   pickOne(m, "ROUND_ROBIN", "LEAST_CONNECTIONS"),
		Persistence: model.Persistence{Type: pickOne(m, "", model.SourceIP)},
		Monitor:     m.monitor(),
	}
	if protocol.Transport() != model.TCP && pool.Persistence.Type != "" {
		pool.Persistence.Timeout = pickOne(m, 0, 60, 600)
	}
	monitorPort := pickOne(m, 0, 0, 31000)
	for _, node := range some(m, 1, 2, 3, 4, 5) {
		pool.Members = pool.Members.With(model.MembersOf(model.Member{
			Name: fmt.Sprintf("node-%d", node), Address: fmt.Sprintf("10.0.0.%d", node), Port: port,
			SubnetID: pickOne(m, "", "subnet-a", "subnet-b"), MonitorPort: monitorPort,
		}))
	}
	return pool
}

func (m maker) monitor() *model.Monitor {
	if m.chance(30) {
		return nil
	}
	monitor := &model.Monitor{
		Name: "monitor", Type: pickOne(m, model.MonitorTCP, model.MonitorHTTP, model.MonitorUDPConnect),
		Delay: pickOne(m, 5, 10), Timeout: pickOne(m, 3, 5), MaxRetries: pickOne(m, 1, 3), MaxRetriesDown: pickOne(m, 1, 3),
	}
	if monitor.Type == model.MonitorHTTP {
		monitor.HTTPMethod, monitor.URLPath, monitor.ExpectedCodes = "GET", pickOne(m, "/healthz", "/"), "200"
	}
	return monitor
}

func (m maker) wantedFloatingIP() *model.FloatingIP {
	if m.chance(30) {
		return nil
	}
	return &model.FloatingIP{NetworkID: "public", Address: pickOne(m, "", "", "203.0.113.1", "203.0.113.2")}
}

// cloud makes a cloud with random contents.
func (m maker) cloud(opts plan.Options) *cloud {
	return &cloud{observed: m.observed(), made: 1000, driver: opts.Driver}
}

// observed makes what the cloud has: nothing, or what another Service asked for,
// with all that can have gone wrong since.
func (m maker) observed() model.Observed {
	c := &cloud{}
	for i := range pickOne(m, 0, 0, 0, 1, 2) {
		c.observed.Duplicates = append(c.observed.Duplicates, m.surplus(i, name))
	}
	addresses := []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"}
	m.Shuffle(len(addresses), func(i, j int) { addresses[i], addresses[j] = addresses[j], addresses[i] })
	for _, address := range addresses[:pickOne(m, 0, 0, 1, 2, 3)] {
		// Another's floating IP is unattached only when the Service asks for its address.
		c.observed.UnattachedFloatingIPs = append(c.observed.UnattachedFloatingIPs, model.FloatingIP{ID: "fip-" + address, Address: address, Owned: true})
	}
	if m.chance(15) {
		return c.observed
	}
	plan.Advance(&c.observed, plan.CreateLoadBalancer{LoadBalancer: m.desired()})
	lb := c.observed.LoadBalancer
	for i := range pickOne(m, 0, 0, 1, 2) {
		lb.Orphans = append(lb.Orphans, m.pool(i, model.TCP, 30080))
	}
	if m.chance(60) {
		lb.FloatingIP = &model.FloatingIP{ID: "fip-" + addresses[3], Address: addresses[3], Owned: m.chance(70)}
	}
	if m.chance(70) {
		m.damage(lb)
	}
	c.identify()
	lb.Sort()
	return c.observed
}

// surplus is a further load balancer of the Service, with a floating IP of its own or
// none.
func (m maker) surplus(i int, name string) model.LoadBalancer {
	lb := model.LoadBalancer{ID: fmt.Sprintf("surplus-%d", i), Name: name}
	if m.chance(40) {
		lb.FloatingIP = &model.FloatingIP{ID: "fip-" + lb.ID, Address: fmt.Sprintf("203.0.113.%d", 100+i), Owned: m.chance(80)}
	}
	return lb
}

// damage leaves a load balancer as the cloud and other people leave it.
func (m maker) damage(lb *model.LoadBalancer) {
	if m.chance(10) {
		lb.Status.Provisioning = "ERROR"
	}
	for i := range pickOne(m, 0, 0, 0, 1, 2) {
		lb.Foreign = append(lb.Foreign, model.Foreign{
			Kind: pickOne(m, "listener", "pool"), ID: fmt.Sprintf("foreign-%d", i), Name: "somebody's",
			Key: model.ListenerKey{Transport: model.TCP, Port: 9000 + i},
		})
	}
	lb.AdminDown = m.chance(10)
	if m.chance(20) {
		lb.Shared = &model.Shared{Owner: "somebody", Removable: m.chance(50)}
	}
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		l.Status, l.AdminDown = m.status(), m.chance(10)
		for _, limit := range l.Limits.Named {
			if !limit.Asked {
				limit.Value = pickOne(m, 0, 1000, 50000) // the operator's, or another client's
			}
		}
		switch {
		case m.chance(5):
			l.Pool = model.Pool{} // another client has removed it
		case m.chance(5) && l.Protocol == model.TCP:
			l.Protocol = model.HTTPS
		}
		m.damagePool(&l.Pool)
	}
	for i := range lb.Orphans {
		m.damagePool(&lb.Orphans[i])
	}
}

func (m maker) damagePool(pool *model.Pool) {
	pool.Status, pool.AdminDown = m.status(), m.chance(10)
	if pool.Monitor != nil {
		pool.Monitor.Status, pool.Monitor.AdminDown = m.status(), m.chance(10)
	}
	fixture.EditMembers(pool, func(_ int, member *model.Member) {
		member.Status, member.Drained, member.AdminDown, member.Backup = m.status(), m.chance(10), m.chance(10), m.chance(10)
		if m.chance(20) {
			member.SubnetID, member.SubnetUnknown = "", true
		}
	})
}

func (m maker) status() model.Status {
	return model.Status{Provisioning: pickOne(m, "ACTIVE", "ACTIVE", "ACTIVE", "ACTIVE", "ERROR", "PENDING_CREATE")}
}

func (m maker) options() plan.Options {
	var opts plan.Options
	opts.KeepFloatingIP, opts.Published, opts.Cascade = m.chance(30), m.chance(50), m.chance(50)
	opts.Driver.Quirks.StaleMonitors = m.chance(30)
	opts.MoveMembers = m.chance(50)
	opts.Driver.Quirks.AlwaysSendSubnet = m.chance(30)
	for _, feature := range []driver.Feature{driver.FullCreate, driver.MemberBatches} {
		if m.chance(30) {
			opts.Driver = opts.Driver.Without(feature)
		}
	}
	return opts
}
