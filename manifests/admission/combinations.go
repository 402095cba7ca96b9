package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// combinations are the controller's refusals of combined annotations and fields that depend neither
// on cloud.conf nor on the cloud.
func combinations() []admissionv1.Validation {
	return slices.Concat(ofAddresses(), ofMonitors(), ofPorts(), ofCookies(), ofMetrics())
}

// ofAddresses are about the VIP and the published host name.
func ofAddresses() []admissionv1.Validation {
	address := value(annotation.VIPAddress) + ".trim().lowerAscii().replace(':ffff:', ':fffe:')"
	return []admissionv1.Validation{
		{
			Expression: fmt.Sprintf("!%s || !%s || !%s", changed(annotation.VIPAddress, annotation.PortID), given(annotation.VIPAddress), given(annotation.PortID)),
			Message:    path(annotation.VIPAddress) + ": the VIP has the address of the port in " + annotation.PortID,
		},
		{
			Expression: fmt.Sprintf("!%s || !%s || isIP(%s)", changed(annotation.VIPAddress), given(annotation.VIPAddress), address),
			Message:    path(annotation.VIPAddress) + ": must be an IP address",
		},
		{
			Expression: fmt.Sprintf("!%s || !%s || size(%s.trim()) <= 253 && %s.trim().matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$') && !isIP(%s.trim())",
				changed(annotation.Hostname), given(annotation.Hostname), value(annotation.Hostname), value(annotation.Hostname), value(annotation.Hostname)),
			Message: path(annotation.Hostname) + ": allowed: a DNS name in small letters, digits, - and ., such as www.example.com",
		},
	}
}

// ofMonitors are about health monitors.
func ofMonitors() []admissionv1.Validation {
	probe := []string{
		annotation.MonitorType, annotation.MonitorPath, annotation.MonitorMethod, annotation.MonitorCodes, annotation.MonitorVersion, annotation.MonitorDomain,
	}
	var described []string
	for _, name := range probe {
		described = append(described, given(name))
	}
	return []admissionv1.Validation{
		{
			Expression: fmt.Sprintf("!%s || !%s || !(%s)", changed(append(slices.Clone(probe), annotation.MonitorKubeProxy)...), is(annotation.MonitorKubeProxy), strings.Join(described, " || ")),
			Message:    path(annotation.MonitorKubeProxy) + ": the Service describes another monitor with other annotations: use only one of them",
		},
		{
			Expression: fmt.Sprintf("!%s || !%s || %s in variables.now && %s.trim() != '1.0' || !(%s in variables.now)", changed(annotation.MonitorDomain, annotation.MonitorVersion), given(annotation.MonitorDomain),
				quoted(annotation.MonitorVersion), value(annotation.MonitorVersion), quoted(annotation.MonitorVersion)),
			Message: path(annotation.MonitorDomain) + ": HTTP 1.0 sends no host: " + annotation.MonitorVersion + " must be 1.1",
		},
	}
}

