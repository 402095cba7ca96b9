package desire

import (
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// ListenerSettings are what is asked of listeners and of how they speak to members.
type ListenerSettings struct {
	// Limits are those that somebody asks for, be it cloud.conf.
	Limits model.Limits
	// annotated names the limits that the Service itself asks for.
	annotated []string
	// Proxy is the protocol of pools whose members get a PROXY header; empty means
	// none do.
	Proxy model.Protocol
	// Headers are those that requests get, sorted.
	Headers []string
	// TLSContainerRef is the certificate of listeners that end TLS; ExternalStore
	// tells that it is not in Barbican.
	TLSContainerRef string
	ExternalStore   bool
	// Protocols are those that the Service says of single ports; saidOf has the place of
	// each by its port's name or number.
	Protocols []annotation.PortProtocol
	saidOf    map[string]int
	// AppProtocol lets any appProtocol of a port decide.
	AppProtocol bool
}

// The headers that listeners can add to requests.
const (
	headerFor   = "X-Forwarded-For"
	headerPort  = "X-Forwarded-Port"
	headerProto = "X-Forwarded-Proto"
)

func listenerSettings(values annotation.Values, lb config.LoadBalancer) ListenerSettings {
	s := ListenerSettings{
		Limits:          limits(values, lb),
		annotated:       annotatedLimits(values),
		TLSContainerRef: override(values.TLSContainerRef, lb.DefaultTLSContainerRef),
		ExternalStore:   lb.ContainerStore == "external",
		Protocols:       values.Protocols,
		AppProtocol:     lb.AppProtocol,
		saidOf:          map[string]int{},
	}
	for i, said := range s.Protocols {
		s.saidOf[said.Port] = i
	}
	if values.AppProtocol != nil {
		s.AppProtocol = *values.AppProtocol
	}
	switch value(values.ProxyProtocol) {
	case "true", "v1":
		s.Proxy = model.Proxy
	case "v2":
		s.Proxy = model.ProxyV2
	}
	for _, header := range []struct {
		name string
		on   *bool
	}{{headerFor, values.ForwardedFor}, {headerPort, values.ForwardedPort}, {headerProto, values.ForwardedProto}} {
		if value(header.on) {
			s.Headers = append(s.Headers, header.name)
		}
	}
	return s
}

// limits gathers the limits that the Service, its class or cloud.conf names. The
// others are the cloud's: what is not asked for is not sent.
func limits(values annotation.Values, lb config.LoadBalancer) model.Limits {
	limit := func(of, otherwise *int) model.Limit {
		if of == nil {
			of = otherwise
		}
		return model.Limit{Value: value(of), Asked: of != nil}
	}
	return model.Limits{
		ConnectionLimit:      limit(values.ConnectionLimit, lb.ConnectionLimit),
		TimeoutClientData:    limit(values.TimeoutClientData, lb.TimeoutClientData),
		TimeoutMemberConnect: limit(values.TimeoutMemberConnect, lb.TimeoutMemberConnect),
		TimeoutMemberData:    limit(values.TimeoutMemberData, lb.TimeoutMemberData),
		TimeoutTCPInspect:    limit(values.TimeoutTCPInspect, lb.TimeoutTCPInspect),
	}
}

// annotatedLimits names the limits that annotations ask for.
func annotatedLimits(values annotation.Values) []string {
	var names []string
	own := limits(values, config.LoadBalancer{})
	for name, limit := range own.Named {
		if limit.Asked {
			names = append(names, name)
		}
	}
	return names
}

// listenerProtocol gives the protocol of the listener of a port. The first of these
// that says something of it decides:
//
//	UDP and SCTP                                       themselves
//	the annotation listener-protocols                  what it says of the port
//	an appProtocol of loadbalancer.openstack.org/…     what it says
//	a certificate                                      TERMINATED_HTTPS
//	any other appProtocol, if it is to be looked at    HTTP, HTTPS
//	headers                                            HTTP
//	nothing                                            TCP
func (s ListenerSettings) listenerProtocol(port v1.ServicePort) model.Protocol {
	if port.Protocol != v1.ProtocolTCP {
		return model.Protocol(port.Protocol)
	}
	if said, ok := s.said(port); ok {
		return model.Protocol(said.Protocol)
	}
	if own, ok := ownAppProtocol(port); ok {
		return own
	}
	switch plain := s.plainAppProtocol(port); {
	case s.TLSContainerRef != "":
		return model.TerminatedHTTPS
	case plain != "":
		return plain
	case len(s.Headers) > 0:
		return model.HTTP
	default:
		return model.TCP
	}
}

// said gives what the Service says of a port, by its name or number: the first where
// it says two things.
func (s ListenerSettings) said(port v1.ServicePort) (annotation.PortProtocol, bool) {
	first := len(s.Protocols)
	for _, name := range namesOf(port) {
		if i, ok := s.saidOf[name]; ok {
			first = min(first, i)
		}
	}
	if first == len(s.Protocols) {
		return annotation.PortProtocol{}, false
	}
	return s.Protocols[first], true
}

// namesOf gives the texts that mean a port: its name and its number.
func namesOf(port v1.ServicePort) []string { return []string{port.Name, strconv.Itoa(int(port.Port))} }

// ownAppProtocol reads an appProtocol that was written for us.
func ownAppProtocol(port v1.ServicePort) (protocol model.Protocol, ok bool) {
	text, ours := strings.CutPrefix(value(port.AppProtocol), annotation.Prefix)
	if !ours {
		return "", false
	}
	known, ok := annotation.ListenerProtocol(text)
	return model.Protocol(known), ok
}

// plainAppProtocol reads an appProtocol that was written for anybody.
func (s ListenerSettings) plainAppProtocol(port v1.ServicePort) model.Protocol {
	if !s.AppProtocol {
		return ""
	}
	switch strings.ToLower(value(port.AppProtocol)) {
	case "http", "kubernetes.io/ws":
		return model.HTTP
	case "https", "kubernetes.io/wss":
		return model.HTTPS
	default:
		return ""
	}
}

// poolProtocol gives the protocol in which members are spoken to. A listener of
// HTTPS hands its connections through, as one of TCP does: their pools are alike,
// and go on when the one becomes the other.
func (s ListenerSettings) poolProtocol(listener model.Protocol) model.Protocol {
	switch {
	case listener.Transport() != model.TCP:
		return listener
	case s.Proxy != "":
		return s.Proxy
	case listener == model.HTTP || listener == model.TerminatedHTTPS:
		return model.HTTP
	default:
		return model.TCP
	}
}

// Proxied tells that members get to know clients by a PROXY header.
func (s Settings) Proxied() bool { return s.Listeners.Proxy != "" && s.servesTCP }

// listener gives the listener of a port, without its pool.
func listener(port v1.ServicePort, i int, id ownership.Identity, s Settings, drv driver.Driver) model.Listener {
	l := model.Listener{
		Name:         id.ListenerName(i),
		Protocol:     s.Listeners.listenerProtocol(port),
		Port:         int(port.Port),
		Tags:         s.tagsOf(id),
		AllowedCIDRs: allowedCIDRs(s, drv),
		Limits:       possible(s.Listeners.Limits, drv),
	}
	if l.Protocol == model.HTTP || l.Protocol == model.TerminatedHTTPS {
		l.InsertHeaders = slices.Clone(s.Listeners.Headers)
	}
	if l.Protocol == model.TerminatedHTTPS {
		l.TLSContainerRef = s.Listeners.TLSContainerRef
	}
	return l
}

// possible leaves out the limits that a provider does not keep.
func possible(l model.Limits, drv driver.Driver) model.Limits {
	for name, limit := range l.Named {
		if !drv.Supports(featureOf(name)) {
			*limit = model.Limit{}
		}
	}
	return l
}

// featureOf gives the feature that a limit is.
func featureOf(limit string) driver.Feature {
	if limit == model.ConnectionLimit {
		return driver.ConnectionLimit
	}
	return driver.Timeouts
}

// defaultAffinity is the timeoutSeconds that Kubernetes writes into every Service
// with sessionAffinity ClientIP that names none.
const defaultAffinity = int(v1.DefaultClientIPServiceAffinitySeconds)

// affinity gives the session persistence of a pool, and how long it lasts. Octavia
// knows a time for UDP and SCTP only, and what Kubernetes writes by itself is taken
// as nobody's wish: cloud-provider-openstack never sends it.
func affinity(svc *v1.Service, protocol model.Protocol) (persistence string, timeout int) {
	if svc.Spec.SessionAffinity != v1.ServiceAffinityClientIP {
		return "", 0
	}
	if asked := affinityTimeout(svc); asked != defaultAffinity && protocol.Transport() != model.TCP {
		timeout = asked
	}
	return model.SourceIP, timeout
}

func affinityTimeout(svc *v1.Service) int {
	config := svc.Spec.SessionAffinityConfig
	if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
		return defaultAffinity
	}
	return int(*config.ClientIP.TimeoutSeconds)
}
