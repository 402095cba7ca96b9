package desire

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// minUDPConnectDelay is Octavia's udp_connect_min_interval_health_monitor.
const minUDPConnectDelay = 3

// validate refuses monitors that the provider cannot have, or Octavia would not
// take.
func (m MonitorSettings) validate(svc *v1.Service, drv driver.Driver) field.ErrorList {
	if !m.on(svc) {
		return nil
	}
	errs := slices.Concat(m.validatePort(svc), m.validateOwn(svc, drv), m.validateKubeProxy(drv))
	if local(svc) && !m.own() && drv.Supports(driver.MonitorPorts) && svc.Spec.HealthCheckNodePort == 0 {
		errs = append(errs, field.Required(inSpec("healthCheckNodePort"), "externalTrafficPolicy Local is served by asking it which nodes have endpoints"))
	}
	for i, port := range svc.Spec.Ports {
		made, _ := monitor(svc, model.Protocol(port.Protocol), m, drv)
		switch {
		case made == nil && local(svc):
			errs = append(errs, field.Forbidden(inSpec("ports").Index(i).Child("protocol"), fmt.Sprintf(
				"externalTrafficPolicy Local needs health monitors, and the provider %s has none for %s: use the policy Cluster, or %s: \"false\"",
				drv.Name, port.Protocol, annotation.Monitor)))
		case made != nil && made.Type == model.MonitorUDPConnect && m.Delay < minUDPConnectDelay:
			return append(errs, field.Invalid(annotation.Path(annotation.MonitorDelay), m.Delay,
				"monitors of type UDP-CONNECT need a delay of 3 seconds or more: give it here"))
		}
	}
	return errs
}

// validatePort refuses to ask ports of the nodes that are not the Service's: what
// listens there is somebody else's, and with managed security groups the port would be
// opened for it.
func (m MonitorSettings) validatePort(svc *v1.Service) field.ErrorList {
	own := []int{int(svc.Spec.HealthCheckNodePort)}
	for _, port := range svc.Spec.Ports {
		own = append(own, int(port.NodePort))
	}
	if m.Port == 0 || m.Port == kubeProxyPort || slices.Contains(own, m.Port) || m.Ports.Has(m.Port) {
		return nil
	}
	return field.ErrorList{field.Invalid(annotation.Path(annotation.MonitorPort), m.Port, fmt.Sprintf(
		"allowed: a NodePort of the Service, its healthCheckNodePort, %d (kube-proxy's healthz), or a port that monitor-ports in cloud.conf lists, for which ask the cluster's operator", kubeProxyPort))}
}

// validateOwn checks the monitor that the user describes.
func (m MonitorSettings) validateOwn(svc *v1.Service, drv driver.Driver) field.ErrorList {
	if !m.own() {
		return nil
	}
	var errs field.ErrorList
	kind := m.ownType("")
	if why := drv.Lacks(driver.MonitorPorts); m.Port != 0 && why != "" {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.MonitorPort), why))
	}
	for _, given := range []struct{ name, value string }{
		{annotation.MonitorPath, m.Path}, {annotation.MonitorMethod, m.HTTPMethod}, {annotation.MonitorCodes, m.Codes},
		{annotation.MonitorVersion, m.Version}, {annotation.MonitorDomain, m.Domain},
	} {
		switch {
		case given.value == "":
		case !overHTTP(kind):
			errs = append(errs, field.Forbidden(annotation.Path(given.name), "monitors of type "+kind+" have no such thing: only HTTP and HTTPS"))
		case m.Type == "" && !slices.Contains(drv.Monitors, kind):
			errs = append(errs, field.Forbidden(annotation.Path(given.name), fmt.Sprintf("the provider %s has no HTTP monitors", drv.Name)))
		case slices.Contains([]string{annotation.MonitorVersion, annotation.MonitorDomain}, given.name) && !drv.Supports(driver.MonitorHTTP11):
			errs = append(errs, field.Forbidden(annotation.Path(given.name), drv.Lacks(driver.MonitorHTTP11)))
		}
	}
	if m.Version == "1.0" && m.Domain != "" {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.MonitorDomain), "HTTP 1.0 asks for no host: "+annotation.MonitorVersion+` must be "1.1"`))
	}
	if m.Type == "" {
		return errs
	}
	if !slices.Contains(drv.Monitors, kind) {
		return append(errs, notSupported(annotation.Path(annotation.MonitorType), kind, drv.Monitors, drv))
	}
	if !slices.ContainsFunc(svc.Spec.Ports, func(p v1.ServicePort) bool { return fits(kind, model.Protocol(p.Protocol), m, drv) }) {
		errs = append(errs, field.Invalid(annotation.Path(annotation.MonitorType), kind, whyNotFit(kind, drv)))
	}
	return errs
}

