package loadbalancer_test

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// change is a change of a Service with its effect on the cloud.
type change struct {
	before, after func(*v1.Service)
	writes        int
	check         func(octavia.LoadBalancer) string
}

// run creates a Service with two ports of TCP, changes it, counts the writes, and checks that
// nothing differs then.
func (c change) run(t *testing.T, options environmentOptions) {
	t.Helper()
	env := newEnvironment(t, options)
	nodes, svc := env.nodes(3), service("web", 2)
	if c.before != nil {
		c.before(svc)
	}
	env.ensure(svc, nodes)
	env.Cloud.RequestLog.Reset()

	c.after(svc)
	env.ensure(svc, nodes)

	env.writes(c.writes)
	if problem := c.check(env.loadBalancer()); problem != "" {
		t.Error(problem)
	}
	env.unchanged(svc, nodes)
}

func set(pairs ...string) func(*v1.Service) {
	return func(svc *v1.Service) {
		for i := 0; i < len(pairs); i += 2 {
			svc.Annotations[pairs[i]] = pairs[i+1]
		}
	}
}

func unset(names ...string) func(*v1.Service) {
	return func(svc *v1.Service) {
		for _, name := range names {
			delete(svc.Annotations, name)
		}
	}
}

// protocolsOf prints each listener as PORT LISTENER→POOL, in the order of ports.
func protocolsOf(lb octavia.LoadBalancer) []string {
	var all []string
	for _, l := range lb.Listeners {
		text := itoa(l.ProtocolPort) + " " + l.Protocol + "→"
		for _, p := range lb.Pools {
			if p.ID == l.DefaultPoolID {
				text += p.Protocol
			}
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// speak checks the protocols of listeners and pools, and that no pool is left over.
func speak(want ...string) func(octavia.LoadBalancer) string {
	return func(lb octavia.LoadBalancer) string {
		if len(lb.Pools) != len(lb.Listeners) {
			return "a pool is left over, or missing"
		}
		return cmp.Diff(want, protocolsOf(lb))
	}
}

// each checks every listener.
func each(check func(*octavia.Listener) string) func(octavia.LoadBalancer) string {
	return func(lb octavia.LoadBalancer) string {
		for _, l := range lb.Listeners {
			if problem := check(l); problem != "" {
				return problem
			}
		}
		return ""
	}
}

// TestListeners_ChangeLimitsInPlace checks that each port costs one PUT, whichever limits change.
//
//proves:42
func TestListeners_ChangeLimitsInPlace(t *testing.T) {
	t.Parallel()
	all := set(annotation.ConnLimit, "1000", annotation.ClientData, "60000", annotation.MemberConnect, "6000",
		annotation.MemberData, "0", annotation.TCPInspect, "10")
	is := func(limit, client, connect, member, inspect int) func(octavia.LoadBalancer) string {
		return each(func(l *octavia.Listener) string {
			return cmp.Diff([]int{limit, client, connect, member, inspect},
				[]int{l.ConnectionLimit, l.TimeoutClientData, l.TimeoutMemberConnect, l.TimeoutMemberData, l.TimeoutTCPInspect})
		})
	}
	for name, c := range map[string]change{
		"asked for at last": {after: all, writes: 2, check: is(1000, 60000, 6000, 0, 10)},
		"together with source ranges": {
			after:  func(svc *v1.Service) { all(svc); svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} },
			writes: 2, check: is(1000, 60000, 6000, 0, 10),
		},
		"changed":               {before: all, after: set(annotation.ClientData, "70000"), writes: 2, check: is(1000, 70000, 6000, 0, 10)},
		"what they are already": {after: set(annotation.ClientData, "50000", annotation.ConnLimit, "-1"), check: is(-1, 50000, 5000, 50000, 0)},
		"one is not asked for any more": {
			before: all, after: unset(annotation.ConnLimit), writes: 2, check: is(-1, 60000, 6000, 0, 10),
		},
		"none is asked for any more": {
			before: all, after: unset(annotation.ConnLimit, annotation.ClientData, annotation.MemberConnect, annotation.MemberData, annotation.TCPInspect),
			writes: 2, check: is(-1, 50000, 5000, 50000, 0),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t, environmentOptions{})
		})
	}
}

