package desire

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/barbican"
)

// validate refuses protocols that the provider or the release of Octavia does not
// have, that do not go together, or that are said of ports that are not there.
func (s ListenerSettings) validate(svc *v1.Service, drv driver.Driver) field.ErrorList {
	errs := append(s.validatePorts(svc), s.validateTLS(svc, drv)...)
	if s.Proxy != "" && slices.Contains(s.Headers, headerFor) {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.ForwardedFor),
			"the members get to know the client by "+annotation.ProxyProtocol+" already: choose one of the two"))
	}
	for i, port := range svc.Spec.Ports {
		errs = append(errs, s.validatePort(port, i, drv)...)
	}
	return errs
}

// validatePorts checks what is said of single ports.
func (s ListenerSettings) validatePorts(svc *v1.Service) field.ErrorList {
	var errs field.ErrorList
	byName := map[string][]v1.ServicePort{}
	for _, port := range svc.Spec.Ports {
		for _, name := range namesOf(port) {
			byName[name] = append(byName[name], port)
		}
	}
	for _, said := range s.Protocols {
		at, named := annotation.Path(annotation.Protocols), byName[said.Port]
		switch {
		case len(named) == 0:
			errs = append(errs, field.Invalid(at, said.Port, "the Service has no port of that name or number"))
		case !slices.ContainsFunc(named, func(p v1.ServicePort) bool { return p.Protocol == v1.ProtocolTCP }):
			errs = append(errs, field.Invalid(at, said.Port, fmt.Sprintf("is a port of %s: only the listeners of TCP ports can have another protocol", named[0].Protocol)))
		}
	}
	for i, port := range svc.Spec.Ports {
		text, ours := strings.CutPrefix(value(port.AppProtocol), annotation.Prefix)
		at := inSpec("ports").Index(i).Child("appProtocol")
		if _, known := annotation.ListenerProtocol(text); ours && !known {
			errs = append(errs, field.NotSupported(at, *port.AppProtocol, ownAppProtocols()))
		} else if ours && port.Protocol != v1.ProtocolTCP {
			errs = append(errs, field.Invalid(at, *port.AppProtocol, fmt.Sprintf("is for ports of TCP, not of %s", port.Protocol)))
		}
	}
	return errs
}

func ownAppProtocols() []string {
	var all []string
	for _, protocol := range annotation.ListenerProtocols() {
		all = append(all, annotation.Prefix+strings.ToLower(strings.ReplaceAll(protocol, "_", "-")))
	}
	return all
}

// validatePort checks that the provider can do what a port asks for.
func (s ListenerSettings) validatePort(port v1.ServicePort, i int, drv driver.Driver) field.ErrorList {
	protocol := s.listenerProtocol(port)
	at := inSpec("ports").Index(i)
	switch {
	case protocol.Transport() != model.TCP:
		return nil
	case s.Proxy == model.ProxyV2 && !drv.Supports(driver.ProxyProtocolV2):
		return field.ErrorList{field.Forbidden(annotation.Path(annotation.ProxyProtocol), drv.Lacks(driver.ProxyProtocolV2))}
	case s.Proxy != "" && !drv.Supports(driver.ProxyProtocol):
		return field.ErrorList{field.Forbidden(annotation.Path(annotation.ProxyProtocol), drv.Lacks(driver.ProxyProtocol))}
	case protocol == model.TCP:
		return nil
	case protocol == model.TerminatedHTTPS && !drv.Supports(driver.TLS):
		return field.ErrorList{field.Forbidden(at, fmt.Sprintf("asks for a listener of %s: %s", protocol, drv.Lacks(driver.TLS)))}
	case !drv.Supports(driver.Layer7):
		return field.ErrorList{field.Forbidden(at, fmt.Sprintf("asks for a listener of %s: %s", protocol, drv.Lacks(driver.Layer7)))}
	case protocol == model.HTTPS || len(s.Headers) == 0 || drv.Supports(driver.InsertHeaders):
		return nil
	default:
		return field.ErrorList{field.Forbidden(annotation.Path(annotation.ForwardedFor), drv.Lacks(driver.InsertHeaders))}
	}
}