// ofPorts are about the protocols of listeners, and annotations for single ports.
func ofPorts() []admissionv1.Validation {
	return []admissionv1.Validation{
		{
			// The annotation for a single port may exempt those with the header.
			Expression: fmt.Sprintf("!%s || !%s || !(%s in variables.now && %s in ['true', 'v1', 'v2']) || variables.now.exists(k, k.startsWith(%s))", changed(annotation.ForwardedFor, annotation.ProxyProtocol),
				exactly(annotation.ForwardedFor, "true"), quoted(annotation.ProxyProtocol), value(annotation.ProxyProtocol), quoted(annotation.ProxyProtocol+".")),
			Message: path(annotation.ForwardedFor) + ": " + annotation.ProxyProtocol + " already sends the client's address to the members: choose one of the two",
		},
		{
			// If only ports change, a name that no port had before denies nothing: the Service is
			// already refused, and its user corrects another part.
			Expression: fmt.Sprintf("!(%[1]s || variables.portsChanged) || !%[2]s || %[3]s.split(',', 102).size() > 100 || "+
				"%[3]s.split(',').all(p, %[4]s || !%[1]s && !(%[5]s))",
				changed(annotation.Protocols), given(annotation.Protocols), value(annotation.Protocols), hasPort("object"), hasPort("oldObject")),
			Message: path(annotation.Protocols) + ": the Service has no port of TCP with a name or number that is in it",
		},
		{
			Expression: fmt.Sprintf("variables.changed.filter(k, %s).all(k, variables.now[k].trim() == '' || "+
				"[k.substring(%d).split('.', 2)[1]].exists(p, object.spec.ports.exists(q, p == string(q.port) || has(q.name) && p == q.name)))", isPerPort(), len(annotation.Prefix)),
			Message: "an annotation is for a port that the Service does not have: after the period must be the name or the number of a port",
		},
		{
			Expression: fmt.Sprintf("variables.changed.filter(k, %s && variables.now[k].trim() != '').all(k, [k.substring(0, %d + k.substring(%d).indexOf('.'))].all(base, "+
				"object.spec.ports.all(q, !has(q.name) || ![base + q.name, base + string(q.port)].all(n, n in variables.now && variables.now[n].trim() != '') || "+
				"!(k in [base + q.name, base + string(q.port)]))))", isPerPort(), len(annotation.Prefix)+1, len(annotation.Prefix)),
			Message: "a port has the same annotation by its name and by its number: use only one of them",
		},
	}
}

// ofCookies are about cookies of the application.
func ofCookies() []admissionv1.Validation {
	return []admissionv1.Validation{
		{
			Expression: fmt.Sprintf("!%s || !(%s in variables.now && %s.trim() == 'APP_COOKIE') || %s || %s", changed(annotation.Persistence, annotation.CookieName),
				quoted(annotation.Persistence), value(annotation.Persistence), given(annotation.CookieName), forPorts(annotation.Persistence, annotation.CookieName)),
			Message: path(annotation.CookieName) + ": required: the name of the application's cookie, for APP_COOKIE",
		},
		{
			Expression: fmt.Sprintf("!variables.changed.exists(k, %[1]s || %[2]s) || !variables.now.exists(k, %[1]s && variables.now[k].trim() != '') || "+
				"variables.now.exists(k, %[2]s && variables.now[k].trim().matches('(?i)^APP_COOKIE$'))", ofAnyPort(annotation.CookieName), ofAnyPort(annotation.Persistence)),
			Message: path(annotation.CookieName) + ": is only for " + annotation.Persistence + ": APP_COOKIE",
		},
	}
}

// ofMetrics are about the listener with metrics.
func ofMetrics() []admissionv1.Validation {
	return []admissionv1.Validation{
		{
			Expression: fmt.Sprintf("!%s || !%s || %s", changed(annotation.MetricsPort, annotation.MetricsCIDRs), given(annotation.MetricsPort), given(annotation.MetricsCIDRs)),
			Message:    path(annotation.MetricsCIDRs) + ": required: " + annotation.MetricsPort + " needs the CIDRs of the clients that collect the metrics",
		},
		{
			// Several ranges that cover all addresses together are left to the controller.
			Expression: fmt.Sprintf("!%s || !%s || !%s || !%s.matches('/0+([^0-9]|$)')", changed(annotation.MetricsPort, annotation.MetricsCIDRs),
				given(annotation.MetricsPort), given(annotation.MetricsCIDRs), value(annotation.MetricsCIDRs)),
			Message: path(annotation.MetricsCIDRs) + ": admits all clients: allowed are the CIDRs of those that collect the metrics",
		},
		{
			Expression: fmt.Sprintf("!%s || !%s || !%[3]s.trim().matches('^[0-9]{1,5}$') || object.spec.ports.all(q, has(q.protocol) && q.protocol != 'TCP' || q.port != int(%[3]s.trim()))",
				changed(annotation.MetricsPort), given(annotation.MetricsPort), value(annotation.MetricsPort)),
			Message: path(annotation.MetricsPort) + ": is a TCP port of the Service: choose another one",
		},
	}
}

// forPorts is true if one of some annotations is given for a single port.
func forPorts(names ...string) string {
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprintf("variables.now.exists(k, k.startsWith(%s))", quoted(name+".")))
	}
	return "(" + strings.Join(all, " || ") + ")"
}