// TestListeners_ReturnToOperatorLimitsWhenNoneIsAskedFor checks that limits without a setting are
// not sent, and that a limit returns to the operator's default when its setting is removed.
//
//proves:42
func TestListeners_ReturnToOperatorLimitsWhenNoneIsAskedFor(t *testing.T) {
	t.Parallel()
	c := change{
		before: set(annotation.MemberConnect, "5000"),
		after:  unset(annotation.MemberConnect),
		writes: 2,
		check: each(func(l *octavia.Listener) string {
			return cmp.Diff([]int{-1, 1000, 2000, 3000, 4}, []int{l.ConnectionLimit, l.TimeoutClientData, l.TimeoutMemberConnect, l.TimeoutMemberData, l.TimeoutTCPInspect})
		}),
	}
	operator := func(o *octavia.Options) {
		o.Timeouts = &octavia.Timeouts{ClientData: 1000, MemberConnect: 2000, MemberData: 3000, TCPInspect: 4}
	}
	c.run(t, environmentOptions{simulator: simulator.Options{Octavia: operator}})
}

// TestCloudConf_YieldsToClassWhichYieldsToAnnotation checks the order: annotation before class
// before section.
//
//proves:34,42
func TestCloudConf_YieldsToClassWhichYieldsToAnnotation(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"timeout-client-data": "1000", "timeout-member-data": "2000", "timeout-tcp-inspect": "30"}})
	yes := true
	env.Conf.LoadBalancerClass = map[string]*config.LoadBalancerClass{"slow": {
		TimeoutClientData: number(3000), TimeoutMemberData: number(4000), ConnectionLimit: number(7), LBMethod: "SOURCE_IP",
		InternalLB: &yes, CreateMonitor: &yes, MonitorDelay: config.Duration{Duration: 9 * time.Second},
	}}
	nodes, svc := env.nodes(2), service("web", 1)
	set(annotation.Class, "slow", annotation.ClientData, "5000")(svc)
	env.ensure(svc, nodes)
	lb := env.loadBalancer()
	l, pool := lb.Listeners[0], lb.Pools[0]
	got := []int{l.TimeoutClientData, l.TimeoutMemberData, l.TimeoutTCPInspect, l.ConnectionLimit, pool.Monitor.Delay}
	if diff := cmp.Diff([]int{5000, 4000, 30, 7, 9}, got); diff != "" {
		t.Error(diff)
	}
	if pool.Algorithm != "SOURCE_IP" {
		t.Errorf("algorithm %s", pool.Algorithm)
	}
	env.floatingIPs(0)

	delete(svc.Annotations, annotation.Class)
	env.ensure(svc, nodes)
	lb = env.loadBalancer()
	l, pool = lb.Listeners[0], lb.Pools[0]
	if got := []int{l.TimeoutClientData, l.TimeoutMemberData, l.TimeoutTCPInspect, l.ConnectionLimit}; !slices.Equal(got, []int{5000, 2000, 30, -1}) {
		t.Errorf("without the class: %v", got)
	}
	if pool.Monitor != nil || pool.Algorithm != "ROUND_ROBIN" {
		t.Errorf("without the class: %+v", pool)
	}
	env.floatingIPs(1)
	env.unchanged(svc, nodes)
}

