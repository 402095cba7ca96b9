package rest

import (
	"context"
	"maps"
	"net/http"
	"strings"
)

// The services, by the names that users know.
const (
	Octavia   = "Octavia"
	Neutron   = "Neutron"
	Nova      = "Nova"
	Barbican  = "Barbican"
	Keystone  = "Keystone"
	OpenStack = "OpenStack"
)

// Class is the group of requests with a common limit: the value of the metrics' label "class".
type Class string

// The classes of requests.
const (
	LoadBalancerCreate Class = "loadbalancer_create"
	LoadBalancerDelete Class = "loadbalancer_delete"
	// LoadBalancerUpdate is for all other writes to Octavia.
	LoadBalancerUpdate Class = "loadbalancer_update"
	LoadBalancerRead   Class = "loadbalancer_read"
	NetworkWrite       Class = "network_write"
	NetworkRead        Class = "network_read"
	ServerRead         Class = "server_read"
	// KeyManager is for all requests to Barbican.
	KeyManager Class = "key_manager"
	// Other is for version documents and unknown requests.
	Other Class = "other"
	Token Class = "token"
)

// Kind is the classification of a request by method and path.
type Kind struct {
	// Service is the name of the service.
	Service string
	// Name is the metric label: resource and verb, without IDs, from a fixed set. It is
	// cloud-provider-openstack's name of the same request if there is one.
	Name  string
	Class Class
}

// resource is the meaning of a path without its IDs.
type resource struct {
	service, name string
	// verb replaces the verb of the method.
	verb string
}

// IsVersion reports whether a segment of a path is the API version: v3, v2.0, v2.1.
func IsVersion(segment string) bool {
	version, is := strings.CutPrefix(segment, "v")
	major, minor, both := strings.Cut(version, ".")
	return is && isNumber(major) && (isNumber(minor) || !both)
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// KindOf returns the kind of a request. Unknown requests are "other_" and the verb, so that the set
// of names is bounded.
func KindOf(method, path string) Kind {
	segments := belowVersion(path)
	if len(segments) == 0 {
		return Kind{Service: OpenStack, Name: "version_list", Class: Other}
	}
	res, single := resourceOf(segments)
	verb := res.verb
	if verb == "" {
		verb = verbOf(method, single)
	}
	if res.name == "loadbalancer_member" && verb == "update" && !single {
		res.name = "loadbalancer_members" // PUT of the collection sets all members at once
	}
	name := res.name + "_" + verb
	return Kind{Service: res.service, Name: name, Class: classOf(res.service, name, IsWrite(method))}
}

// belowVersion returns the path after the API version, nil for root documents.
func belowVersion(path string) []string {
	segments := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for i, segment := range segments {
		if IsVersion(segment) {
			return segments[i+1:]
		}
	}
	return nil
}

// resourceOf returns the resource of a path, and whether the path is that of a single object. Names
// and IDs alternate: pools/{id}/members/{id}.
func resourceOf(segments []string) (res resource, single bool) {
	var found func(pattern string) (resource, bool)
	switch segments[0] {
	case "lbaas":
		segments, found = segments[1:], octaviaResource
		res = resource{service: Octavia, name: "other"}
	case "auth":
		segments, found = segments[1:], keystoneResource
		res = resource{service: Keystone, name: "other"}
	case "users":
		found = keystoneResource
		res = resource{service: Keystone, name: "other"}
	default:
		segments, found = withoutProject(segments), networkOrComputeResource
		res = resource{service: OpenStack, name: "other"}
	}
	pattern := make([]string, 0, 2)
	for i := 0; i < len(segments); i += 2 {
		pattern = append(pattern, segments[i])
	}
	single = len(segments) > 0 && len(segments)%2 == 0
	if known, ok := found(strings.Join(pattern, "/")); ok {
		res = known
	}
	switch {
	case res.name == "token": // the only token is that in a header
		single = true
	case len(segments) == 2 && segments[1] == "detail": // servers/detail is a list
		single = false
	}
	return res, single
}

// withoutProject drops the project ID that some Nova endpoints have after the version.
func withoutProject(segments []string) []string {
	if _, ok := networkOrComputeResource(segments[0]); !ok && len(segments) > 1 {
		return segments[1:]
	}
	return segments
}

func verbOf(method string, single bool) string {
	switch {
	case method == http.MethodPost:
		return "create"
	case method == http.MethodDelete:
		return "delete"
	case method == http.MethodPut || method == http.MethodPatch:
		return "update"
	case single:
		return "get"
	default:
		return "list"
	}
}

func classOf(service, name string, write bool) Class {
	switch {
	case name == "token_create", name == "token_get":
		return Token
	case name == "loadbalancer_create":
		return LoadBalancerCreate
	case name == "loadbalancer_delete":
		return LoadBalancerDelete
	case service == Octavia && write:
		return LoadBalancerUpdate
	case service == Octavia:
		return LoadBalancerRead
	case service == Neutron && write:
		return NetworkWrite
	case service == Neutron:
		return NetworkRead
	case service == Nova && !write:
		return ServerRead
	case service == Barbican:
		return KeyManager
	default:
		return Other
	}
}

// IsWrite reports whether a method changes state.
func IsWrite(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, "":
		return false
	}
	return true
}