// whyNotFit says what ports a type of monitor is for.
func whyNotFit(kind string, drv driver.Driver) string {
	switch {
	case kind == model.MonitorUDPConnect:
		return "is for ports of UDP, and the Service has none"
	case kind == model.MonitorSCTP:
		return "is for ports of SCTP, and the Service has none"
	case kind != model.MonitorHTTP && kind != model.MonitorTCP:
		return "is for ports of TCP, and the Service has none"
	case !drv.Supports(driver.HTTPMonitorForUDP):
		return "is for ports of TCP, and the Service has none: " + drv.Lacks(driver.HTTPMonitorForUDP)
	default:
		return "for ports that are not of TCP it needs a port to ask at: " + annotation.MonitorPort
	}
}

// validateKubeProxy checks what is asked of kube-proxy by the Service itself. What
// cloud.conf asks of it gives way.
func (m MonitorSettings) validateKubeProxy(drv driver.Driver) field.ErrorList {
	path := annotation.Path(annotation.MonitorKubeProxy)
	switch why := drv.Lacks(driver.MonitorPorts); {
	case !m.KubeProxyAsked:
		return nil
	case m.own():
		return field.ErrorList{field.Forbidden(path, "the Service describes a monitor of its own by other annotations: only one can be")}
	case why != "":
		return field.ErrorList{field.Forbidden(path, why)}
	}
	return nil
}

// blind tells that the policy Local is served by monitors that cannot find out which
// nodes have endpoints. Only an ICMP error is bad news to UDP-CONNECT, at Octavia's
// amphora as at OVN, and kube-proxy sends none.
func (m MonitorSettings) blind(svc *v1.Service, drv driver.Driver) bool {
	return local(svc) && slices.ContainsFunc(svc.Spec.Ports, func(port v1.ServicePort) bool {
		made, _ := monitor(svc, model.Protocol(port.Protocol), m, drv)
		return made != nil && made.Type == model.MonitorUDPConnect
	})
}

// notices tells what the user should know of monitors.
func (m MonitorSettings) notices(svc *v1.Service, values annotation.Values) []annotation.Notice {
	var told []annotation.Notice
	if m.Off && local(svc) {
		told = append(told, annotation.Notice{
			Annotation: annotation.Monitor,
			Message:    "without health monitors, externalTrafficPolicy Local loses connections: nodes without endpoints get them and drop them",
		})
	}
	if !m.on(svc) {
		for _, given := range []struct {
			name string
			is   bool
		}{
			{annotation.MonitorDelay, values.MonitorDelay != nil},
			{annotation.MonitorTimeout, values.MonitorTimeout != nil},
			{annotation.MonitorRetries, values.MonitorMaxRetries != nil},
			{annotation.MonitorDown, values.MonitorMaxRetriesDown != nil},
			{annotation.MonitorType, m.Type != ""},
			{annotation.MonitorPath, m.Path != ""},
			{annotation.MonitorMethod, m.HTTPMethod != ""},
			{annotation.MonitorCodes, m.Codes != ""},
			{annotation.MonitorVersion, m.Version != ""},
			{annotation.MonitorDomain, m.Domain != ""},
			{annotation.MonitorPort, m.Port != 0},
			{annotation.MonitorKubeProxy, m.KubeProxyAsked},
		} {
			if given.is {
				told = append(told, annotation.Notice{Annotation: given.name, Message: "has no effect: the Service has no health monitors, which " +
					annotation.Monitor + `: "true" gives it`})
			}
		}
		return told
	}
	if m.Timeout > m.Delay && (values.MonitorTimeout != nil || values.MonitorDelay != nil) {
		told = append(told, annotation.Notice{
			Annotation: annotation.MonitorTimeout,
			Message:    fmt.Sprintf("probes of a member overlap: one may take %d seconds, and the next comes after %d", m.Timeout, m.Delay),
		})
	}
	return told
}
