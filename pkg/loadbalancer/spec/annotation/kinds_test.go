package annotation_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// someID is an ID in OpenStack's format.
const someID = "0b6b3a4e-9c0f-4f5e-8a44-1c2d3e4f5a6b"

// effective returns the annotations that a user may set.
func effective() []annotation.Annotation {
	return slices.DeleteFunc(slices.Clone(annotation.Table()), func(a annotation.Annotation) bool { return a.Change == annotation.Written })
}

// example returns a valid value of an annotation.
func example(a annotation.Annotation) string {
	switch a.Name {
	case annotation.VIPQoSPolicyID, annotation.VIPSecurityGroups, annotation.AdditionalSubnets:
		return someID
	case annotation.Tags, annotation.NodeSelector, annotation.Share:
		return "edge"
	case annotation.Protocols:
		return "web=HTTP"
	case annotation.SourceRanges, annotation.MetricsCIDRs:
		return "192.0.2.0/24"
	case annotation.MonitorCodes:
		return "200"
	case annotation.MonitorPath:
		return "/healthz"
	}
	switch a.Type {
	case "boolean":
		return "true"
	case "number":
		lowest, _ := limitsOf(a)
		return strconv.Itoa(lowest)
	case "choice":
		first, _, _ := strings.Cut(a.Allowed, ",")
		return first
	}
	return "a-name"
}

// limitsOf returns the range that the documentation of a number names.
func limitsOf(a annotation.Annotation) (lowest, highest int) {
	if _, err := fmt.Sscanf(a.Allowed, "%d to %d", &lowest, &highest); err != nil {
		panic(a.Name + ": " + a.Allowed)
	}
	return lowest, highest
}

// parsed returns what becomes of a value: its values, whether it is valid, and whether it is refused.
func parsed(t *testing.T, name, value string) (values annotation.Values, valid, refused bool) {
	t.Helper()
	values, notices, errs := annotation.Parse(map[string]string{name: value})
	if len(notices) > 0 {
		t.Fatalf("%s=%q: notices %v", name, value, notices)
	}
	return values, len(errs) == 0 && len(values.Malformed) == 0, len(errs) > 0
}

// leaves returns the paths of the fields that are set.
func leaves(at string, value reflect.Value) (paths []string) {
	if value.Kind() == reflect.Struct {
		for i := range value.NumField() {
			paths = append(paths, leaves(at+"."+value.Type().Field(i).Name, value.Field(i))...)
		}
		return paths
	}
	if value.IsNil() {
		return nil
	}
	return []string{strings.TrimPrefix(at, ".")}
}

// An annotation that shares its field with another one would override it.
func TestParse_StoresEachAnnotationInAFieldOfItsOwn(t *testing.T) {
	t.Parallel()
	by := map[string]string{}
	for _, a := range effective() {
		values, valid, _ := parsed(t, a.Name, example(a))
		set := leaves("", reflect.ValueOf(values))
		if !valid || len(set) != 1 {
			t.Errorf("%s=%q: valid %v, fields %v", a.Name, example(a), valid, set)
			continue
		}
		if other, is := by[set[0]]; is {
			t.Errorf("%s and %s are both stored in %s", a.Name, other, set[0])
		}
		by[set[0]] = a.Name
	}
	all := 0
	for i := range reflect.TypeFor[annotation.Values]().NumField() {
		field := reflect.TypeFor[annotation.Values]().Field(i)
		switch {
		case field.Name == "Malformed" || field.Name == "Ports":
		case field.Type.Kind() == reflect.Struct:
			all += len(leavesOf(field.Type))
		default:
			all++
		}
	}
	if all != len(by) {
		t.Errorf("%d fields, of which annotations set %d", all, len(by))
	}
}

// leavesOf returns the fields of a struct that are no structs.
func leavesOf(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		if field := of.Field(i); field.Type.Kind() == reflect.Struct {
			names = append(names, leavesOf(field.Type)...)
		} else {
			names = append(names, field.Name)
		}
	}
	return names
}