// Creates reports whether a request of this kind creates a persistent object. A token does not
// count.
func (k Kind) Creates(method string) bool { return method == http.MethodPost && k.Class != Token }

// HasBody reports whether a request carries a body.
func HasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// With returns a copy of a request with another context and an additional header. It does not
// modify the original, as required of an http.RoundTripper.
func With(ctx context.Context, req *http.Request, header, value string) *http.Request {
	req = req.WithContext(ctx)
	if req.Header = maps.Clone(req.Header); req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set(header, value)
	return req
}

func octaviaResource(pattern string) (resource, bool) {
	res := resource{service: Octavia}
	switch pattern {
	case "loadbalancers":
		res.name = "loadbalancer"
	case "loadbalancers/status", "loadbalancers/statuses":
		res.name, res.verb = "loadbalancer_status", "get"
	case "loadbalancers/stats":
		res.name, res.verb = "loadbalancer_stats", "get"
	case "loadbalancers/failover":
		res.name, res.verb = "loadbalancer", "failover"
	case "listeners":
		res.name = "loadbalancer_listener"
	case "listeners/stats":
		res.name, res.verb = "loadbalancer_listener_stats", "get"
	case "pools":
		res.name = "loadbalancer_pool"
	case "pools/members":
		res.name = "loadbalancer_member"
	case "healthmonitors":
		res.name = "loadbalancer_healthmonitor"
	case "l7policies":
		res.name = "loadbalancer_l7policy"
	case "l7policies/rules":
		res.name = "loadbalancer_l7rule"
	case "providers":
		res.name = "loadbalancer_provider"
	case "flavors":
		res.name = "loadbalancer_flavor"
	case "availabilityzones":
		res.name = "loadbalancer_availability_zone"
	case "quotas":
		res.name = "loadbalancer_quota"
	}
	return res, res.name != ""
}

func keystoneResource(pattern string) (resource, bool) {
	switch pattern {
	case "tokens":
		return resource{service: Keystone, name: "token"}, true
	case "users/application_credentials":
		return resource{service: Keystone, name: "application_credential"}, true
	}
	return resource{}, false
}

func networkOrComputeResource(pattern string) (resource, bool) {
	res := resource{service: Neutron}
	switch pattern {
	case "floatingips":
		res.name = "floating_ip"
	case "floatingips/tags":
		res.name = "floating_ip_tag"
	case "ports":
		res.name = "port"
	case "ports/tags":
		res.name = "port_tag"
	case "networks":
		res.name = "network"
	case "subnets":
		res.name = "subnet"
	case "routers", "routers/add_extraroutes", "routers/remove_extraroutes":
		res.name = "router"
	case "security-groups":
		res.name = "security_group"
	case "security-groups/tags":
		res.name = "security_group_tag"
	case "security-group-rules":
		res.name = "security_group_rule"
	case "trunks":
		res.name = "trunk"
	case "address-groups":
		res.name = "address_group"
	case "quotas", "quotas/details.json":
		res.name, res.verb = "network_quota", "get"
	case "extensions":
		res.name = "network_extension"
	case "servers":
		res = resource{service: Nova, name: "server"}
	case "servers/os-interface":
		res = resource{service: Nova, name: "server_os_interface"}
	case "flavors":
		res = resource{service: Nova, name: "flavor"}
	case "containers":
		res = resource{service: Barbican, name: "container"}
	case "secrets":
		res = resource{service: Barbican, name: "secret"}
	}
	return res, res.name != ""
}
