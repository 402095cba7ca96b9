package settings

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// minUDPConnectDelay is Octavia's udp_connect_min_interval_health_monitor, in seconds.
const minUDPConnectDelay = 3

// monitors returns errors for monitors that the driver does not support, or that Octavia
// would refuse.
func (v validation) monitors() field.ErrorList {
	if !v.s.monitored() {
		return nil
	}
	m, policyLocal := v.s.Monitor, v.s.Traffic.Local
	errs := v.monitor(v.s.Traffic.Ports)
	if policyLocal && !v.s.ByPods() && !m.custom() && v.drv.Supports(driver.MonitorPorts) && v.s.Traffic.HealthCheckNodePort == 0 {
		errs = append(errs, field.Required(inSpec("healthCheckNodePort"), "externalTrafficPolicy Local needs it to detect which nodes have endpoints"))
	}
	for i, port := range v.s.Traffic.Ports {
		of := v.of(port)
		if of.s.own.setsProbe() {
			errs = append(errs, of.monitor(v.s.Traffic.Ports)...)
		}
		made, _ := of.HealthMonitor(model.Protocol(port.Protocol))
		switch {
		case made == nil && policyLocal && !v.FollowsEndpoints():
			errs = append(errs, field.Forbidden(inSpec("ports").Index(i).Child("protocol"), fmt.Sprintf(
				"externalTrafficPolicy Local needs health monitors, and the provider %s has none for %s: use the policy Cluster, or %s: \"false\"",
				v.drv.Name, port.Protocol, annotation.Monitor)))
		case made != nil && made.Type == model.MonitorUDPConnect && m.Delay < minUDPConnectDelay:
			return append(errs, field.Invalid(annotation.Path(annotation.MonitorDelay), m.Delay,
				"monitors of type UDP-CONNECT need a delay of 3 seconds or more: set it here"))
		}
	}
	return errs
}

// monitor validates the monitor of the Service, or of one of its ports. all are the ports of
// the Service.
func (v validation) monitor(all []v1.ServicePort) field.ErrorList {
	return slices.Concat(v.monitorPort(all), v.probe(), v.kubeProxy())
}

// monitorPort returns an error for a port of the nodes that is not the Service's: it would
// probe another application, and managed security groups would open the port.
func (v validation) monitorPort(all []v1.ServicePort) field.ErrorList {
	m, own := v.s.Monitor, []int{v.s.Traffic.HealthCheckNodePort}
	for _, port := range all {
		own = append(own, int(port.NodePort))
	}
	if m.Port != 0 && v.s.ByPods() {
		return field.ErrorList{field.Forbidden(v.s.own.at(annotation.MonitorPort), "pods are the members, which are probed at their own ports")}
	}
	if m.Port == 0 || m.Port == kubeProxyPort || slices.Contains(own, m.Port) || m.Ports.Has(m.Port) {
		return nil
	}
	return field.ErrorList{field.Invalid(v.s.own.at(annotation.MonitorPort), m.Port, fmt.Sprintf(
		"allowed: a NodePort of the Service, its healthCheckNodePort, %d (kube-proxy's healthz), or a port in monitor-ports of cloud.conf (ask the cluster's operator)", kubeProxyPort))}
}

// probe validates the probe that the user describes.
func (v validation) probe() field.ErrorList {
	m := v.s.Monitor
	if !m.custom() {
		return nil
	}
	var errs field.ErrorList
	kind := m.customType("")
	if why := v.drv.Lacks(driver.MonitorPorts); m.Port != 0 && why != "" {
		errs = append(errs, field.Forbidden(v.s.own.at(annotation.MonitorPort), why))
	}
	for _, given := range []struct{ name, value string }{
		{annotation.MonitorPath, m.Path}, {annotation.MonitorMethod, m.HTTPMethod}, {annotation.MonitorCodes, m.Codes},
		{annotation.MonitorVersion, m.HTTPVersion}, {annotation.MonitorDomain, m.DomainName},
	} {
		switch {
		case given.value == "":
		case !overHTTP(kind):
			errs = append(errs, field.Forbidden(v.s.own.at(given.name), "not supported by monitors of type "+kind+", only by HTTP and HTTPS"))
		case m.Type == "" && !slices.Contains(v.drv.Monitors, kind):
			errs = append(errs, field.Forbidden(v.s.own.at(given.name), fmt.Sprintf("the provider %s has no HTTP monitors", v.drv.Name)))
		case slices.Contains([]string{annotation.MonitorVersion, annotation.MonitorDomain}, given.name) && !v.drv.Supports(driver.MonitorHTTP11):
			errs = append(errs, field.Forbidden(v.s.own.at(given.name), v.drv.Lacks(driver.MonitorHTTP11)))
		}
	}
	if m.HTTPVersion == "1.0" && m.DomainName != "" {
		errs = append(errs, field.Forbidden(v.s.own.at(annotation.MonitorDomain), "HTTP 1.0 sends no host: "+annotation.MonitorVersion+` must be "1.1"`))
	}
	if m.Type == "" {
		return errs
	}
	if !slices.Contains(v.drv.Monitors, kind) {
		return append(errs, notSupported(v.s.own.at(annotation.MonitorType), kind, v.drv.Monitors, v.drv))
	}
	if !slices.ContainsFunc(v.s.Traffic.Ports, func(p v1.ServicePort) bool { return m.fits(kind, model.Protocol(p.Protocol), v.drv) }) {
		errs = append(errs, field.Invalid(v.s.own.at(annotation.MonitorType), kind, whyNotFit(kind, v.drv)))
	}
	return errs
}