// validateTLS checks the certificate of ports that end TLS.
func (s ListenerSettings) validateTLS(svc *v1.Service, drv driver.Driver) field.ErrorList {
	ends := slices.IndexFunc(svc.Spec.Ports, func(p v1.ServicePort) bool { return s.listenerProtocol(p) == model.TerminatedHTTPS })
	at := annotation.Path(annotation.TLSContainer)
	switch {
	case ends < 0 || !drv.Supports(driver.TLS):
		return nil
	case s.TLSContainerRef == "":
		return field.ErrorList{field.Required(at, fmt.Sprintf("port %d ends TLS, for which it needs a certificate", svc.Spec.Ports[ends].Port))}
	case !s.ExternalStore && !inBarbican(s.TLSContainerRef):
		return field.ErrorList{field.Invalid(at, s.TLSContainerRef,
			"must be the reference of a container or secret of Barbican, such as https://barbican.example.com/v1/secrets/ID; other stores need container-store=external in cloud.conf, for which ask the cluster's operator")}
	}
	return nil
}

// inBarbican tells whether a reference is one of Barbican's.
func inBarbican(ref string) bool {
	_, _, err := barbican.ParseSecretRef(ref)
	return err == nil
}

// limitAnnotations gives the annotation of each limit, by the name that Octavia has for it.
func limitAnnotations() map[string]string {
	return map[string]string{
		model.ConnectionLimit:      annotation.ConnLimit,
		model.TimeoutClientData:    annotation.ClientData,
		model.TimeoutMemberConnect: annotation.MemberConnect,
		model.TimeoutMemberData:    annotation.MemberData,
		model.TimeoutTCPInspect:    annotation.TCPInspect,
	}
}

// Ineffective tells what of the settings the provider does not do, or no port of
// the Service makes use of.
func Ineffective(svc *v1.Service, s Settings, drv driver.Driver) []annotation.Notice {
	var told []annotation.Notice
	tell := func(name, message string) { told = append(told, annotation.Notice{Annotation: name, Message: message}) }
	told = append(told, keptNotices(s, drv)...)
	by := limitAnnotations()
	for _, name := range s.Listeners.annotated {
		if why := drv.Lacks(featureOf(name)); why != "" {
			tell(by[name], "has no effect: "+why)
		}
	}
	if why := drv.Lacks(driver.CustomTags); len(s.Tags) > 0 && why != "" {
		tell(annotation.Tags, "has no effect: "+why)
	}
	if len(s.SourceRanges) > 0 && drv.Supports(driver.SourceRanges) && drv.Quirks.UnprovenSourceRanges {
		tell("spec.loadBalancerSourceRanges", fmt.Sprintf("may have no effect: Octavia is given them, but nobody knows whether the provider %s keeps other clients out; try it from outside", drv.Name))
	}
	if s.MethodOfClass && !slices.Contains(drv.Algorithms, s.Method) {
		tell(annotation.Class, fmt.Sprintf("its lb-method %s has no effect: the provider %s knows %s", s.Method, drv.Name, strings.Join(drv.Algorithms, ", ")))
	}
	if s.Listeners.Proxy != "" && !s.servesTCP {
		tell(annotation.ProxyProtocol, "has no effect: the Service has no port of TCP")
	}
	if s.Monitor.blind(svc, drv) {
		tell("spec.externalTrafficPolicy", "Local loses datagrams of UDP ports: kube-proxy drops them in silence on nodes without endpoints, "+
			"and that is what a monitor of type UDP-CONNECT takes for health; give every node an endpoint, or pick nodes that have one with "+annotation.NodeSelector)
	}
	if svc.Spec.SessionAffinity == v1.ServiceAffinityClientIP && s.servesTCP && affinityTimeout(svc) != defaultAffinity {
		tell("spec.sessionAffinityConfig.clientIP.timeoutSeconds", "has no effect on ports of TCP: Octavia knows no such time for them")
	}
	return told
}
