package settings

import (
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// ListenerSettings are the settings of listeners and of the protocols to members.
type ListenerSettings struct {
	// Limits are the configured limits, including those of cloud.conf.
	Limits model.Limits
	// annotated lists the limits that the Service itself sets.
	annotated []string
	// Proxy is the protocol of pools with PROXY headers; empty means that there are none.
	Proxy model.Protocol
	// Headers are the added request headers, sorted.
	Headers []string
	// TLSContainerRef is the certificate of listeners that terminate TLS; ExternalStore is set if
	// it is not in Barbican.
	TLSContainerRef string
	ExternalStore   bool
	// Protocols are the protocols for single ports; byPort has the index of each by the port's name
	// or number.
	Protocols []annotation.PortProtocol
	byPort    map[string]int
	// AppProtocol enables the appProtocol of ports.
	AppProtocol bool
}

// The headers that listeners can add to requests.
const (
	headerFor   = "X-Forwarded-For"
	headerPort  = "X-Forwarded-Port"
	headerProto = "X-Forwarded-Proto"
)

func (l *levels) listeners() ListenerSettings {
	values := l.values.Listeners
	s := ListenerSettings{
		Limits:          limits(values.Limits, *l.conf),
		annotated:       annotatedLimits(values.Limits),
		TLSContainerRef: ptr.Deref(values.TLSContainerRef, l.conf.DefaultTLSContainerRef),
		ExternalStore:   l.conf.ContainerStore == "external",
		Protocols:       values.Protocols,
		AppProtocol:     ptr.Deref(values.AppProtocol, l.conf.AppProtocol),
		byPort:          map[string]int{},
	}
	for i, pair := range s.Protocols {
		s.byPort[pair.Port] = i
	}
	s.Proxy = proxyProtocol(ptr.Deref(values.ProxyProtocol, ""))
	for _, header := range []struct {
		name string
		on   *bool
	}{{headerFor, values.ForwardedFor}, {headerPort, values.ForwardedPort}, {headerProto, values.ForwardedProto}} {
		if ptr.Deref(header.on, false) {
			s.Headers = append(s.Headers, header.name)
		}
	}
	return s
}

// proxyProtocol returns the protocol of pools for a value of the annotation; "" if they have no
// PROXY headers.
func proxyProtocol(value string) model.Protocol {
	switch value {
	case "true", "v1":
		return model.Proxy
	case "v2":
		return model.ProxyV2
	default:
		return ""
	}
}

// limits returns the limits of the Service, its class or cloud.conf. Limits that are not set are
// not sent, so that the cloud's defaults apply.
func limits(values annotation.LimitValues, conf config.LoadBalancer) model.Limits {
	limit := func(annotated, configured *int) model.Limit {
		if annotated == nil {
			annotated = configured
		}
		return model.Limit{Value: ptr.Deref(annotated, 0), Asked: annotated != nil}
	}
	return model.Limits{
		ConnectionLimit:      limit(values.ConnectionLimit, conf.ConnectionLimit),
		TimeoutClientData:    limit(values.TimeoutClientData, conf.TimeoutClientData),
		TimeoutMemberConnect: limit(values.TimeoutMemberConnect, conf.TimeoutMemberConnect),
		TimeoutMemberData:    limit(values.TimeoutMemberData, conf.TimeoutMemberData),
		TimeoutTCPInspect:    limit(values.TimeoutTCPInspect, conf.TimeoutTCPInspect),
	}
}

// annotatedLimits returns the limits that annotations set.
func annotatedLimits(values annotation.LimitValues) []string {
	var names []string
	annotated := limits(values, config.LoadBalancer{})
	for name, limit := range annotated.Named {
		if limit.Asked {
			names = append(names, name)
		}
	}
	return names
}

// LimitFeature returns the driver's feature for a limit, by Octavia's name of the limit.
func LimitFeature(limit string) driver.Feature {
	if limit == model.ConnectionLimit {
		return driver.ConnectionLimit
	}
	return driver.Timeouts
}

// limitAnnotations returns the annotation of each limit, by Octavia's name of the limit.
func limitAnnotations() map[string]string {
	return map[string]string{
		model.ConnectionLimit:      annotation.ConnLimit,
		model.TimeoutClientData:    annotation.ClientData,
		model.TimeoutMemberConnect: annotation.MemberConnect,
		model.TimeoutMemberData:    annotation.MemberData,
		model.TimeoutTCPInspect:    annotation.TCPInspect,
	}
}

// Protocol returns the protocol of the listener of a port. The first of these settings that applies
// to the port decides:
//
//	UDP and SCTP                                       themselves
//	the annotation listener-protocols                  its protocol for the port
//	an appProtocol of loadbalancer.openstack.org/…     its protocol
//	a certificate                                      TERMINATED_HTTPS
//	any other appProtocol, if app-protocol is set      HTTP, HTTPS
//	headers                                            HTTP
//	nothing                                            TCP
func (s ListenerSettings) Protocol(port v1.ServicePort) model.Protocol {
	if port.Protocol != v1.ProtocolTCP {
		return model.Protocol(port.Protocol)
	}
	if pair, ok := s.named(port); ok {
		return model.Protocol(pair.Protocol)
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

// named returns the entry of the annotation for a port, by its name or number. The first one
// applies if there are two.
func (s ListenerSettings) named(port v1.ServicePort) (annotation.PortProtocol, bool) {
	first := len(s.Protocols)
	for _, name := range namesOf(port) {
		if i, ok := s.byPort[name]; ok {
			first = min(first, i)
		}
	}
	if first == len(s.Protocols) {
		return annotation.PortProtocol{}, false
	}
	return s.Protocols[first], true
}

// namesOf returns the names of a port in the annotation: its name and its number.
func namesOf(port v1.ServicePort) []string { return []string{port.Name, strconv.Itoa(int(port.Port))} }

// ownAppProtocol returns the protocol of an appProtocol with this project's prefix.
func ownAppProtocol(port v1.ServicePort) (protocol model.Protocol, ok bool) {
	text, ours := strings.CutPrefix(ptr.Deref(port.AppProtocol, ""), annotation.Prefix)
	if !ours {
		return "", false
	}
	known, ok := annotation.ListenerProtocol(text)
	return model.Protocol(known), ok
}

// plainAppProtocol returns the protocol of a standard appProtocol.
func (s ListenerSettings) plainAppProtocol(port v1.ServicePort) model.Protocol {
	if !s.AppProtocol {
		return ""
	}
	switch strings.ToLower(ptr.Deref(port.AppProtocol, "")) {
	case "http", "kubernetes.io/ws":
		return model.HTTP
	case "https", "kubernetes.io/wss":
		return model.HTTPS
	default:
		return ""
	}
}

// PoolProtocol returns the protocol to the members. An HTTPS listener passes connections through,
// as a TCP listener does: their pools are equal, and are kept when one becomes the other.
func (s ListenerSettings) PoolProtocol(listener model.Protocol) model.Protocol {
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
