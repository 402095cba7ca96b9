// Package annotation declares the annotations of a Service, each with its name, its values and its
// purpose, and parses them into typed values.
package annotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

// Prefix is the prefix of all annotations but two.
const Prefix = "loadbalancer.openstack.org/"

// Names that code outside of the table uses.
const (
	Internal       = "service.beta.kubernetes.io/openstack-internal-load-balancer"
	SourceRanges   = "service.beta.kubernetes.io/load-balancer-source-ranges"
	LoadBalancerID = Prefix + "load-balancer-id"
	Provider       = Prefix + "provider"
	Class          = Prefix + "class"
	SubnetID       = Prefix + "subnet-id"
	NetworkID      = Prefix + "network-id"
	MemberSubnetID = Prefix + "member-subnet-id"
	MemberAddress  = Prefix + "member-address-by-subnet"
	FloatingNetID  = Prefix + "floating-network-id"
	FloatingSubnet = Prefix + "floating-subnet-id"
	Method         = Prefix + "lb-method"
	KeepFloatingIP = Prefix + "keep-floatingip"
	Monitor        = Prefix + "enable-health-monitor"
	MonitorDelay   = Prefix + "health-monitor-delay"
	MonitorTimeout = Prefix + "health-monitor-timeout"
	MonitorRetries = Prefix + "health-monitor-max-retries"
	MonitorDown    = Prefix + "health-monitor-max-retries-down"
	MonitorType    = Prefix + "health-monitor-type"
	MonitorPath    = Prefix + "health-monitor-path"
	MonitorMethod  = Prefix + "health-monitor-http-method"
	MonitorCodes   = Prefix + "health-monitor-expected-codes"
	MonitorVersion = Prefix + "health-monitor-http-version"
	MonitorDomain  = Prefix + "health-monitor-domain-name"
	MonitorPort    = Prefix + "health-monitor-port"
	ConnLimit      = Prefix + "connection-limit"
	ClientData     = Prefix + "timeout-client-data"
	MemberConnect  = Prefix + "timeout-member-connect"
	MemberData     = Prefix + "timeout-member-data"
	TCPInspect     = Prefix + "timeout-tcp-inspect"
	ProxyProtocol  = Prefix + "proxy-protocol"
	ForwardedFor   = Prefix + "x-forwarded-for"
	ForwardedProto = Prefix + "x-forwarded-proto"
	ForwardedPort  = Prefix + "x-forwarded-port"
	TLSContainer   = Prefix + "default-tls-container-ref"
	Protocols      = Prefix + "listener-protocols"
	AppProtocol    = Prefix + "app-protocol"
	Persistence    = Prefix + "session-persistence"
	CookieName     = Prefix + "session-cookie-name"
	Hostname       = Prefix + "hostname"
	NodeSelector   = Prefix + "node-selector"
	MaxMembers     = Prefix + "max-members"
	MemberWeights  = Prefix + "member-weights"
	Members        = Prefix + "members"
	// MonitorKubeProxy enables probes of kube-proxy (KEP-3836).
	MonitorKubeProxy = Prefix + "health-monitor-kube-proxy"

	// WrittenFor is written with LoadBalancerID: see IsCopied.
	WrittenFor = Prefix + "written-for"
)

// SharingFrom is an annotation of a Namespace: a comma-separated list of the namespaces with
// Services that may use load balancers of its own Services; "*" means all.
const SharingFrom = Prefix + "allow-sharing-from"

// Annotation declares one annotation.
type Annotation struct {
	Name string
	// Value is the type of the value, with its parser. An annotation without it is known but has no
	// effect yet: its use is reported.
	Value
	// New is set if cloud-provider-openstack (v1.36) has no such annotation.
	New bool
	// Key is the key of [LoadBalancer] in cloud.conf, and of [LoadBalancerClass] if that has it,
	// that the annotation overrides. Its default is the annotation's.
	Key string
	// Default describes the value without annotation and key; empty means none.
	Default string
	// PerPort is set if a suffix can restrict the annotation to one port: see Base. Such an
	// annotation is always New: an invalid value is refused.
	PerPort bool
	// EmptyIsNone is set if an empty value disables the setting of cloud.conf. Other empty values
	// count as not given.
	EmptyIsNone bool
	// Change is the effect of a later change.
	Change Change
	// Doc describes the effect of the annotation.
	Doc string
}