// TestListeners_ChangeProtocolsWithNoMoreWritesThanNeeded counts the writes for changes of
// protocols. A change of only the pool's protocol never deletes a listener.
//
//proves:5,6,7,11,12,13
func TestListeners_ChangeProtocolsWithNoMoreWritesThanNeeded(t *testing.T) {
	t.Parallel()
	udp := func(svc *v1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolUDP, 80)) }
	const ref = "https://elsewhere.example.com/v1/secrets/a"
	tls, monitored := set(annotation.TLSContainer, ref), set(annotation.Monitor, "true")
	// Create a pool with its members, update the listener, delete the old pool.
	const anotherPool, itsMonitor = 4, 1
	// The same, but with another listener.
	const another = 5
	for name, c := range map[string]change{
		"PROXY": {before: udp, after: set(annotation.ProxyProtocol, "true"), writes: 2 * anotherPool, check: speak("80 TCP→PROXY", "80 UDP→UDP", "81 TCP→PROXY")},
		"PROXY, with monitors": {
			before: monitored, after: set(annotation.ProxyProtocol, "v1"), writes: 2 * (anotherPool + itsMonitor), check: speak("80 TCP→PROXY", "81 TCP→PROXY"),
		},
		"PROXY of version 2": {
			before: set(annotation.ProxyProtocol, "v1"), after: set(annotation.ProxyProtocol, "v2"),
			writes: 2 * anotherPool, check: speak("80 TCP→PROXYV2", "81 TCP→PROXYV2"),
		},
		"no PROXY any more": {
			before: both(udp, set(annotation.ProxyProtocol, "v2")), after: set(annotation.ProxyProtocol, "false"),
			writes: 2 * anotherPool, check: speak("80 TCP→TCP", "80 UDP→UDP", "81 TCP→TCP"),
		},
		"forwarded headers":             {before: udp, after: set(annotation.ForwardedFor, "true"), writes: 2 * another, check: speak("80 HTTP→HTTP", "80 UDP→UDP", "81 HTTP→HTTP")},
		"no forwarded headers any more": {before: set(annotation.ForwardedFor, "true"), after: unset(annotation.ForwardedFor), writes: 2 * another, check: speak("80 TCP→TCP", "81 TCP→TCP")},
		"another header": {
			before: set(annotation.ForwardedFor, "true"), after: set(annotation.ForwardedProto, "true", annotation.ForwardedPort, "true"), writes: 2,
			check: each(func(l *octavia.Listener) string {
				return cmp.Diff([]string{"X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"}, slices.Sorted(maps.Keys(l.InsertHeaders)))
			}),
		},
		"a header less": {
			before: set(annotation.ForwardedFor, "true", annotation.ForwardedProto, "true"), after: unset(annotation.ForwardedFor), writes: 2,
			check: each(func(l *octavia.Listener) string {
				return cmp.Diff([]string{"X-Forwarded-Proto"}, slices.Sorted(maps.Keys(l.InsertHeaders)))
			}),
		},
		"TLS":                           {before: udp, after: tls, writes: 2 * another, check: speak("80 TERMINATED_HTTPS→HTTP", "80 UDP→UDP", "81 TERMINATED_HTTPS→HTTP")},
		"TLS keeps the pools of HTTP":   {before: set(annotation.ForwardedFor, "true"), after: tls, writes: 2 * 2, check: speak("80 TERMINATED_HTTPS→HTTP", "81 TERMINATED_HTTPS→HTTP")},
		"HTTPS keeps the pools of TCP":  {after: set(annotation.Protocols, "80=HTTPS"), writes: 2, check: speak("80 HTTPS→TCP", "81 TCP→TCP")},
		"another certificate, in place": {before: tls, after: set(annotation.TLSContainer, ref+"2"), writes: 2, check: each(func(l *octavia.Listener) string { return cmp.Diff(ref+"2", l.TLS.DefaultContainerRef) })},
		"PROXY and TLS": {
			before: tls, after: set(annotation.ProxyProtocol, "true"), writes: 2 * anotherPool, check: speak("80 TERMINATED_HTTPS→PROXY", "81 TERMINATED_HTTPS→PROXY"),
		},
		"of single ports": {
			before: tls, after: set(annotation.Protocols, "p80=HTTP"), writes: 2, check: speak("80 HTTP→HTTP", "81 TERMINATED_HTTPS→HTTP"),
		},
		"of an appProtocol of ours": {
			after:  func(svc *v1.Service) { svc.Spec.Ports[0].AppProtocol = text(annotation.Prefix + "http") },
			writes: another, check: speak("80 HTTP→HTTP", "81 TCP→TCP"),
		},
		"no appProtocol that others wrote": {
			after: func(svc *v1.Service) {
				svc.Spec.Ports[0].AppProtocol, svc.Spec.Ports[1].AppProtocol = text("http"), text("https")
			},
			check: speak("80 TCP→TCP", "81 TCP→TCP"),
		},
		"an appProtocol that others wrote, if asked to": {
			before: func(svc *v1.Service) {
				svc.Spec.Ports[0].AppProtocol, svc.Spec.Ports[1].AppProtocol = text("http"), text("https")
			},
			after: set(annotation.AppProtocol, "true"), writes: another + 2, check: speak("80 HTTP→HTTP", "81 HTTPS→TCP"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t, environmentOptions{keys: map[string]string{"container-store": "external"}})
		})
	}
}