func TestParse_ReadsAddressesMembersAndMetrics(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value string
		want  annotation.Values
	}{
		annotation.PortID:            {"p", annotation.Values{VIP: annotation.VIPValues{PortID: ptr("p")}}},
		annotation.VIPAddress:        {"10.6.0.9", annotation.Values{VIP: annotation.VIPValues{Address: ptr("10.6.0.9")}}},
		annotation.AdditionalSubnets: {strings.ToUpper(someID) + " ,", annotation.Values{VIP: annotation.VIPValues{AdditionalSubnetIDs: ptr(someID)}}},
		annotation.VIPQoSPolicyID:    {"none", annotation.Values{VIP: annotation.VIPValues{QoSPolicyID: ptr("none")}}},
		annotation.VIPSecurityGroups: {someID + ", " + someID, annotation.Values{VIP: annotation.VIPValues{SecurityGroups: ptr(someID + "," + someID)}}},
		annotation.FloatingPattern:   {"~^public/[ab]#", annotation.Values{Floating: annotation.FloatingValues{Pattern: ptr("~^public/[ab]#")}}},
		annotation.FloatingTags:      {"&a,b", annotation.Values{Floating: annotation.FloatingValues{Tags: ptr("&a,b")}}},
		annotation.FloatingIPID:      {"fip", annotation.Values{Floating: annotation.FloatingValues{ID: ptr("fip")}}},
		annotation.FloatingIPTag:     {"edge a/b", annotation.Values{Floating: annotation.FloatingValues{Tag: ptr("edge a/b")}}},
		annotation.IPMode:            {"proxy", annotation.Values{Status: annotation.StatusValues{IPMode: ptr("Proxy")}}},
		annotation.IngressHostname:   {"true", annotation.Values{Status: annotation.StatusValues{IngressHostname: ptr(true)}}},
		annotation.FlavorID:          {"small/1", annotation.Values{LoadBalancer: annotation.LoadBalancerValues{FlavorID: ptr("small/1")}}},
		annotation.AvailabilityZone:  {"az-1", annotation.Values{LoadBalancer: annotation.LoadBalancerValues{AvailabilityZone: ptr("az-1")}}},
		annotation.Managed:           {"false", annotation.Values{LoadBalancer: annotation.LoadBalancerValues{Managed: ptr(false)}}},
		annotation.Share:             {"edge", annotation.Values{LoadBalancer: annotation.LoadBalancerValues{Share: ptr("edge")}}},
		annotation.Monitor:           {"true", annotation.Values{Monitor: annotation.MonitorValues{Enabled: ptr(true)}}},
		annotation.Persistence:       {"app_cookie", annotation.Values{Members: annotation.MemberValues{Persistence: ptr("APP_COOKIE")}}},
		annotation.CookieName:        {"JSESSIONID", annotation.Values{Members: annotation.MemberValues{CookieName: ptr("JSESSIONID")}}},
		annotation.MemberAddress:     {"true", annotation.Values{Members: annotation.MemberValues{BySubnet: ptr(true)}}},
		annotation.Members:           {"Endpoint-Nodes", annotation.Values{Members: annotation.MemberValues{Mode: ptr("endpoint-nodes")}}},
		annotation.MemberWeights:     {"drain", annotation.Values{Members: annotation.MemberValues{Weights: ptr("drain")}}},
		annotation.MetricsPort:       {"8088", annotation.Values{Metrics: annotation.MetricsValues{Port: ptr(8088)}}},
		annotation.MetricsCIDRs:      {"10.0.0.0/8", annotation.Values{Metrics: annotation.MetricsValues{AllowedCIDRs: []string{"10.0.0.0/8"}}}},
	} {
		values, valid, _ := parsed(t, name, c.value)
		if diff := cmp.Diff(c.want, values); diff != "" || !valid {
			t.Errorf("%s=%q: valid %v (-want +got):\n%s", name, c.value, valid, diff)
		}
	}
}

