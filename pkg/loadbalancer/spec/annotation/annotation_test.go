package annotation_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

func ptr[T any](v T) *T { return &v }

func TestParse_ReadsEveryKind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, value string
		want        annotation.Values
	}{
		{annotation.Internal, "true", annotation.Values{Internal: ptr(true)}},
		{annotation.Internal, "false", annotation.Values{Internal: ptr(false)}},
		{annotation.KeepFloatingIP, "true", annotation.Values{Floating: annotation.FloatingValues{Keep: ptr(true)}}},
		{annotation.AllowReplace, " true\n", annotation.Values{LoadBalancer: annotation.LoadBalancerValues{AllowReplace: ptr(true)}}},
		{annotation.LoadBalancerID, "28438d75-4c4e-43b4-a15b-5056fded2a34", annotation.Values{LoadBalancer: annotation.LoadBalancerValues{ID: ptr("28438d75-4c4e-43b4-a15b-5056fded2a34")}}},
		{annotation.SubnetID, "", annotation.Values{}},
		{annotation.Class, "Public Net", annotation.Values{LoadBalancer: annotation.LoadBalancerValues{Class: ptr("Public Net")}}},
		{annotation.Provider, "ovn", annotation.Values{LoadBalancer: annotation.LoadBalancerValues{Provider: ptr("ovn")}}},
		{annotation.SubnetID, "s", annotation.Values{VIP: annotation.VIPValues{SubnetID: ptr("s")}}},
		{annotation.NetworkID, "n", annotation.Values{VIP: annotation.VIPValues{NetworkID: ptr("n")}}},
		{annotation.MemberSubnetID, "m", annotation.Values{Members: annotation.MemberValues{SubnetID: ptr("m")}}},
		{annotation.FloatingNetID, "f", annotation.Values{Floating: annotation.FloatingValues{NetworkID: ptr("f")}}},
		{annotation.FloatingSubnet, "fs", annotation.Values{Floating: annotation.FloatingValues{SubnetID: ptr("fs")}}},
		{annotation.Method, "ROUND_ROBIN", annotation.Values{Members: annotation.MemberValues{Method: ptr("ROUND_ROBIN")}}},
		{annotation.Method, "source_ip_port", annotation.Values{Members: annotation.MemberValues{Method: ptr("SOURCE_IP_PORT")}}},
		{annotation.NodeSelector, "node-role.kubernetes.io/edge=,pool=a", annotation.Values{Members: annotation.MemberValues{NodeSelector: ptr("node-role.kubernetes.io/edge=,pool=a")}}},
		{annotation.NodeSelector, "", annotation.Values{Members: annotation.MemberValues{NodeSelector: ptr("")}}},
		{annotation.SourceRanges, "10.1.2.3/8", annotation.Values{Listeners: annotation.ListenerValues{SourceRanges: []string{"10.0.0.0/8"}}}},
		{annotation.SourceRanges, "10.0.0.0/8, fd00::1/64", annotation.Values{Listeners: annotation.ListenerValues{SourceRanges: []string{"10.0.0.0/8", "fd00::/64"}}}},
		{annotation.SourceRanges, "10.0.0.0/8 172.16.0.0/12,", annotation.Values{Listeners: annotation.ListenerValues{SourceRanges: []string{"10.0.0.0/8", "172.16.0.0/12"}}}},
		// Superfluous commas are ignored in all lists.
		{annotation.SourceRanges, ",10.0.0.0/8,,", annotation.Values{Listeners: annotation.ListenerValues{SourceRanges: []string{"10.0.0.0/8"}}}},
		{annotation.Tags, "a,, b,", annotation.Values{LoadBalancer: annotation.LoadBalancerValues{Tags: []string{"a", "b"}}}},
		{annotation.VIPSecurityGroups, ",0b6b3a4e-9c0f-4f5e-8a44-1c2d3e4f5a6b, ,", annotation.Values{VIP: annotation.VIPValues{SecurityGroups: ptr("0b6b3a4e-9c0f-4f5e-8a44-1c2d3e4f5a6b")}}},
		{annotation.VIPQoSPolicyID, "0b6b3a4e-9c0f-4f5e-8a44-1c2d3e4f5a6b,", annotation.Values{VIP: annotation.VIPValues{QoSPolicyID: ptr("0b6b3a4e-9c0f-4f5e-8a44-1c2d3e4f5a6b")}}},
		{annotation.Protocols, "web=http,", annotation.Values{Listeners: annotation.ListenerValues{Protocols: []annotation.PortProtocol{{Port: "web", Protocol: "HTTP"}}}}},
		{annotation.MonitorCodes, "200,,204,", annotation.Values{Monitor: annotation.MonitorValues{Codes: ptr("200,204")}}},
		{annotation.MonitorCodes, "200-299,", annotation.Values{Monitor: annotation.MonitorValues{Codes: ptr("200-299")}}},
		{annotation.MonitorCodes, "200, 204", annotation.Values{Monitor: annotation.MonitorValues{Codes: ptr("200, 204")}}},
		{annotation.MonitorDelay, "1", annotation.Values{Monitor: annotation.MonitorValues{Delay: ptr(1)}}},
		{annotation.MonitorTimeout, "3600", annotation.Values{Monitor: annotation.MonitorValues{Timeout: ptr(3600)}}},
		{annotation.MonitorRetries, "10", annotation.Values{Monitor: annotation.MonitorValues{MaxRetries: ptr(10)}}},
		{annotation.MonitorDown, "3", annotation.Values{Monitor: annotation.MonitorValues{MaxRetriesDown: ptr(3)}}},
		{annotation.MonitorType, "tls-hello", annotation.Values{Monitor: annotation.MonitorValues{Type: ptr("TLS-HELLO")}}},
		{annotation.MonitorPath, "/live/z", annotation.Values{Monitor: annotation.MonitorValues{Path: ptr("/live/z")}}},
		{annotation.MonitorMethod, "head", annotation.Values{Monitor: annotation.MonitorValues{HTTPMethod: ptr("HEAD")}}},
		{annotation.MonitorCodes, "200,204", annotation.Values{Monitor: annotation.MonitorValues{Codes: ptr("200,204")}}},
		{annotation.MonitorCodes, "200-299", annotation.Values{Monitor: annotation.MonitorValues{Codes: ptr("200-299")}}},
		{annotation.MonitorVersion, "1.1", annotation.Values{Monitor: annotation.MonitorValues{HTTPVersion: ptr("1.1")}}},
		{annotation.MonitorDomain, "www.example.com", annotation.Values{Monitor: annotation.MonitorValues{DomainName: ptr("www.example.com")}}},
		{annotation.MonitorPort, "65535", annotation.Values{Monitor: annotation.MonitorValues{Port: ptr(65535)}}},
		{annotation.MonitorKubeProxy, "true", annotation.Values{Monitor: annotation.MonitorValues{KubeProxy: ptr(true)}}},
		{annotation.MaxMembers, "0", annotation.Values{Members: annotation.MemberValues{Max: ptr(0)}}},
		{annotation.MaxMembers, "10000", annotation.Values{Members: annotation.MemberValues{Max: ptr(10000)}}},
		{annotation.Prefix + "load-balancer-address", "172.24.5.171", annotation.Values{}},
		{annotation.ProxyProtocol, "false", annotation.Values{Listeners: annotation.ListenerValues{ProxyProtocol: ptr("false")}}},
		{annotation.ProxyProtocol, "v2", annotation.Values{Listeners: annotation.ListenerValues{ProxyProtocol: ptr("v2")}}},
		{annotation.ForwardedFor, "false", annotation.Values{Listeners: annotation.ListenerValues{ForwardedFor: ptr(false)}}},
		{annotation.ForwardedProto, "true", annotation.Values{Listeners: annotation.ListenerValues{ForwardedProto: ptr(true)}}},
		{annotation.ForwardedPort, "true", annotation.Values{Listeners: annotation.ListenerValues{ForwardedPort: ptr(true)}}},
		{annotation.AppProtocol, "true", annotation.Values{Listeners: annotation.ListenerValues{AppProtocol: ptr(true)}}},
		{annotation.ConnLimit, "-1", annotation.Values{Listeners: annotation.ListenerValues{Limits: annotation.LimitValues{ConnectionLimit: ptr(-1)}}}},
		{annotation.ClientData, "31536000000", annotation.Values{Listeners: annotation.ListenerValues{Limits: annotation.LimitValues{TimeoutClientData: ptr(31536000000)}}}},
		{annotation.MemberConnect, "1", annotation.Values{Listeners: annotation.ListenerValues{Limits: annotation.LimitValues{TimeoutMemberConnect: ptr(1)}}}},
		{annotation.MemberData, "2", annotation.Values{Listeners: annotation.ListenerValues{Limits: annotation.LimitValues{TimeoutMemberData: ptr(2)}}}},
		{annotation.TCPInspect, "0", annotation.Values{Listeners: annotation.ListenerValues{Limits: annotation.LimitValues{TimeoutTCPInspect: ptr(0)}}}},
		{annotation.TLSContainer, "https://barbican/1", annotation.Values{Listeners: annotation.ListenerValues{TLSContainerRef: ptr("https://barbican/1")}}},
		// Empty values count as not given, unless they disable the value of cloud.conf.
		{annotation.TLSContainer, "", annotation.Values{Listeners: annotation.ListenerValues{TLSContainerRef: ptr("")}}},
		{annotation.FlavorID, " ", annotation.Values{LoadBalancer: annotation.LoadBalancerValues{FlavorID: ptr("")}}},
		{annotation.AvailabilityZone, "", annotation.Values{LoadBalancer: annotation.LoadBalancerValues{AvailabilityZone: ptr("")}}},
		{annotation.FloatingNetID, "", annotation.Values{Floating: annotation.FloatingValues{NetworkID: ptr("")}}},
		{annotation.Internal, "", annotation.Values{}},
		{annotation.SourceRanges, " ", annotation.Values{}},
		{annotation.MonitorDelay, "", annotation.Values{}},
		{annotation.MonitorPath, "", annotation.Values{}},
		{annotation.MonitorDomain, "", annotation.Values{}},
		{annotation.Method, "\n", annotation.Values{}},
		{annotation.AllowReplace, "", annotation.Values{}},
		{annotation.Hostname, "www.example.com", annotation.Values{Hostname: ptr("www.example.com")}},
		{annotation.Protocols, "web=http, 443=terminated-https", annotation.Values{Listeners: annotation.ListenerValues{Protocols: []annotation.PortProtocol{
			{Port: "web", Protocol: "HTTP"}, {Port: "443", Protocol: "TERMINATED_HTTPS"},
		}}}},
		{annotation.Tags, "team-a, cost=7", annotation.Values{LoadBalancer: annotation.LoadBalancerValues{Tags: []string{"team-a", "cost=7"}}}},
		{annotation.Tags, "", annotation.Values{LoadBalancer: annotation.LoadBalancerValues{Tags: []string{}}}},
		{"kubectl.kubernetes.io/last-applied-configuration", "{}", annotation.Values{}},
	} {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			t.Parallel()
			values, notices, errs := annotation.Parse(map[string]string{test.name: test.value})
			if len(errs) > 0 || len(notices) > 0 {
				t.Fatalf("errors %v, notices %v", errs, notices)
			}
			if diff := cmp.Diff(test.want, values); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParse_RefusesWhatIsNotAllowed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, value, allowed string }{
		{annotation.AllowReplace, "yes", `"true" or "false"`},
		{annotation.ForwardedProto, "True", `"true" or "false"`},
		{annotation.AppProtocol, "1", `"true" or "false"`},
		{annotation.LoadBalancerID, "../networks", "the ID of a load balancer"},
		{annotation.LoadBalancerID, "..", "the ID of a load balancer"},
		{annotation.LoadBalancerID, " . ", "the ID of a load balancer"},
		{annotation.PortID, ".", "the ID of a port of the project that no device uses"},
		{annotation.NetworkID, "..", "the ID of a network"},
		{annotation.FloatingNetID, "..", "the ID of an external network"},
		{annotation.FloatingIPID, ".", "the ID of a floating IP of the project"},
		{annotation.SubnetID, "..", "the ID of a subnet"},
		{annotation.SubnetID, "a?fields=x", "the ID of a subnet"},
		{annotation.NetworkID, "a\r\nb", "the ID of a network"},
		{annotation.MemberSubnetID, strings.Repeat("x", 256), "the ID of a subnet"},
		{annotation.NodeSelector, strings.Repeat("x", 1025), config.SelectorAllowed},
		{annotation.SourceRanges, "10.0.0.1", "comma-separated CIDRs"},
		{annotation.SourceRanges, "10.0.0.0/33", "comma-separated CIDRs"},
		{annotation.MonitorType, "GRPC", "TCP, HTTP, HTTPS, TLS-HELLO, PING, UDP-CONNECT, SCTP"},
		{annotation.MonitorPath, "live", "a path that begins with /, such as /healthz"},
		{annotation.MonitorPath, "//host/live", "a path that begins with /, such as /healthz"},
		{annotation.MonitorPath, "/a b", "a path that begins with /, such as /healthz"},
		{annotation.MonitorPath, "/a?b", "a path that begins with /, such as /healthz"},
		{annotation.MonitorMethod, "DELETE", "GET, HEAD, OPTIONS"},
		{annotation.MonitorCodes, "2xx", "one status, such as 200, a list, such as 200,204, or a range, such as 200-299"},
		{annotation.MonitorCodes, "200-", "one status, such as 200, a list, such as 200,204, or a range, such as 200-299"},
		{annotation.MonitorVersion, "2", "1.0, 1.1"},
		{annotation.MonitorDomain, "a b", "the name of a host, such as www.example.com"},
		{annotation.MonitorPort, "0", "1 to 65535"},
		{annotation.MonitorKubeProxy, "10256", `"true" or "false"`},
		{annotation.MaxMembers, "-1", "0 to 10000"},
		{annotation.MaxMembers, "10001", "0 to 10000"},
		{annotation.TLSContainer, "two words", "the reference of a container or secret of Barbican, such as https://barbican.example.com/v1/secrets/ID"},
		{annotation.Tags, "a,,kube_b", config.TagsAllowed},
		{annotation.Protocols, ",", "comma-separated port=protocol, of TCP, HTTP, HTTPS, TERMINATED_HTTPS; each port once"},
		{annotation.Tags, "a,A", config.TagsAllowed},
		{annotation.Tags, "kube_svc_uid_1", config.TagsAllowed},
		{annotation.Tags, strings.Repeat("x", 256), config.TagsAllowed},
		{annotation.Protocols, "web=UDP", "comma-separated port=protocol, of TCP, HTTP, HTTPS, TERMINATED_HTTPS; each port once"},
		{annotation.Protocols, "web", "comma-separated port=protocol, of TCP, HTTP, HTTPS, TERMINATED_HTTPS; each port once"},
		{annotation.Protocols, "=HTTP", "comma-separated port=protocol, of TCP, HTTP, HTTPS, TERMINATED_HTTPS; each port once"},
		{annotation.Protocols, "web=HTTP,web=TCP", "comma-separated port=protocol, of TCP, HTTP, HTTPS, TERMINATED_HTTPS; each port once"},
	} {
		t.Run(test.name+"="+test.value[:min(len(test.value), 20)], func(t *testing.T) {
			t.Parallel()
			values, notices, errs := annotation.Parse(map[string]string{test.name: test.value})
			if len(errs) != 1 || len(notices) != 0 {
				t.Fatalf("errors %v, notices %v; want one error", errs, notices)
			}
			if want := "metadata.annotations[" + test.name + "]"; errs[0].Field != want {
				t.Errorf("the error is about %s, want %s", errs[0].Field, want)
			}
			if want := "allowed: " + test.allowed; errs[0].Detail != want {
				t.Errorf("the error says %q, want %q", errs[0].Detail, want)
			}
			if diff := cmp.Diff(annotation.Values{}, values); diff != "" {
				t.Errorf("a refused value is stored: %s", diff)
			}
		})
	}
}

