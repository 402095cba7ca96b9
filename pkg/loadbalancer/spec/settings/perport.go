package settings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// OfPort returns the settings of a port: those of the Service, with the ones that annotations set
// for this port only. It returns the same Settings if there are none.
func (s *Settings) OfPort(port v1.ServicePort) *Settings {
	if len(s.ports) == 0 {
		return s
	}
	of := *s
	of.Traffic.Ports, of.ports, of.own = []v1.ServicePort{port}, nil, ownNames{}
	for _, name := range namesOf(port) {
		of.own.override(&of, s.ports[name], name)
	}
	if len(of.own) == 0 {
		return s
	}
	of.own.dropUnfit(&of)
	return &of
}

// portValues are the values of the annotations for single ports, by name or number of the port.
type portValues map[string]*annotation.Values

// names returns the full names of the annotations, sorted.
func (p portValues) names() []string {
	var all []string
	for port := range p {
		all = append(all, slices.Collect(maps.Values(p.of(port)))...)
	}
	slices.Sort(all)
	return all
}

// of returns the annotations for a name or number of a port.
func (p portValues) of(port string) ownNames {
	own := ownNames{}
	own.override(new(Settings), p[port], port)
	return own
}

// ownNames are the full names of the annotations of a port, by those without the suffix.
type ownNames map[string]string

// override sets the values of the port, by its name or number, in its settings, and adds their annotations.
func (own ownNames) override(s *Settings, values *annotation.Values, port string) {
	if values == nil {
		return
	}
	set := func(name string, given *string, take func(string)) {
		if given != nil {
			take(*given)
			own[name] = name + "." + port
		}
	}
	into := func(to *string) func(string) { return func(value string) { *to = value } }
	probe, monitor := &s.Monitor.Probe, values.Monitor
	set(annotation.ProxyProtocol, values.Listeners.ProxyProtocol, func(value string) { s.Listeners.Proxy = proxyProtocol(value) })
	set(annotation.Method, values.Members.Method, func(value string) { s.Pools.Algorithm, s.Pools.AlgorithmAsked = value, true })
	set(annotation.Persistence, values.Members.Persistence, into(&s.Pools.Persistence))
	set(annotation.CookieName, values.Members.CookieName, into(&s.Pools.CookieName))
	set(annotation.MonitorType, monitor.Type, into(&probe.Type))
	set(annotation.MonitorPath, monitor.Path, into(&probe.Path))
	set(annotation.MonitorMethod, monitor.HTTPMethod, into(&probe.HTTPMethod))
	set(annotation.MonitorCodes, monitor.Codes, into(&probe.Codes))
	set(annotation.MonitorVersion, monitor.HTTPVersion, into(&probe.HTTPVersion))
	set(annotation.MonitorDomain, monitor.DomainName, into(&probe.DomainName))
	if monitor.Port != nil {
		probe.Port = *monitor.Port
		own[annotation.MonitorPort] = annotation.MonitorPort + "." + port
	}
}

// dropUnfit drops the values of the Service that do not fit the port's own type of monitor or of session
// persistence, from the settings of the port.
func (own ownNames) dropUnfit(s *Settings) {
	values, probe := map[string]*string{}, &s.Monitor.Probe
	if own[annotation.MonitorType] != "" && !overHTTP(probe.Type) {
		values[annotation.MonitorPath], values[annotation.MonitorMethod], values[annotation.MonitorCodes] = &probe.Path, &probe.HTTPMethod, &probe.Codes
		values[annotation.MonitorVersion], values[annotation.MonitorDomain] = &probe.HTTPVersion, &probe.DomainName
	}
	if own[annotation.Persistence] != "" && s.Pools.Persistence != model.AppCookie {
		values[annotation.CookieName] = &s.Pools.CookieName
	}
	for name, value := range values {
		if own[name] == "" {
			*value = ""
		}
	}
}

// at returns the path of an annotation: that of the port if it has its own.
func (own ownNames) at(name string) *field.Path {
	if full, ok := own[name]; ok {
		name = full
	}
	return annotation.Path(name)
}

// setsProbe reports whether the port describes its own probe.
func (own ownNames) setsProbe() bool {
	return slices.ContainsFunc(probeNames(), func(name string) bool { return own[name] != "" })
}

// probeNames returns the annotations that describe a probe.
func probeNames() []string {
	return []string{
		annotation.MonitorType, annotation.MonitorPath, annotation.MonitorMethod, annotation.MonitorCodes,
		annotation.MonitorVersion, annotation.MonitorDomain, annotation.MonitorPort,
	}
}

// perPort validates the annotations for single ports, except for their monitors.
func (v validation) perPort() field.ErrorList {
	if len(v.s.ports) == 0 {
		return nil
	}
	var errs field.ErrorList
	exists, ofTCP := map[string]bool{}, map[string]bool{}
	for _, port := range v.s.Traffic.Ports {
		for _, name := range namesOf(port) {
			exists[name] = true
			ofTCP[name] = ofTCP[name] || port.Protocol == v1.ProtocolTCP
		}
		errs = append(errs, v.twice(port)...)
		of := v.of(port)
		if of.s.own[annotation.Method] != "" {
			errs = append(errs, of.algorithm()...)
		}
		if of.s.own[annotation.Persistence] != "" || of.s.own[annotation.CookieName] != "" {
			errs = append(errs, of.persistence()...)
		}
	}
	for _, name := range v.s.ports.names() {
		switch base, port := annotation.Base(name); {
		case !exists[port]:
			errs = append(errs, field.Forbidden(annotation.Path(name), fmt.Sprintf("the Service has no port of the name or number %q", port)))
		case base == annotation.ProxyProtocol && !ofTCP[port]:
			errs = append(errs, field.Forbidden(annotation.Path(name), "only ports of TCP can have PROXY headers"))
		}
	}
	return errs
}

// twice returns errors for annotations that a port has by its name and by its number.
func (v validation) twice(port v1.ServicePort) field.ErrorList {
	number := strconv.Itoa(int(port.Port))
	if port.Name == "" || port.Name == number || v.s.ports[port.Name] == nil {
		return nil
	}
	var errs field.ErrorList
	byName, byNumber := v.s.ports.of(port.Name), v.s.ports.of(number)
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if other := byNumber[name]; other != "" {
			errs = append(errs, field.Forbidden(annotation.Path(other), byName[name]+" is for the same port: use only one of them"))
		}
	}
	return errs
}