// The limits in the documentation and in errors are those that apply.
func TestParse_AcceptsNumbersWithinTheDocumentedLimits(t *testing.T) {
	t.Parallel()
	numbers := 0
	for _, a := range effective() {
		if a.Type != "number" {
			continue
		}
		numbers++
		lowest, highest := limitsOf(a)
		for value, want := range map[string]bool{
			strconv.Itoa(lowest): true, strconv.Itoa(highest): true, strconv.Itoa(lowest - 1): false, strconv.Itoa(highest + 1): false,
			fmt.Sprintf("00%d", highest): true, fmt.Sprintf("+%d", highest): true, "0x5": false, "5.0": false, "1e1": false, "5s": false, "five": false, "1 0": false,
			"99999999999999999999": false, fmt.Sprintf(" %d\n", highest): !a.Exact(),
		} {
			_, valid, refused := parsed(t, a.Name, value)
			if valid != want || refused != (!valid && !a.Lenient()) {
				t.Errorf("%s=%q (%s): valid %v, refused %v", a.Name, value, a.Allowed, valid, refused)
			}
		}
	}
	if numbers != 12 {
		t.Errorf("%d annotations are numbers", numbers)
	}
}

func TestParse_AcceptsEachOfTheDocumentedWords(t *testing.T) {
	t.Parallel()
	for _, a := range effective() {
		if a.Type != "choice" {
			continue
		}
		for word := range strings.SplitSeq(a.Allowed, ", ") {
			_, valid, _ := parsed(t, a.Name, word)
			_, upper, _ := parsed(t, a.Name, strings.ToUpper(word))
			if !valid || upper != (a.Name != annotation.ProxyProtocol) {
				t.Errorf("%s=%s: valid %v, in capitals %v", a.Name, word, valid, upper)
			}
			if _, valid, _ := parsed(t, a.Name, word+"x"); valid {
				t.Errorf("%s=%sx is valid", a.Name, word)
			}
		}
	}
}

// Every kind of text has a limit, in bytes.
func TestParse_LimitsTextsAndLists(t *testing.T) {
	t.Parallel()
	ids := func(n int) string { return strings.TrimSuffix(strings.Repeat(someID+",", n), ",") }
	tags := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint("tag", i))
		}
		return strings.Join(all, ",")
	}
	for _, c := range []struct {
		name, longest, tooLong string
	}{
		{annotation.Class, strings.Repeat("x", 255), strings.Repeat("x", 256)},
		{annotation.Hostname, strings.Repeat("é", 127), strings.Repeat("é", 128)},
		{annotation.FlavorID, strings.Repeat("x", 255), strings.Repeat("x", 256)},
		{annotation.FloatingIPTag, strings.Repeat("é", 127), strings.Repeat("é", 128)},
		{annotation.Share, strings.Repeat("x", 63), strings.Repeat("x", 64)},
		{annotation.Share, "a", "-"},
		{annotation.NodeSelector, strings.Repeat("x", annotation.MaxSelector), strings.Repeat("x", annotation.MaxSelector+1)},
		{annotation.TLSContainer, strings.Repeat("x", 255), strings.Repeat("x", 256)},
		{annotation.CookieName, strings.Repeat("x", 255), strings.Repeat("x", 256)},
		{annotation.MonitorPath, "/" + strings.Repeat("x", 254), "/" + strings.Repeat("x", 255)},
		{annotation.MonitorCodes, strings.Repeat("200,", 16), strings.Repeat("200,", 16) + ","},
		{annotation.MonitorDomain, strings.Repeat("xyz.", 63) + "com", strings.Repeat("xyz.", 63) + "comm"},
		{annotation.MonitorDomain, strings.Repeat("x", 63) + ".com", "www.-x.com"},
		{annotation.Tags, tags(20), tags(21)},
		{annotation.Tags, strings.Repeat("x", 255), strings.Repeat("x", 256)},
		{annotation.VIPQoSPolicyID, ids(1), ids(2)},
		{annotation.VIPSecurityGroups, ids(100), ids(101)},
		{annotation.AdditionalSubnets, ids(5), ids(6)},
	} {
		if _, valid, _ := parsed(t, c.name, c.longest); !valid {
			t.Errorf("%s=%.40q (%d bytes) is invalid", c.name, c.longest, len(c.longest))
		}
		if _, _, refused := parsed(t, c.name, c.tooLong); !refused {
			t.Errorf("%s=%.40q (%d bytes) is not refused", c.name, c.tooLong, len(c.tooLong))
		}
	}
}

