package walk

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/sweep"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// set changes a setting that few Services have, or reverts that.
func (r *run) set(a, b int) {
	key := r.key(a)
	if known := r.env.Cluster.Service(key); known == nil || known.DeletionTimestamp != nil {
		return
	}
	settings := r.settings()
	r.env.Cluster.Edit(key, func(svc *v1.Service) {
		settings[b%len(settings)](svc)
		fit(svc)
	})
}

// settings returns the changes. The first ones work with every provider.
func (r *run) settings() []func(*v1.Service) {
	all := []func(*v1.Service){
		flip(annotation.IPMode, "Proxy", "VIP"), flip(annotation.Hostname, "www.example.com", ""), flip(annotation.IngressHostname, "true", ""),
		flip(annotation.MemberAddress, "true", ""),
	}
	if !r.restricts() {
		return all
	}
	ofFirst := func(name, value string) func(*v1.Service) {
		return func(svc *v1.Service) { flip(fmt.Sprintf("%s.%d", name, svc.Spec.Ports[0].Port), value, "")(svc) }
	}
	ofLast := func(name, value string) func(*v1.Service) {
		return func(svc *v1.Service) { flip(name+"."+svc.Spec.Ports[len(svc.Spec.Ports)-1].Name, value, "")(svc) }
	}
	return append(all, cookies, ofFirst(annotation.Method, "LEAST_CONNECTIONS"), ofLast(annotation.ProxyProtocol, "v2"), ofLast(annotation.MonitorPath, "/ready"))
}

// cookies has a Service keep clients by a cookie of the load balancer, of the application, or by none.
func cookies(svc *v1.Service) {
	svc.Annotations[annotation.ForwardedFor] = "true" // makes its ports HTTP
	switch svc.Annotations[annotation.Persistence] {
	case "":
		svc.Annotations[annotation.Persistence] = "HTTP_COOKIE"
	case "HTTP_COOKIE":
		svc.Annotations[annotation.Persistence], svc.Annotations[annotation.CookieName] = "APP_COOKIE", "sid"
	default:
		withoutCookies(svc)
	}
}

func withoutCookies(svc *v1.Service) {
	delete(svc.Annotations, annotation.Persistence)
	delete(svc.Annotations, annotation.CookieName)
}

// fit removes the settings that are refused after another change: of ports that are gone, and cookies or
// PROXY headers that do not agree with the protocol.
func fit(svc *v1.Service) {
	isTCP := func(p v1.ServicePort) bool { return p.Protocol == v1.ProtocolTCP }
	isHTTP := svc.Annotations[annotation.ForwardedFor] == "true" && slices.ContainsFunc(svc.Spec.Ports, isTCP)
	if !isHTTP {
		withoutCookies(svc)
	}
	for name := range svc.Annotations {
		base, port := annotation.Base(name)
		fits := func(p v1.ServicePort) bool {
			return (port == p.Name || port == fmt.Sprint(p.Port)) && (base != annotation.ProxyProtocol || isTCP(p) && !isHTTP)
		}
		if slices.Contains(annotation.PerPort(), base) && port != "" && !slices.ContainsFunc(svc.Spec.Ports, fits) {
			delete(svc.Annotations, name)
		}
	}
}

// manage has the objects of a Service not written, or written again.
func (r *run) manage(a, _ int) {
	key := r.key(a)
	svc := r.env.Cluster.Service(key)
	if svc == nil || !serves(svc) {
		return
	}
	r.env.Cluster.Edit(key, flip(annotation.Managed, "false", ""))
}

// manageAgain has the objects of a Service written again: those of a deleted one would stay.
func (r *run) manageAgain(key testenv.Key) {
	if svc := r.env.Cluster.Service(key); svc != nil && svc.Annotations[annotation.Managed] != "" {
		r.env.Cluster.Edit(key, func(svc *v1.Service) { delete(svc.Annotations, annotation.Managed) })
	}
}

// mode returns the members that a Service requests, "" for the default.
func mode(svc *v1.Service) string {
	switch {
	case svc.Annotations[annotation.Members] != "":
		return svc.Annotations[annotation.Members]
	case svc.Annotations[annotation.Class] == sweep.PodClass:
		return annotation.MembersPods
	}
	return ""
}

// flipPods makes the pods of a Service its members, or all nodes.
func flipPods(svc *v1.Service) {
	switch mode(svc) {
	case "": // its pods are not known
	case annotation.MembersPods:
		delete(svc.Annotations, annotation.Class)
		svc.Annotations[annotation.Members] = annotation.MembersNodes
	default:
		delete(svc.Annotations, annotation.Members)
		svc.Annotations[annotation.Class] = sweep.PodClass
	}
}
