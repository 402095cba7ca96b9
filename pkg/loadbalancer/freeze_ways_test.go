package loadbalancer_test

import (
	"net/http"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// refusing is a way in which a Service with a load balancer is refused.
type refusing struct {
	// prepare is called before the load balancer exists, spoil after; either may be nil.
	prepare, spoil func(w *environment, svc *v1.Service)
	// want is a part of the error, reason that of the metric.
	want, reason string
	// byCloud is set if the cloud refuses it, after the first write; shared if another Service uses
	// the load balancer, which outlives this one.
	byCloud, shared bool
}

const (
	listenersRoute = "/load-balancer/v2.0/lbaas/listeners"
	absent         = "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"
)

func annotated(name, value string) func(*environment, *v1.Service) {
	return func(_ *environment, svc *v1.Service) { svc.Annotations[name] = value }
}

// anotherPort adds a port to the Service.
func anotherPort(_ *environment, svc *v1.Service) {
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443))
}

// answered sets the cloud's answer to a kind of request from now on, and changes the Service so
// that it needs that request.
func answered(method, route string, status int, body string, ask func(*environment, *v1.Service)) func(*environment, *v1.Service) {
	return func(env *environment, svc *v1.Service) {
		env.Cloud.Faults.Add(faults.Rule{Method: method, Route: route, Status: status, Body: body, Worded: body == ""})
		ask(env, svc)
	}
}

func classed(env *environment, svc *v1.Service) {
	env.Conf.LoadBalancerClass = map[string]*config.LoadBalancerClass{"gold": {FloatingNetworkID: env.Cloud.ExternalNetwork.ID}}
	svc.Annotations[annotation.Class] = "gold"
}