// whyNotFit returns which ports a type of monitor supports.
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
		return "for ports other than TCP it needs a port to probe: " + annotation.MonitorPort
	}
}

// kubeProxy returns an error if the Service itself requests probes of kube-proxy and
// describes another probe. A request in cloud.conf has a lower precedence.
func (v validation) kubeProxy() field.ErrorList {
	m, path := v.s.Monitor, annotation.Path(annotation.MonitorKubeProxy)
	switch why := v.drv.Lacks(driver.MonitorPorts); {
	case !m.KubeProxyAsked:
		return nil
	case v.s.ByPods():
		return field.ErrorList{field.Forbidden(path, "pods are the members, to which kube-proxy does not forward")}
	case m.custom():
		return field.ErrorList{field.Forbidden(path, "the Service describes another monitor with other annotations: use only one of them")}
	case why != "":
		return field.ErrorList{field.Forbidden(path, why)}
	}
	return nil
}

// losesDatagrams reports whether the policy Local uses monitors that cannot detect which nodes have
// endpoints. For UDP-CONNECT only an ICMP error is a failure, in Octavia's amphora and in OVN, and
// kube-proxy sends none.
func (u *unused) losesDatagrams() bool {
	return u.s.Traffic.Local && !u.FollowsEndpoints() && slices.ContainsFunc(u.s.Traffic.Ports, func(port v1.ServicePort) bool {
		made, _ := u.s.OfPort(port).For(u.drv).HealthMonitor(model.Protocol(port.Protocol))
		return made != nil && made.Type == model.MonitorUDPConnect
	})
}

// noticeMonitors reports settings of monitors that have no effect, or a bad one.
func (r *reading) noticeMonitors(s *Settings) {
	m, values := s.Monitor, r.from.values.Monitor
	if m.Off && s.Traffic.Local && !s.ByPods() {
		r.notice(annotation.Monitor, "without health monitors, externalTrafficPolicy Local loses connections: nodes without endpoints get them and drop them")
	}
	if !s.monitored() {
		r.noticeUnmonitored(m)
		for _, name := range s.ports.names() {
			if base, _ := annotation.Base(name); slices.Contains(probeNames(), base) {
				r.notice(name, unmonitored)
			}
		}
		return
	}
	if m.Timeout > m.Delay && (values.Timeout != nil || values.Delay != nil) {
		r.notice(annotation.MonitorTimeout, fmt.Sprintf("probes of a member overlap: one may take %d seconds, and the next comes after %d", m.Timeout, m.Delay))
	}
}

const unmonitored = "has no effect: the Service has no health monitors; " + annotation.Monitor + `: "true" adds them`

// noticeUnmonitored reports settings of monitors if there are none.
func (r *reading) noticeUnmonitored(m MonitorSettings) {
	values := r.from.values.Monitor
	for _, given := range []struct {
		name string
		is   bool
	}{
		{annotation.MonitorDelay, values.Delay != nil},
		{annotation.MonitorTimeout, values.Timeout != nil},
		{annotation.MonitorRetries, values.MaxRetries != nil},
		{annotation.MonitorDown, values.MaxRetriesDown != nil},
		{annotation.MonitorType, m.Type != ""},
		{annotation.MonitorPath, m.Path != ""},
		{annotation.MonitorMethod, m.HTTPMethod != ""},
		{annotation.MonitorCodes, m.Codes != ""},
		{annotation.MonitorVersion, m.HTTPVersion != ""},
		{annotation.MonitorDomain, m.DomainName != ""},
		{annotation.MonitorPort, m.Port != 0},
		{annotation.MonitorKubeProxy, m.KubeProxyAsked},
	} {
		if given.is {
			r.notice(given.name, unmonitored)
		}
	}
}