// IDs become parts of URLs, references those of headers: what would change either is refused.
func TestParse_RefusesCharactersThatChangeARequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		refused []string
	}{
		{annotation.SubnetID, []string{"a/b", "a?b", "a#b", "a\rb", "a\nb", "a\tb", ".", ".."}},
		{annotation.FlavorID, []string{"a\rb", "a\nb"}},
		{annotation.TLSContainer, []string{"a b", "a\rb", "a\nb", "a\tb"}},
		{annotation.CookieName, []string{"a b", "a;b", "a=b", "a,b", `"a"`, "é"}},
		{annotation.Share, []string{"A", "a_b", "a.b", "-a", "a-", "é"}},
		{annotation.MonitorPath, []string{"/a?b", "/a#b", "/a b", "/%zz", "/a\nb", "//host", "http://host/"}},
		{annotation.MonitorDomain, []string{"a/b", "a..b", "-a", "a-.b", "é"}},
		{annotation.MonitorCodes, []string{"99", "600", "2000", "200-299,404", "200 204", "200-299-300", ","}},
		{annotation.VIPSecurityGroups, []string{"none,none", someID + ",none", "{" + someID + "}", strings.ReplaceAll(someID, "-", ""), "urn:uuid:" + someID, ","}},
		{annotation.AdditionalSubnets, []string{"none", someID + ",x", ","}},
		{annotation.Protocols, []string{"80=HTTP,80 =TCP", " =HTTP", "80==HTTP", "80=HTTP=TCP", "80:HTTP"}},
		{annotation.MetricsCIDRs, []string{"10.0.0.0", "10.0.0.0/8;10.0.0.0/8", "all"}},
	} {
		for _, value := range c.refused {
			if _, _, refused := parsed(t, c.name, value); !refused {
				t.Errorf("%s=%q is not refused", c.name, value)
			}
		}
	}
}

// Values of megabytes must not cost the controller or the message their size.
func TestParse_RefusesHugeValuesUnread(t *testing.T) {
	t.Parallel()
	for _, a := range annotation.Table() {
		most := 16 << 10
		if a.Name == annotation.SourceRanges {
			most = 128 << 10
		}
		if a.Most() != most {
			t.Errorf("%s has %d bytes at most, want %d", a.Name, a.Most(), most)
		}
		for _, value := range []string{strings.Repeat(" ", most+1), strings.Repeat("1", most+1)} {
			_, _, errs := annotation.Parse(map[string]string{a.Name: value})
			if a.Change == annotation.Written {
				if len(errs) > 0 {
					t.Errorf("%s, which the controller writes: %v", a.Name, errs)
				}
				continue
			}
			want := fmt.Sprintf("has %d bytes; allowed: %d at most", most+1, most)
			if len(errs) != 1 || errs[0].Detail != want || len(errs[0].Error()) > 400 {
				t.Errorf("%s: %v, want %q", a.Name, errs, want)
			}
		}
	}
	blank, valid, _ := parsed(t, annotation.SourceRanges, strings.Repeat(" ", 128<<10))
	if diff := cmp.Diff(annotation.Values{}, blank); diff != "" || !valid {
		t.Errorf("a blank value of the maximum length: valid %v, %s", valid, diff)
	}
}