// Value is the type of an annotation's value.
type Value struct {
	// Type is the type in one word, for documentation.
	Type string
	// Allowed describes the valid values, for error messages and documentation.
	Allowed string
	// Rule is read as a CEL expression about the text v, for the API server: see rule.go. It
	// accepts all values that read accepts. Handed is an expression for the invalid values that
	// cloud-provider-openstack forwards to OpenStack; "" for none.
	Rule, Handed string
	// read stores the value, and reports whether it is valid.
	read func(*Values, string) bool
	// exact is set if spaces around the value are part of it.
	exact bool
	// onMalformed returns the handling of an invalid value; nil means that it is refused.
	onMalformed func(value string) handling
}

// handling is the handling of an invalid value, of an annotation that cloud-provider-openstack has
// too.
type handling int

const (
	// refuse: the Service is refused.
	refuse handling = iota
	// forward: cloud-provider-openstack forwards it, and OpenStack refuses it.
	forward
	// ignore: it counts as not given.
	ignore
)

// Lenient reports whether an invalid value counts as not given, at least for an existing load
// balancer.
func (v Value) Lenient() bool { return v.onMalformed != nil }

// Exact reports whether spaces around the value are part of it.
func (v Value) Exact() bool { return v.exact }

// Most returns the maximum length of the value in bytes. That of source ranges is more than Octavia
// accepts in a request.
func (a Annotation) Most() int {
	if a.Name == SourceRanges {
		return 128 << 10
	}
	return 16 << 10
}

// Change is the effect of changing an annotation while the load balancer exists.
type Change string

// The effects of changes. A change that is not applied is reported by an event.
const (
	InPlace         Change = "applied in place"
	ReplacesChild   Change = "applied; the part of the load balancer is replaced, which interrupts its traffic briefly"
	ReplacesMonitor Change = "applied; a monitor of another type is deleted and recreated; meanwhile all members are considered healthy"
	NeedsReplace    Change = "reported by an event; applied by a new load balancer if `allow-replace` permits it"
	OnlyAtCreation  Change = "reported by an event; applied when the Service is recreated"
	ForNew          Change = "applied to new parts of the load balancer; existing ones keep their tags"
	AtDeletion      Change = "applied when the Service is deleted, or releases its address"
	Written         Change = "for reading only"
)

// Notice is an annotation without effect, and the reason.
type Notice struct {
	Annotation, Message string
}

// Parse parses the annotations of a Service. Errors contain the annotation, its value and the
// allowed values; notices report annotations without effect.
func Parse(annotations map[string]string) (Values, []Notice, field.ErrorList) {
	var (
		values  Values
		notices []Notice
		errs    field.ErrorList
	)
	table := Table()
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		value := annotations[name]
		base, port := Base(name)
		at, is := slices.BinarySearchFunc(table, Annotation{Name: base}, byName)
		if !is || port != "" && !table[at].PerPort {
			if text, reported := unknown(name, annotations, table, len(notices) < message.MaxReasons); reported {
				notices = append(notices, Notice{name, text})
			}
			continue
		}
		known, into := table[at], &values
		if port != "" {
			known, into = known.ofPort(), values.ofPort(port)
		}
		switch {
		case len(value) > known.Most() && known.Change != Written:
			errs = append(errs, field.Invalid(Path(name), message.TruncateValue(value), fmt.Sprintf("has %d bytes; allowed: %d at most", len(value), known.Most())))
		case strings.TrimSpace(value) == "" && !known.EmptyIsNone:
		case !known.take(into, value):
			errs = append(errs, field.Invalid(Path(name), message.TruncateValue(value), "allowed: "+known.Allowed))
		}
	}
	return values, notices, errs
}

// take stores a value. It returns false for a refused one.
func (a Annotation) take(values *Values, value string) bool {
	text := strings.TrimSpace(value)
	if a.exact {
		text = value
	}
	if a.read(values, text) {
		return true
	}
	if a.onMalformed == nil || a.onMalformed(text) == refuse {
		return false
	}
	values.Malformed = append(values.Malformed, Malformed{a.Name, message.TruncateValue(value), a.Allowed, a.onMalformed(text) == forward})
	return true
}

// Base returns the name of an annotation without the suffix that restricts it to a port, and that
// port, by its name or number; "" if there is no suffix.
func Base(name string) (base, port string) {
	if head, port, ok := strings.Cut(strings.TrimPrefix(name, Prefix), "."); ok && strings.HasPrefix(name, Prefix) {
		return Prefix + head, port
	}
	return name, ""
}

// ofPort returns the variant of an annotation for one port.
func (a Annotation) ofPort() Annotation {
	a.exact, a.onMalformed = false, nil
	return a
}

// Path returns the field path of an annotation, for errors.
func Path(name string) *field.Path {
	return field.NewPath("metadata", "annotations").Key(name)
}