// ofAnyPort is true for a name k of an annotation, or of the same for a single port.
func ofAnyPort(name string) string {
	return fmt.Sprintf("(k == %s || k.startsWith(%s))", quoted(name), quoted(name+"."))
}

// hasPort is true if the Service has the port of TCP of an item p such as "web=HTTP".
func hasPort(object string) string {
	return object + ".spec.ports.exists(q, (!has(q.protocol) || q.protocol == 'TCP') && " +
		"(p.split('=')[0].trim() == string(q.port) || has(q.name) && p.split('=')[0].trim() == q.name))"
}

func exactly(name, text string) string {
	return fmt.Sprintf("(%s in variables.now && %s == %s)", quoted(name), value(name), quoted(text))
}

// given is true if an annotation is given.
func given(name string) string {
	return fmt.Sprintf("(%s in variables.now && %s.trim() != '')", quoted(name), value(name))
}

// is is true where an annotation is "true".
func is(name string) string {
	return fmt.Sprintf("(%s in variables.now && %s.trim() == 'true')", quoted(name), value(name))
}

// changed is true if one of some annotations has changed.
func changed(names ...string) string {
	var all []string
	for _, name := range names {
		all = append(all, quoted(name))
	}
	return fmt.Sprintf("[%s].exists(k, k in variables.changed)", strings.Join(all, ", "))
}

func path(name string) string { return annotation.Path(name).String() }

// ours is true for a name k of our prefixes.
const ours = "k.startsWith('" + annotation.Prefix + "') || k.startsWith('service.beta.kubernetes.io/openstack-')"

// aliases is the variable with the annotation for each name that users write instead.
func aliases() admissionv1.Variable {
	var all []string
	known := annotation.Aliases()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		all = append(all, quoted(name)+": "+quoted(known[name]))
	}
	return admissionv1.Variable{Name: "aliases", Expression: "{" + strings.Join(all, ", ") + "}"}
}

// unknown warns of unknown names of our prefixes. The nearest one is that of an alias, has the same letters
// except - and _, or is the first with the same beginning or end: the controller's event has the one with the
// smallest edit distance.
func unknown(names string) admissionv1.Validation {
	const letters = ".lowerAscii().replace('-', '').replace('_', '')"
	strange := fmt.Sprintf("variables.changed.filter(k, (%s) && !(k in %s) && !%s)", ours, names, isPerPort())
	like := fmt.Sprintf("%s.filter(n, size(k) < 100 && (n%s == k%s || n.startsWith(k) || k.startsWith(n) || n.startsWith(k.substring(0, size(k) < 36 ? size(k) : 36))))", names, letters, letters)
	return admissionv1.Validation{
		Expression: fmt.Sprintf("size(%s) == 0", strange),
		Message:    "there is no annotation of a name that begins with " + annotation.Prefix + " or service.beta.kubernetes.io/openstack-",
		MessageExpression: fmt.Sprintf("[%s[0]].map(k, [k in variables.aliases ? [variables.aliases[k]] : %s].map(near, 'metadata.annotations[' + (size(k) < 100 ? k : k.substring(0, 100)) + ']: without effect: there is no such annotation' + "+
			"(size(near) > 0 ? ': did you mean ' + near[0] + '?' : ''))[0])[0]", strange, like),
	}
}

// foreign warns of annotations of other clouds and controllers that have an equivalent here, unless the
// Service has that, too.
func foreign() admissionv1.Validation {
	others := fmt.Sprintf("variables.changed.filter(k, k in variables.aliases && !(%s) && !(variables.aliases[k] in variables.now))", ours)
	return admissionv1.Validation{
		Expression:        fmt.Sprintf("size(%s) == 0", others),
		Message:           "an annotation of another cloud has no effect on OpenStack",
		MessageExpression: fmt.Sprintf("[%s[0]].map(k, 'metadata.annotations[' + k + ']: has no effect on OpenStack: did you mean ' + variables.aliases[k] + '?')[0]", others),
	}
}