// An empty value means "none" only where it is documented; spaces count only where cloud-provider-openstack reads them.
func TestParse_HandlesEmptyValuesAndSpacesAsDocumented(t *testing.T) {
	t.Parallel()
	for _, a := range effective() {
		for _, empty := range []string{"", "  ", "\n"} {
			values, valid, _ := parsed(t, a.Name, empty)
			if set := len(leaves("", reflect.ValueOf(values))) > 0; !valid || set != a.EmptyIsNone {
				t.Errorf("%s=%q: valid %v, set %v", a.Name, empty, valid, set)
			}
		}
		exact, _, _ := parsed(t, a.Name, example(a))
		spaced, valid, refused := parsed(t, a.Name, " "+example(a)+"\n")
		if valid == a.Exact() || refused {
			t.Errorf("%s=%q with spaces: valid %v, refused %v", a.Name, example(a), valid, refused)
		}
		if valid && cmp.Diff(exact, spaced) != "" {
			t.Errorf("%s with spaces has another value: %s", a.Name, cmp.Diff(exact, spaced))
		}
	}
}

// Invalid values of annotations that cloud-provider-openstack lacks are refused: no Service depends on another handling.
func TestTable_IsLenientOnlyToAnnotationsOfCloudProviderOpenStack(t *testing.T) {
	t.Parallel()
	for _, a := range annotation.Table() {
		if a.New == slices.Contains(theirs(), strings.TrimPrefix(a.Name, annotation.Prefix)) {
			t.Errorf("%s: new %v, and cloud-provider-openstack has it: %v", a.Name, a.New, !a.New)
		}
		if a.New && (a.Lenient() || a.Exact()) {
			t.Errorf("%s is new, lenient: %v, exact: %v", a.Name, a.Lenient(), a.Exact())
		}
		if a.Exact() && !a.Lenient() {
			t.Errorf("%s: spaces make its value invalid, and its Service refused", a.Name)
		}
		forwarded := false
		for _, value := range []string{"-99", "another-word"} {
			values, _, _ := annotation.Parse(map[string]string{a.Name: value})
			forwarded = forwarded || len(values.Malformed) > 0 && values.Malformed[0].NewRefused
		}
		if forwarded != (a.Handed != "") {
			t.Errorf("%s: invalid values are forwarded to OpenStack: %v, the rule for these is %q", a.Name, forwarded, a.Handed)
		}
		if (a.Rule == "") != (a.Change == annotation.Written) {
			t.Errorf("%s has the rule %q for the API server", a.Name, a.Rule)
		}
	}
}

// Ranges are compared as texts with those that Octavia reports.
func TestParseRange_ReturnsOctaviasForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.1.2.3/8": "10.0.0.0/8", " 192.0.2.1/32 ": "192.0.2.1/32", "010.0.0.0/08": "10.0.0.0/8", "0.0.0.0/0": "0.0.0.0/0",
		"::ffff:192.0.2.0/120": "192.0.2.0/24", "::ffff:192.0.2.9/128": "192.0.2.9/32", "::ffff:0.0.0.0/96": "0.0.0.0/0",
		"FD00::1/64": "fd00::/64", "::/0": "::/0", "2001:db8::1/128": "2001:db8::1/128",
		"10.0.0.0": "", "10.0.0.0/33": "", "10.0.0.0/-1": "", "fd00::/129": "", "fe80::1%eth0/64": "", "": "", "a/8": "",
	} {
		got, err := annotation.ParseRange(text)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q is %s, error %v, want %q", text, got, err, want)
		}
	}
}

func TestListenerProtocol_IsInOctaviasSpelling(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"tcp": "TCP", "Http": "HTTP", "HTTPS": "HTTPS", "terminated-https": "TERMINATED_HTTPS", "Terminated_Https": "TERMINATED_HTTPS",
		"udp": "", "": "", "terminatedhttps": "", "http ": "",
	} {
		if got, ok := annotation.ListenerProtocol(text); ok != (want != "") || ok && got != want {
			t.Errorf("%q is %q, known %v", text, got, ok)
		}
	}
}