// What cloud-provider-openstack takes for its default, or hands on to an OpenStack that
// refuses it, changes nothing of a load balancer at the switch: it counts as not given.
func TestParse_TreatsMalformedValuesOfPeerAsNotGiven(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, value, allowed string
		newRefused           bool
	}{
		{annotation.Internal, "yes", `"true" or "false"`, false},
		{annotation.Internal, "True", `"true" or "false"`, false},
		{annotation.ForwardedFor, "TRUE", `"true" or "false"`, false},
		{annotation.Monitor, " true", `"true" or "false"`, false},
		{annotation.KeepFloatingIP, "1", `"true" or "false"`, false},
		{annotation.ProxyProtocol, "V2", "true, v1, v2, false", false},
		{annotation.ProxyProtocol, "v3", "true, v1, v2, false", false},
		{annotation.ConnLimit, "abc", "-1 to 2147483647", false},
		{annotation.ConnLimit, "-2", "-1 to 2147483647", true},
		{annotation.ClientData, "5s", "0 to 31536000000 (milliseconds)", false},
		{annotation.ClientData, "-1", "0 to 31536000000 (milliseconds)", true},
		{annotation.TCPInspect, "31536000001", "0 to 31536000000 (milliseconds)", true},
		{annotation.MonitorDelay, "5s", "1 to 3600 (seconds)", false},
		{annotation.MonitorDelay, " 5", "1 to 3600 (seconds)", false},
		{annotation.MonitorDelay, "0", "1 to 3600 (seconds)", true},
		{annotation.MonitorTimeout, "3601", "1 to 3600 (seconds)", true},
		{annotation.MonitorRetries, "11", "1 to 10", true},
		{annotation.MonitorDown, "-1", "1 to 10", true},
		{annotation.MonitorDown, "99999999999999999999", "1 to 10", false},
		{annotation.Method, "RANDOM", "ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP, SOURCE_IP_PORT", true},
	} {
		values, notices, errs := annotation.Parse(map[string]string{test.name: test.value})
		want := annotation.Values{Malformed: []annotation.Malformed{{
			Annotation: test.name, Value: test.value, Allowed: test.allowed, NewRefused: test.newRefused,
		}}}
		if diff := cmp.Diff(want, values); diff != "" || len(errs) > 0 || len(notices) > 0 {
			t.Errorf("%s=%q: errors %v, notices %v, values %s", test.name, test.value, errs, notices, diff)
		}
	}
}