// Kubernetes sets a timeout of 10800 seconds in every Service without one, so that value is no
// request of a user. Others are applied to UDP and SCTP, the only protocols for which Octavia has
// one.
//
//proves:37,50,51
func TestEnsure_ChangesSessionAffinityInPlace(t *testing.T) {
	t.Parallel()
	affinity := func(seconds int32) func(*v1.Service) {
		return func(svc *v1.Service) {
			svc.Spec.Ports[1] = port(v1.ProtocolUDP, 53)
			svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
			svc.Spec.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: &seconds}}
		}
	}
	is := func(udp int) func(octavia.LoadBalancer) string {
		return func(lb octavia.LoadBalancer) string {
			for _, p := range lb.Pools {
				seconds := 0
				if p.Persistence == nil || p.Persistence.Type != "SOURCE_IP" {
					return "no session persistence"
				}
				if p.Persistence.Timeout != nil {
					seconds = *p.Persistence.Timeout
				}
				if want := map[string]int{"UDP": udp}[p.Protocol]; seconds != want {
					return p.Protocol + " has a timeout of " + itoa(seconds)
				}
			}
			return ""
		}
	}
	for name, c := range map[string]change{
		"asked for":                      {before: affinity(10800), after: affinity(600), writes: 1, check: is(600)},
		"changed":                        {before: affinity(600), after: affinity(60), writes: 1, check: is(60)},
		"left to the provider again":     {before: affinity(600), after: affinity(10800), writes: 1, check: is(0)},
		"what Kubernetes writes":         {before: affinity(10800), after: set(), check: is(0)},
		"with an algorithm, in one each": {before: affinity(10800), after: both(affinity(600), set(annotation.Method, "SOURCE_IP")), writes: 2, check: is(600)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t, environmentOptions{})
		})
	}
	// Its driver keeps no client without a timeout, and Octavia has none for TCP.
	ovn := environmentOptions{keys: map[string]string{"lb-provider": "ovn"}, simulator: simulator.Options{Release: "2025.1"}}
	for name, c := range map[string]change{
		"what Kubernetes writes, sent to ovn": {before: affinity(10800), after: set(), check: is(10800)},
		"changed on ovn":                      {before: affinity(10800), after: affinity(60), writes: 1, check: is(60)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t, ovn)
		})
	}
	t.Run("emitted for TCP", func(t *testing.T) {
		t.Parallel()
		env := newEnvironment(t, environmentOptions{})
		nodes, svc := env.nodes(1), service("web", 2)
		affinity(600)(svc)
		env.ensure(svc, nodes)
		if emitted := env.emitted(); !strings.Contains(emitted, "timeoutSeconds: has no effect on TCP ports") {
			t.Errorf("no event reports it in\n%s", emitted)
		}
	})
}

func text(s string) *string { return &s }

func number(n int) *int { return &n }

// TestListeners_OfTCPUDPAndSCTPShareOnePort creates TCP, UDP and SCTP at once, on one port.
//
//proves:1,2,3,4
func TestListeners_OfTCPUDPAndSCTPShareOnePort(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "ovn"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"lb-provider": provider}})
			nodes, svc := env.nodes(2), service("web", 0)
			for i, protocol := range []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP} {
				p := port(protocol, 5000)
				p.Name, p.NodePort = strings.ToLower(string(protocol)), int32(31000+i)
				svc.Spec.Ports = append(svc.Spec.Ports, p)
			}
			env.ensure(svc, nodes)
			if problem := speak("5000 SCTP→SCTP", "5000 TCP→TCP", "5000 UDP→UDP")(env.loadBalancer()); problem != "" {
				t.Error(problem)
			}
			env.unchanged(svc, nodes)

			svc.Spec.Ports = svc.Spec.Ports[:2]
			env.ensure(svc, nodes)
			if problem := speak("5000 TCP→TCP", "5000 UDP→UDP")(env.loadBalancer()); problem != "" {
				t.Error(problem)
			}
		})
	}
}

