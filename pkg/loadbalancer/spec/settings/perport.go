package settings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
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
	of.Traffic.Ports, of.ports, of.own = []v1.ServicePort{port}, nil, map[string]string{}
	for _, name := range namesOf(port) {
		of.override(s.ports[name], name)
	}
	if len(of.own) == 0 {
		return s
	}
	of.dropUnfit()
	return &of
}

// dropUnfit drops the values of the Service that do not fit the port's own type of monitor or of session
// persistence.
func (s *Settings) dropUnfit() {
	values, probe := map[string]*string{}, &s.Monitor.Probe
	if s.own[annotation.MonitorType] != "" && !overHTTP(probe.Type) {
		values[annotation.MonitorPath], values[annotation.MonitorMethod], values[annotation.MonitorCodes] = &probe.Path, &probe.HTTPMethod, &probe.Codes
		values[annotation.MonitorVersion], values[annotation.MonitorDomain] = &probe.HTTPVersion, &probe.DomainName
	}
	if s.own[annotation.Persistence] != "" && s.Pools.Persistence != model.AppCookie {
		values[annotation.CookieName] = &s.Pools.CookieName
	}
	for name, value := range values {
		if s.own[name] == "" {
			*value = ""
		}
	}
}

// override sets the values of a port, by its name or number.
func (s *Settings) override(values *annotation.Values, port string) {
	if values == nil {
		return
	}
	set := func(name string, given *string, take func(string)) {
		if given != nil {
			take(*given)
			s.own[name] = name + "." + port
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
		s.own[annotation.MonitorPort] = annotation.MonitorPort + "." + port
	}
}

// at returns the path of an annotation: that of the port if these are the settings of a port that
// has it.
func (s *Settings) at(name string) *field.Path {
	if own, ok := s.own[name]; ok {
		name = own
	}
	return annotation.Path(name)
}

// probeNames returns the annotations that describe a probe.
func probeNames() []string {
	return []string{
		annotation.MonitorType, annotation.MonitorPath, annotation.MonitorMethod, annotation.MonitorCodes,
		annotation.MonitorVersion, annotation.MonitorDomain, annotation.MonitorPort,
	}
}

// setsProbe reports whether these are the settings of a port that describes its own probe.
func (s *Settings) setsProbe() bool {
	return slices.ContainsFunc(probeNames(), func(name string) bool { return s.own[name] != "" })
}

// perPort returns the full names of the annotations for single ports, sorted.
func (s *Settings) perPort() []string {
	var all []string
	for port := range s.ports {
		all = append(all, slices.Collect(maps.Values(s.named(port)))...)
	}
	slices.Sort(all)
	return all
}

// named returns the annotations for a name or number of a port: the full names by those without the
// suffix.
func (s *Settings) named(port string) map[string]string {
	scratch := Settings{own: map[string]string{}}
	scratch.override(s.ports[port], port)
	return scratch.own
}

// validatePerPort validates the annotations for single ports, except for their monitors.
func (s *Settings) validatePerPort(drv driver.Driver) field.ErrorList {
	if len(s.ports) == 0 {
		return nil
	}
	var errs field.ErrorList
	exists, ofTCP := map[string]bool{}, map[string]bool{}
	for _, port := range s.Traffic.Ports {
		for _, name := range namesOf(port) {
			exists[name] = true
			ofTCP[name] = ofTCP[name] || port.Protocol == v1.ProtocolTCP
		}
		errs = append(errs, s.validateTwice(port)...)
		of := s.OfPort(port)
		if of.own[annotation.Method] != "" {
			errs = append(errs, of.validateAlgorithm(drv)...)
		}
		if of.own[annotation.Persistence] != "" || of.own[annotation.CookieName] != "" {
			errs = append(errs, of.validatePersistence()...)
		}
	}
	for _, name := range s.perPort() {
		switch base, port := annotation.Base(name); {
		case !exists[port]:
			errs = append(errs, field.Forbidden(annotation.Path(name), fmt.Sprintf("the Service has no port of the name or number %q", port)))
		case base == annotation.ProxyProtocol && !ofTCP[port]:
			errs = append(errs, field.Forbidden(annotation.Path(name), "only ports of TCP can have PROXY headers"))
		}
	}
	return errs
}

// validateTwice returns errors for annotations that a port has by its name and by its number.
func (s *Settings) validateTwice(port v1.ServicePort) field.ErrorList {
	number := strconv.Itoa(int(port.Port))
	if port.Name == "" || port.Name == number || s.ports[port.Name] == nil {
		return nil
	}
	var errs field.ErrorList
	byName, byNumber := s.named(port.Name), s.named(number)
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if other := byNumber[name]; other != "" {
			errs = append(errs, field.Forbidden(annotation.Path(other), byName[name]+" is for the same port: use only one of them"))
		}
	}
	return errs
}
