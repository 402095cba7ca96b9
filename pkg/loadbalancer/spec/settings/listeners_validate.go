package settings

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/barbican"
)

// listeners returns errors for protocols that the driver or the release of Octavia does not
// support, that exclude each other, or that are set for missing ports.
func (v validation) listeners() field.ErrorList {
	l, ports := v.s.Listeners, v.s.Traffic.Ports
	errs := append(l.validatePorts(ports), l.validateTLS(ports, v.drv)...)
	if l.Proxy != "" && slices.Contains(l.Headers, headerFor) && v.forwardsTwice() {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.ForwardedFor),
			annotation.ProxyProtocol+" already sends the client's address to the members: choose one of the two"))
	}
	for i, port := range ports {
		errs = append(errs, v.of(port).port(port, i)...)
	}
	return errs
}

// forwardsTwice reports whether a port with PROXY headers of the Service gets clients' addresses in a
// request header as well. Ports with another protocol have no such header, but they count too, unless
// annotations for single ports show that the combination is intended.
func (v validation) forwardsTwice() bool {
	single := slices.ContainsFunc(v.s.ports.names(), func(name string) bool {
		base, _ := annotation.Base(name)
		return base == annotation.ProxyProtocol
	})
	return !single || slices.ContainsFunc(v.s.Traffic.Ports, func(port v1.ServicePort) bool {
		of := v.s.OfPort(port)
		return of.own[annotation.ProxyProtocol] == "" && of.Listeners.Protocol(port).ReadsHTTP()
	})
}

// validatePorts validates the settings for single ports.
func (s ListenerSettings) validatePorts(ports []v1.ServicePort) field.ErrorList {
	var errs field.ErrorList
	byName := map[string][]v1.ServicePort{}
	for _, port := range ports {
		for _, name := range namesOf(port) {
			byName[name] = append(byName[name], port)
		}
	}
	for _, pair := range s.Protocols {
		at, named := annotation.Path(annotation.Protocols), byName[pair.Port]
		switch {
		case len(named) == 0:
			errs = append(errs, field.Invalid(at, pair.Port, "the Service has no port of that name or number"))
		case !slices.ContainsFunc(named, func(p v1.ServicePort) bool { return p.Protocol == v1.ProtocolTCP }):
			errs = append(errs, field.Invalid(at, pair.Port, fmt.Sprintf("is a port of %s: only the listeners of TCP ports can have another protocol", named[0].Protocol)))
		}
	}
	for i, port := range ports {
		text, ours := strings.CutPrefix(ptr.Deref(port.AppProtocol, ""), annotation.Prefix)
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

// port returns errors if the driver does not support the protocol of a port.
func (v validation) port(port v1.ServicePort, i int) field.ErrorList {
	l := v.s.Listeners
	protocol := l.Protocol(port)
	at, proxy := inSpec("ports").Index(i), v.s.own.at(annotation.ProxyProtocol)
	switch {
	case protocol.Transport() != model.TCP:
		return nil
	case protocol.ReadsHTTP() && v.s.own[annotation.ProxyProtocol] != "" && l.Proxy != "" && slices.Contains(l.Headers, headerFor):
		return field.ErrorList{field.Forbidden(proxy, annotation.ForwardedFor+" already sends the client's address to the members: choose one of the two")}
	case l.Proxy == model.ProxyV2 && !v.drv.Supports(driver.ProxyProtocolV2):
		return field.ErrorList{field.Forbidden(proxy, v.drv.Lacks(driver.ProxyProtocolV2))}
	case l.Proxy != "" && !v.drv.Supports(driver.ProxyProtocol):
		return field.ErrorList{field.Forbidden(proxy, v.drv.Lacks(driver.ProxyProtocol))}
	case protocol == model.TCP:
		return nil
	case protocol == model.TerminatedHTTPS && !v.drv.Supports(driver.TLS):
		return field.ErrorList{field.Forbidden(at, fmt.Sprintf("asks for a listener of %s: %s", protocol, v.drv.Lacks(driver.TLS)))}
	case !v.drv.Supports(driver.Layer7):
		return field.ErrorList{field.Forbidden(at, fmt.Sprintf("asks for a listener of %s: %s", protocol, v.drv.Lacks(driver.Layer7)))}
	case protocol == model.HTTPS || len(l.Headers) == 0 || v.drv.Supports(driver.InsertHeaders):
		return nil
	default:
		return field.ErrorList{field.Forbidden(annotation.Path(annotation.ForwardedFor), v.drv.Lacks(driver.InsertHeaders))}
	}
}

// validateTLS validates the certificate of ports that terminate TLS.
func (s ListenerSettings) validateTLS(ports []v1.ServicePort, drv driver.Driver) field.ErrorList {
	ends := slices.IndexFunc(ports, func(p v1.ServicePort) bool { return s.Protocol(p) == model.TerminatedHTTPS })
	at := annotation.Path(annotation.TLSContainer)
	switch {
	case ends < 0 || !drv.Supports(driver.TLS):
		return nil
	case s.TLSContainerRef == "":
		return field.ErrorList{field.Required(at, fmt.Sprintf("port %d terminates TLS and needs a certificate", ports[ends].Port))}
	case !s.ExternalStore && !inBarbican(s.TLSContainerRef):
		return field.ErrorList{field.Invalid(at, config.PrintableURL(s.TLSContainerRef),
			"must be the reference of a container or secret of Barbican, such as https://barbican.example.com/v1/secrets/ID; other stores need container-store=external in cloud.conf: ask the cluster's operator")}
	}
	return nil
}

// inBarbican reports whether a text is a reference in Barbican.
func inBarbican(ref string) bool {
	_, _, err := barbican.ParseSecretRef(ref)
	return err == nil
}