// Certificates are read for a creation and for a change, and only then.
//
//proves:6
func TestTLS_LooksForCertificateBeforeFirstWrite(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	secrets := env.Cloud.URL() + "/key-manager/v1/secrets/"
	stored := env.certificate()
	const nothing = "00000000-0000-0000-0000-000000000000"
	nodes, svc := env.nodes(2), service("web", 1)
	for _, bad := range []string{"a name", secrets + nothing, "https://barbican/v1/orders/" + nothing, "https://barbican/v1/secrets/1"} {
		svc.Annotations[annotation.TLSContainer] = bad
		env.refused(svc, nodes, "metadata.annotations["+annotation.TLSContainer+"]")
	}
	env.writes(0)

	svc.Annotations[annotation.TLSContainer] = stored
	env.ensure(svc, nodes)
	if problem := speak("80 TERMINATED_HTTPS→HTTP")(env.loadBalancer()); problem != "" {
		t.Error(problem)
	}
	env.Cloud.RequestLog.Reset()
	svc.Annotations[annotation.TLSContainer] = secrets + nothing
	env.refused(svc, nodes, "Not found")
	env.writes(0)

	svc.Annotations[annotation.TLSContainer] = stored
	env.Cloud.RequestLog.Reset()
	env.unchanged(svc, nodes)
	for _, r := range env.Cloud.RequestLog.Requests() {
		if strings.Contains(r.Path, "/key-manager/") {
			t.Errorf("asks again: %s %s", r.Method, r.Path)
		}
	}
}

// The refusal describes the alternative.
//
//proves:7,13,115
func TestListeners_RefuseImpossibleProtocolsBeforeFirstWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider string
		change   func(*v1.Service)
		want     string
	}{
		"PROXY at ovn":         {"ovn", set(annotation.ProxyProtocol, "v1"), "proxy-protocol]: Forbidden: the provider ovn has no PROXY protocol"},
		"headers at ovn":       {"ovn", set(annotation.ForwardedFor, "true"), "asks for a listener of HTTP: the provider ovn has no"},
		"TLS at ovn":           {"ovn", set(annotation.TLSContainer, "https://b/v1/secrets/a"), "asks for a listener of TERMINATED_HTTPS: the provider ovn has no TLS"},
		"PROXY and forwarded":  {"amphora", set(annotation.ProxyProtocol, "v1", annotation.ForwardedFor, "true"), "choose one of the two"},
		"TLS without a secret": {"amphora", set(annotation.Protocols, "81=TERMINATED_HTTPS"), "default-tls-container-ref]: Required value: port 81 terminates TLS"},
		"no such port":         {"amphora", set(annotation.Protocols, "web=HTTP"), `listener-protocols]: Invalid value: "web": the Service has no port`},
		"a port of UDP": {"amphora", func(svc *v1.Service) {
			svc.Spec.Ports[1].Protocol = v1.ProtocolUDP
			set(annotation.Protocols, "81=HTTP")(svc)
		}, "is a port of UDP"},
		"no such protocol":    {"amphora", set(annotation.Protocols, "80=QUIC"), "listener-protocols]: Invalid value"},
		"no such appProtocol": {"amphora", func(svc *v1.Service) { svc.Spec.Ports[0].AppProtocol = text(annotation.Prefix + "quic") }, "spec.ports[0].appProtocol: Unsupported value"},
		"an appProtocol of UDP": {"amphora", func(svc *v1.Service) {
			svc.Spec.Ports[0].Protocol = v1.ProtocolUDP
			svc.Spec.Ports[0].AppProtocol = text(annotation.Prefix + "http")
		}, "spec.ports[0].appProtocol: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"lb-provider": c.provider}})
			nodes, svc := env.nodes(2), service("web", 2)
			c.change(svc)
			env.refused(svc, nodes, c.want)
			env.writes(0)
		})
	}
}