// waysOfRefusal returns all ways in which a Service with a load balancer can be refused.
func waysOfRefusal() map[string]refusing {
	quotaMet := func(of string) string {
		return `{"faultcode": "Client", "faultstring": "Quota has been met for resources: ` + of + `"}`
	}
	return map[string]refusing{
		"a number that is none":        {spoil: annotated(annotation.MaxMembers, "many"), want: "many", reason: "invalid"},
		"a boolean that is none":       {spoil: annotated(annotation.AppProtocol, "perhaps"), want: "perhaps", reason: "invalid"},
		"a selector that is none":      {spoil: annotated(annotation.NodeSelector, "a in ("), want: annotation.NodeSelector, reason: "invalid"},
		"a host name that is none":     {spoil: annotated(annotation.Hostname, "a b"), want: annotation.Hostname, reason: "invalid"},
		"a port without a NodePort":    {spoil: func(env *environment, svc *v1.Service) { anotherPort(env, svc); svc.Spec.Ports[2].NodePort = 0 }, want: "nodePort", reason: "invalid"},
		"a source range that is none":  {spoil: func(_ *environment, svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"all"} }, want: "all", reason: "invalid"},
		"a limit of cloud.conf":        {prepare: func(env *environment, _ *v1.Service) { env.Conf.LoadBalancer.MaxPorts = 2 }, spoil: anotherPort, want: "max-ports", reason: "invalid"},
		"an annotation that is denied": {spoil: annotated(annotation.FloatingIPID, absent), want: "deny-annotations", reason: "invalid"},
		"a typing error":               {prepare: annotated(annotation.ClientData, "5000"), spoil: annotated(annotation.ClientData, "5s"), want: "would change the load balancer", reason: "invalid"},
		"two ways to name a floating IP": {prepare: func(env *environment, _ *v1.Service) {
			env.Conf.LoadBalancer.DenyAnnotations = ""
			env.restart() // it is read once
		}, spoil: func(_ *environment, svc *v1.Service) {
			svc.Annotations[annotation.FloatingIPTag] = "x"
			svc.Spec.LoadBalancerIP = "127.200.9.9"
		}, want: "also requested by", reason: "unsupported"},
		"a class that is not there":  {spoil: annotated(annotation.Class, "gone"), want: "gone", reason: "unavailable"},
		"a class that is gone":       {prepare: classed, spoil: func(env *environment, _ *v1.Service) { env.Conf.LoadBalancerClass = nil }, want: "gold", reason: "unavailable"},
		"a flavor that is not there": {spoil: annotated(annotation.FlavorID, "no-such-flavor"), want: "no-such-flavor", reason: "unavailable"},
		"a certificate that is not there": {spoil: func(env *environment, svc *v1.Service) {
			svc.Annotations[annotation.TLSContainer] = env.Cloud.URL() + "/key-manager/v1/secrets/" + absent
		}, want: "Not found", reason: "unavailable"},
		"a certificate that has vanished": {
			prepare: func(env *environment, svc *v1.Service) { svc.Annotations[annotation.TLSContainer] = env.certificate() },
			spoil:   answered(http.MethodGet, "/key-manager/v1/secrets/**", http.StatusNotFound, "", anotherPort), want: "Not found", reason: "unavailable"},
		"a certificate that nobody can look for": {
			spoil: answered(http.MethodGet, "/key-manager/v1/secrets/**", http.StatusForbidden, "", func(env *environment, svc *v1.Service) {
				svc.Annotations[annotation.TLSContainer] = env.certificate()
			}), want: "403", reason: "unavailable"},
		"an address that is in use": {spoil: func(env *environment, svc *v1.Service) {
			used := env.floatingIP("127.200.7.7", "somebody's")
			if _, err := env.Cloud.Neutron.AssociateFloatingIP(used.ID, env.nodePorts()[0], ""); err != nil {
				env.T.Fatal(err)
			}
			svc.Spec.LoadBalancerIP = "127.200.7.7"
		}, want: "in use", reason: "unavailable"},
		"another's load balancer": {spoil: func(env *environment, svc *v1.Service) {
			svc.Annotations[annotation.LoadBalancerID] = env.byHand("kube_service_other_default_web", "Kubernetes external service default/web from cluster other").ID
		}, want: "is not this Service's", reason: "not_owned"},
		"a port that is taken": {spoil: func(env *environment, svc *v1.Service) {
			foreignListener(env.T, env, env.loadBalancer().ID, 443)
			anotherPort(env, svc)
		}, want: "is taken", reason: "conflict", shared: true},
		"a quota of listeners": {spoil: answered(http.MethodPost, listenersRoute, http.StatusForbidden, quotaMet("Listener"), anotherPort), want: "Quota has been met", reason: "quota", byCloud: true},
		"a quota of pools":     {spoil: answered(http.MethodPost, "/load-balancer/v2.0/lbaas/pools", http.StatusForbidden, quotaMet("Pool"), anotherPort), want: "Quota has been met", reason: "quota", byCloud: true},
		"a quota of monitors": {spoil: answered(http.MethodPost, "/load-balancer/v2.0/lbaas/healthmonitors", http.StatusForbidden, quotaMet("Health Monitor"), anotherPort),
			want: "Quota has been met", reason: "quota", byCloud: true},
		"a quota of load balancers": {spoil: answered(http.MethodPost, lbRoute, http.StatusForbidden, quotaMet("Load Balancer"), func(env *environment, svc *v1.Service) {
			svc.Annotations[annotation.AllowReplace] = "true"
			svc.Annotations[annotation.FlavorID] = env.catalogue().ID
		}), want: "Quota has been met", reason: "quota", byCloud: true},
		"a quota of floating IPs": {spoil: answered(http.MethodPost, fipRoute, http.StatusConflict, `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['floatingip'].", "detail": ""}}`,
			func(_ *environment, svc *v1.Service) { svc.Spec.LoadBalancerIP = "127.200.7.7" }), want: "Quota exceeded", reason: "quota", byCloud: true},
		"a quota of rules": {spoil: answered(http.MethodPost, rulesRoute, http.StatusConflict, `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['security_group_rule'].", "detail": ""}}`, anotherPort),
			want: "security_group_rule", reason: "quota", byCloud: true},
		"a full subnet": {spoil: answered(http.MethodPost, fipRoute, http.StatusConflict, `{"NeutronError": {"type": "IpAddressGenerationFailure", "message": "No more IP addresses available on network x.", "detail": ""}}`,
			func(_ *environment, svc *v1.Service) { svc.Spec.LoadBalancerIP = "127.200.7.7" }), want: "No more IP addresses", reason: "quota", byCloud: true},
		"a conflict that stays": {spoil: answered(http.MethodPost, listenersRoute, http.StatusConflict, `{"faultcode": "Client", "faultstring": "Another Listener on this Load Balancer is already using protocol_port 443"}`, anotherPort),
			want: "already using", reason: "conflict", byCloud: true},
		"a value that the cloud refuses": {spoil: answered(http.MethodPut, listenersRoute+"/*", http.StatusBadRequest, `{"faultcode": "Client", "faultstring": "Invalid input for field/attribute timeout_client_data"}`,
			annotated(annotation.ClientData, "1000")), want: "Invalid input", reason: "cloud", byCloud: true},
		"an option of the provider": {spoil: answered(http.MethodPut, listenersRoute+"/*", http.StatusNotImplemented, `{"faultcode": "Server", "faultstring": "Provider 'amphora' does not support a requested option"}`,
			annotated(annotation.ClientData, "1000")), want: "does not support", reason: "unsupported", byCloud: true},
		"a role that is missing": {spoil: answered(http.MethodPost, listenersRoute, http.StatusForbidden, "", anotherPort), want: "403", reason: "cloud", byCloud: true},
	}
}