// An address that is released cannot be had again.
func TestKeepsFloatingIP_IsTrueForMalformedValue(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"true": true, "false": false, "": false, "True": true, "1": true} {
		values, _, _ := annotation.Parse(map[string]string{annotation.KeepFloatingIP: value})
		if values.KeepsFloatingIP() != want {
			t.Errorf("%q: kept %v", value, !want)
		}
	}
}

func TestParse_ReportsAllErrorsInOneOrder(t *testing.T) {
	t.Parallel()
	for range 20 {
		_, _, errs := annotation.Parse(map[string]string{
			annotation.MonitorPort: "x", annotation.SourceRanges: "x", annotation.MaxMembers: "x",
		})
		var fields []string
		for _, err := range errs {
			fields = append(fields, err.Field)
		}
		want := []string{
			annotation.Path(annotation.MonitorPort).String(), annotation.Path(annotation.MaxMembers).String(),
			annotation.Path(annotation.SourceRanges).String(),
		}
		if diff := cmp.Diff(want, fields); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestParse_BoundsValueInErrors(t *testing.T) {
	t.Parallel()
	_, _, errs := annotation.Parse(map[string]string{annotation.AllowReplace: strings.Repeat("no ", 1000)})
	if len(errs) != 1 || len(errs[0].Error()) > 400 {
		t.Errorf("errors %v", errs)
	}
}

func TestParse_ReportsUnknownAnnotations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, message string }{
		{annotation.Prefix + "subnet-idd", `there is no such annotation: did you mean "loadbalancer.openstack.org/subnet-id"?`},
		{annotation.Prefix + "flavor", `there is no such annotation: did you mean "loadbalancer.openstack.org/flavor-id"?`},
		{annotation.Prefix + "flavor-name", `there is no such annotation: did you mean "loadbalancer.openstack.org/flavor-id"?`},
		{annotation.Prefix + "floating-subnet-name", `there is no such annotation: did you mean "loadbalancer.openstack.org/floating-subnet"?`},
		{annotation.Prefix + "floating-network-name", `there is no such annotation: did you mean "loadbalancer.openstack.org/floating-network-id"?`},
		{annotation.Prefix + "port", `there is no such annotation: did you mean "loadbalancer.openstack.org/port-id"?`},
		{annotation.Prefix + "availability-zone-id", `there is no such annotation: did you mean "loadbalancer.openstack.org/availability-zone"?`},
		{annotation.Prefix + "vip-sg-id", `there is no such annotation: did you mean "loadbalancer.openstack.org/vip-sg-ids"?`},
		{annotation.Prefix + "lb-provider", `there is no such annotation: did you mean "loadbalancer.openstack.org/provider"?`},
		{annotation.Prefix + "load-balancer-provider", `there is no such annotation: did you mean "loadbalancer.openstack.org/provider"?`},
		{annotation.Prefix + "create-monitor", `there is no such annotation: did you mean "loadbalancer.openstack.org/enable-health-monitor"?`},
		{annotation.Prefix + "monitor-delay", `there is no such annotation: did you mean "loadbalancer.openstack.org/health-monitor-delay"?`},
		{annotation.Prefix + "internal-lb", `there is no such annotation: did you mean "service.beta.kubernetes.io/openstack-internal-load-balancer"?`},
		{annotation.Prefix + "load-balancer-source-ranges", `there is no such annotation: did you mean "service.beta.kubernetes.io/load-balancer-source-ranges"?`},
		{"service.beta.kubernetes.io/aws-load-balancer-internal", `has no effect on OpenStack: did you mean "service.beta.kubernetes.io/openstack-internal-load-balancer"?`},
		{"networking.gke.io/load-balancer-type", `has no effect on OpenStack: did you mean "service.beta.kubernetes.io/openstack-internal-load-balancer"?`},
		{"metallb.io/loadBalancerIPs", `has no effect on OpenStack: did you mean "loadbalancer.openstack.org/vip-address"?`},
		{annotation.Prefix + "keep-floating-ip", `there is no such annotation: did you mean "loadbalancer.openstack.org/keep-floatingip"?`},
		{annotation.Prefix + "something-else-entirely", "there is no such annotation"},
		{annotation.Prefix + strings.Repeat("subnet-id", 1000), "there is no such annotation"},
		{annotation.Prefix, "there is no such annotation"},
		{"service.beta.kubernetes.io/openstack-internal-loadbalancer", `there is no such annotation: did you mean "service.beta.kubernetes.io/openstack-internal-load-balancer"?`},
		{"service.beta.kubernetes.io/load-balancer-source-range", `there is no such annotation: did you mean "service.beta.kubernetes.io/load-balancer-source-ranges"?`},
		{"service.beta.kubernetes.io/openstack-something", "there is no such annotation"},
		{"loadbalancers.openstack.org/subnet-id", `there is no such annotation: did you mean "loadbalancer.openstack.org/subnet-id"?`},
		{"loadbalancer.openstack.com/", `there is no such annotation: annotations for load balancers begin with "loadbalancer.openstack.org/"`},
	} {
		t.Run(test.name[:min(len(test.name), 60)], func(t *testing.T) {
			t.Parallel()
			values, notices, errs := annotation.Parse(map[string]string{test.name: "true"})
			want := []annotation.Notice{{Annotation: test.name, Message: test.message}}
			if diff := cmp.Diff(want, notices); diff != "" || len(errs) > 0 {
				t.Errorf("errors %v, notices: %s", errs, diff)
			}
			if diff := cmp.Diff(annotation.Values{}, values); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParse_IgnoresAnnotationsOfOthers(t *testing.T) {
	t.Parallel()
	_, notices, errs := annotation.Parse(map[string]string{
		"service.beta.kubernetes.io/aws-load-balancer-type": "nlb", "example.com/subnet-idd": "x",
		"service.beta.kubernetes.io/aws-load-balancer-source-ranges": "10.0.0.0/8",
		"service.beta.kubernetes.io/azure-internal-load-balancer":    "true",
		"service.beta.kubernetes.io/cce-load-balancer-internal-vpc":  "true",
		"service.alpha.kubernetes.io/tolerate-unready-endpoints":     "true",
		"service.kubernetes.io/topology-mode":                        "Auto",
		"load-balancer.hetzner.cloud/location":                       "nbg1",
		"subnet-id":                                                  "x",
		// A Service for several clouds has the equivalent.
		"service.beta.kubernetes.io/azure-load-balancer-internal": "true", "networking.gke.io/load-balancer-type": "Internal", annotation.Internal: "true",
	})
	if len(notices) > 0 || len(errs) > 0 {
		t.Errorf("notices %v, errors %v", notices, errs)
	}
}

func TestAliases_LeadToExistingAnnotations(t *testing.T) {
	t.Parallel()
	table := annotation.Table()
	for name, known := range annotation.Aliases() {
		exists := func(name string) bool {
			return slices.ContainsFunc(table, func(a annotation.Annotation) bool { return a.Name == name })
		}
		if !exists(known) || exists(name) {
			t.Errorf("%s leads to %s", name, known)
		}
	}
}

func TestTable_IsComplete(t *testing.T) {
	t.Parallel()
	var names []string
	for _, a := range annotation.Table() {
		names = append(names, a.Name)
		if a.Name == "" {
			t.Errorf("an annotation has no name: %+v", a.Doc)
		}
		if a.Allowed == "" || a.Doc == "" {
			t.Errorf("%s says not what it allows (%q) or does (%q)", a.Name, a.Allowed, a.Doc)
		}
		if !strings.HasSuffix(a.Doc, ".") {
			t.Errorf("%s: the text is not a sentence: %q", a.Name, a.Doc)
		}
		if a.Type == "" || a.Change == "" {
			t.Errorf("%s has no type (%q), or says not what a later change does (%q)", a.Name, a.Type, a.Change)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("not sorted by name: %v", names)
	}
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Errorf("a name is there twice: %v", names)
	}
}

// theirs are the annotations of cloud-provider-openstack.
func theirs() []string {
	return []string{
		annotation.Internal, annotation.SourceRanges,
		"connection-limit", "floating-network-id", "floating-subnet", "floating-subnet-id", "floating-subnet-tags",
		"class", "keep-floatingip", "port-id", "proxy-protocol", "subnet-id", "member-subnet-id", "network-id",
		"timeout-client-data", "timeout-member-connect", "timeout-member-data", "timeout-tcp-inspect",
		"x-forwarded-for", "flavor-id", "availability-zone", "enable-health-monitor", "health-monitor-delay",
		"health-monitor-timeout", "health-monitor-max-retries", "health-monitor-max-retries-down",
		"hostname", "load-balancer-address", "load-balancer-id", "lb-method", "default-tls-container-ref", "node-selector",
	}
}

// TestTable_HasAllOfCloudProviderOpenStack keeps the announcement of those that
// have no effect: without an entry they would be "no such annotation".
func TestTable_HasAllOfCloudProviderOpenStack(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, a := range annotation.Table() {
		known[strings.TrimPrefix(a.Name, annotation.Prefix)] = true
	}
	for _, name := range theirs() {
		if !known[name] {
			t.Errorf("%s is not in the table", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, a := range annotation.Table() {
		for _, value := range []string{"true", "5", "10.0.0.0/8", "ROUND_ROBIN", "", "\x00", "é\xff"} {
			f.Add(a.Name, value)
		}
	}
	f.Add(annotation.Prefix+"subnet-idd", strings.Repeat("é", 200))
	f.Fuzz(func(t *testing.T, name, value string) {
		_, notices, errs := annotation.Parse(map[string]string{name: value})
		if len(notices)+len(errs) > 1 {
			t.Fatalf("one annotation, but notices %v and errors %v", notices, errs)
		}
		for _, err := range errs {
			if want := annotation.Path(name).String(); err.Field != want {
				t.Errorf("the error is about %s, want %s", err.Field, want)
			}
			if text := err.Error(); !strings.Contains(text, name) || len(text) > len(name)+1000 {
				t.Errorf("error %q: want one that names %s and is short", text, name)
			}
			if utf8.ValidString(name) && !utf8.ValidString(err.Error()) {
				t.Errorf("error %q is not UTF-8", err.Error())
			}
		}
		for _, notice := range notices {
			if notice.Annotation != name || notice.Message == "" {
				t.Errorf("notice %+v about %s", notice, name)
			}
		}
	})
}