// A setting that restricts nothing if it is missing is ignored with an event.
//
//proves:42,115
func TestProvider_ReportsSettingsItDoesNotSupport(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"lb-provider": "ovn"}})
	nodes, svc := env.nodes(2), service("web", 1)
	set(annotation.ClientData, "1000", annotation.ConnLimit, "5")(svc)
	env.ensure(svc, nodes)
	if l := env.loadBalancer().Listeners[0]; l.TimeoutClientData != 50000 || l.ConnectionLimit != -1 {
		t.Errorf("sent all the same: %+v", l)
	}
	emitted := env.emitted()
	for _, want := range []string{
		annotation.ClientData + ": has no effect: the provider ovn has no timeouts of listeners",
		annotation.ConnLimit + ": has no effect: the provider ovn has no connection limits",
	} {
		if !strings.Contains(emitted, want) {
			t.Errorf("no event has %q in\n%s", want, emitted)
		}
	}
	env.unchanged(svc, nodes)
}

// Octavia reads the certificates of a load balancer anew at each change, and puts a listener into ERROR if its own is gone.
//
//proves:6
func TestTLS_ReplacesCertificateDeletedWhileInUse(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	stored := env.certificate()
	all, svc := env.nodes(4), service("web", 1)
	svc.Annotations[annotation.TLSContainer] = stored
	env.ensure(svc, all[:2])
	env.Cloud.Barbican.RemoveSecret(stored)
	nodes := all[:3]
	for what, act := range []func(){func() {}, func() {}, env.restart, func() { nodes = all }} {
		act()
		env.Cloud.RequestLog.Reset()
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		if err == nil || !strings.Contains(err.Error(), stored) || !strings.Contains(err.Error(), "no longer has") || strings.Contains(err.Error(), "failover") {
			t.Errorf("%d: %v", what, err)
		}
		if n := env.listenerWrites(); n > 0 {
			t.Errorf("%d: %d writes of the listener", what, n)
		}
		if lb := env.loadBalancer(); lb.Listeners[0].ProvisioningStatus != octavia.Error || len(lb.Pools[0].Members) != len(nodes) {
			t.Errorf("%d: listener %s, %d members of %d", what, lb.Listeners[0].ProvisioningStatus, len(lb.Pools[0].Members), len(nodes))
		}
	}
	svc.Annotations[annotation.TLSContainer] = env.certificate()
	env.ensure(svc, nodes)
	if problem := speak("80 TERMINATED_HTTPS→HTTP")(env.loadBalancer()); problem != "" {
		t.Error(problem)
	}
	env.unchanged(svc, nodes)
}

// Certificates of another store cannot be read: then Octavia's answer shows that one is gone.
func TestTLS_WritesListenerOnceInARoundIfItStaysInError(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"container-store": "external"}})
	stored := env.certificate()
	nodes, svc := env.nodes(3), service("web", 1)
	svc.Annotations[annotation.TLSContainer] = stored
	env.ensure(svc, nodes[:2])
	env.Cloud.Barbican.RemoveSecret(stored)
	for round := range 2 {
		env.Cloud.RequestLog.Reset()
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		var retry *api.RetryError
		if err == nil || !strings.Contains(err.Error(), "listener_0_kube_service_kubernetes_default_web is ERROR") || !errors.As(err, &retry) || retry.RetryAfter() < 5*time.Minute {
			t.Errorf("round %d: %v", round, err)
		}
		if n := env.listenerWrites(); n != 1 {
			t.Errorf("round %d: %d writes of the listener", round, n)
		}
	}
}

// A certificate that cannot be looked for may exist: Octavia reads it with rights of its own.
func TestTLS_ChangesListenerIfCertificateInUseCannotBeRead(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	svc.Annotations[annotation.TLSContainer] = env.certificate()
	env.ensure(svc, nodes)
	env.Cloud.Faults.Add(faultOn(http.MethodGet, "/key-manager/v1/secrets/**", http.StatusForbidden))
	svc.Annotations[annotation.ClientData] = "1000"
	env.ensure(svc, nodes)
	if got := env.loadBalancer().Listeners[0].TimeoutClientData; got != 1000 {
		t.Errorf("the timeout is %d", got)
	}
}

// listenerWrites returns the number of requests since the last reset that change a listener.
func (env *environment) listenerWrites() int {
	n := 0
	for _, r := range env.Cloud.RequestLog.Requests(requestlog.Writes()) {
		if strings.Contains(r.Path, "/lbaas/listeners") {
			n++
		}
	}
	return n
}
