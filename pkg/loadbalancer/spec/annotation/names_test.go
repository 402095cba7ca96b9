package annotation_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

func TestBase_SplitsNamesOfThisControllerOnly(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		annotation.Method:                {annotation.Method, ""},
		annotation.Method + ".web":       {annotation.Method, "web"},
		annotation.Method + ".443":       {annotation.Method, "443"},
		annotation.Method + ".":          {annotation.Method, ""},
		annotation.Method + ".a.b":       {annotation.Method, "a.b"},
		annotation.Internal:              {annotation.Internal, ""},
		"example.com/lb-method.web":      {"example.com/lb-method.web", ""},
		"service.beta.kubernetes.io/a.b": {"service.beta.kubernetes.io/a.b", ""},
		"":                               {"", ""},
	} {
		if base, port := annotation.Base(name); base != want[0] || port != want[1] {
			t.Errorf("%q is %q for port %q", name, base, port)
		}
	}
}

// A value for one port is stored for that port alone. It is new here, so that an invalid one is refused.
func TestParse_ReadsAnnotationsOfOnePort(t *testing.T) {
	t.Parallel()
	values, notices, errs := annotation.Parse(map[string]string{
		annotation.Method:                 "SOURCE_IP",
		annotation.Method + ".web":        " least_connections\n",
		annotation.ProxyProtocol:          "v1",
		annotation.ProxyProtocol + ".web": " v2 ",
		annotation.MonitorPort + ".443":   "10256",
		annotation.CookieName + ".web":    "",
	})
	want := annotation.Values{
		Members: annotation.MemberValues{Method: ptr("SOURCE_IP")}, Listeners: annotation.ListenerValues{ProxyProtocol: ptr("v1")},
		Ports: map[string]*annotation.Values{
			"web": {Members: annotation.MemberValues{Method: ptr("LEAST_CONNECTIONS")}, Listeners: annotation.ListenerValues{ProxyProtocol: ptr("v2")}},
			"443": {Monitor: annotation.MonitorValues{Port: ptr(10256)}},
		},
	}
	if diff := cmp.Diff(want, values); diff != "" || len(notices)+len(errs) > 0 {
		t.Errorf("notices %v, errors %v (-want +got):\n%s", notices, errs, diff)
	}
	for _, name := range annotation.PerPort() {
		_, notices, errs := annotation.Parse(map[string]string{name + ".web": "in valid"})
		if len(errs) != 1 || errs[0].Field != annotation.Path(name+".web").String() || len(notices) > 0 {
			t.Errorf("%s of a port: errors %v, notices %v", name, errs, notices)
		}
	}
}

func TestPerPort_AreTheAnnotationsWithASuffix(t *testing.T) {
	t.Parallel()
	names := annotation.PerPort()
	if !slices.IsSorted(names) || len(names) != 11 {
		t.Errorf("%d names: %v", len(names), names)
	}
	for _, a := range annotation.Table() {
		_, notices, errs := annotation.Parse(map[string]string{a.Name + ".web": example(a)})
		if has := len(notices) == 0; has != slices.Contains(names, a.Name) && strings.HasPrefix(a.Name, annotation.Prefix) || len(errs) > 0 {
			t.Errorf("%s of a port: notices %v, errors %v", a.Name, notices, errs)
		}
	}
}

func TestGroups_HaveEachAnnotationOnceInOrder(t *testing.T) {
	t.Parallel()
	var all []string
	titles := map[string]bool{}
	for _, group := range annotation.Groups() {
		var names []string
		for _, a := range group.Annotations {
			names = append(names, a.Name)
		}
		if !slices.IsSorted(names) || len(names) == 0 || group.Title == "" || titles[group.Title] {
			t.Errorf("%q has %v", group.Title, names)
		}
		titles[group.Title] = true
		all = append(all, names...)
	}
	var table []string
	for _, a := range annotation.Table() {
		table = append(table, a.Name)
	}
	slices.Sort(all)
	if diff := cmp.Diff(table, all); diff != "" {
		t.Errorf("table and groups differ:\n%s", diff)
	}
}

// An operator can deny each annotation that a user may set, by either name.
func TestDenied_AcceptsEachAnnotationOfUsers(t *testing.T) {
	t.Parallel()
	for _, a := range annotation.Table() {
		for _, name := range []string{a.Name, a.Name[strings.Index(a.Name, "/")+1:]} {
			denied, err := annotation.Denied(name)
			if own := a.Change == annotation.Written || a.Name == annotation.LoadBalancerID; own != (err != nil) || !own && !slices.Equal(denied, []string{a.Name}) {
				t.Errorf("%s: %v, error %v", name, denied, err)
			}
		}
	}
}

// What users write for another cloud, controller or file leads to the annotation that they mean, but not if a Service
// for several clouds has that as well.
func TestAliases_AreSuggestedInstead(t *testing.T) {
	t.Parallel()
	aliases := annotation.Aliases()
	for name, known := range aliases {
		_, notices, errs := annotation.Parse(map[string]string{name: "x"})
		if len(errs) > 0 || len(notices) != 1 || notices[0].Annotation != name || !strings.HasSuffix(notices[0].Message, fmt.Sprintf(": did you mean %q?", known)) {
			t.Errorf("%s, want %s: notices %v, errors %v", name, known, notices, errs)
			continue
		}
		if ours := strings.HasPrefix(name, annotation.Prefix); strings.HasPrefix(notices[0].Message, "there is no such annotation") != ours {
			t.Errorf("%s: %s", name, notices[0].Message)
		}
		_, both, _ := annotation.Parse(map[string]string{name: "x", known: ""})
		if ours := strings.HasPrefix(name, annotation.Prefix); len(both) > 0 != ours {
			t.Errorf("%s beside %s: %v", name, known, both)
		}
	}
	for _, a := range annotation.Table() {
		name := annotation.Prefix + a.Key
		known := slices.ContainsFunc(annotation.Table(), func(other annotation.Annotation) bool { return other.Name == name })
		if a.Key != "" && !known && aliases[name] != a.Name {
			t.Errorf("the key %s of cloud.conf as an annotation leads to %q, want %s", a.Key, aliases[name], a.Name)
		}
	}
}

func TestParse_SuggestsTheNameWithAnotherEnding(t *testing.T) {
	t.Parallel()
	for given, meant := range map[string]string{
		"subnet-name": "subnet-id", "subnet-uuid": "subnet-id", "subnet": "subnet-id", "subnet-ids": "subnet-id",
		"class-name": "class", "class-id": "class", "provider-uuid": "provider", "vip-sg": "vip-sg-ids", "vip-sg-id": "vip-sg-ids",
		"additional-vip-subnet-id": "additional-vip-subnet-ids", "floating-ip": "floating-ip-id", "share-name": "share",
	} {
		_, notices, _ := annotation.Parse(map[string]string{annotation.Prefix + given: "x"})
		if want := fmt.Sprintf("there is no such annotation: did you mean %q?", annotation.Prefix+meant); len(notices) != 1 || notices[0].Message != want {
			t.Errorf("%s: %v, want %s", given, notices, meant)
		}
	}
	for _, ending := range []string{"-name", "-uuid", "-id", "-ids"} {
		_, notices, _ := annotation.Parse(map[string]string{annotation.Prefix + ending: "x"})
		if len(notices) != 1 {
			t.Errorf("%s: %v", ending, notices)
		}
	}
}

// One wrong letter, in the name or in the domain, must not make a setting disappear silently.
func TestParse_ReportsEveryMisspelledName(t *testing.T) {
	t.Parallel()
	table := annotation.Table()
	exists := func(name string) bool {
		return slices.ContainsFunc(table, func(a annotation.Annotation) bool { return a.Name == name })
	}
	for _, a := range table {
		slash := strings.Index(a.Name, "/")
		for i := range a.Name {
			name := a.Name[:i] + a.Name[i+1:]
			if exists(name) || i == slash || i < slash && strings.HasPrefix(a.Name, "service.beta.kubernetes.io/") {
				continue // the domain of kubernetes.io is for others too
			}
			_, notices, errs := annotation.Parse(map[string]string{name: "x"})
			if len(errs) > 0 || len(notices) != 1 {
				t.Errorf("%s, for %s: notices %v, errors %v", name, a.Name, notices, errs)
			}
		}
	}
}

// A Service can have thousands of annotations: searching for the nearest name is limited to the first of them.
func TestParse_SearchesForSimilarNamesOfTheFirstOnly(t *testing.T) {
	t.Parallel()
	given := map[string]string{}
	for i := range message.MaxReasons + 5 {
		given[fmt.Sprintf("%ssubnet-idd-%02d", annotation.Prefix, i)] = "x"
	}
	given["z.openstack.org/"+"subnet-id"] = "x"
	given["service.beta.kubernetes.io/openstack-y"], given["service.beta.kubernetes.io/aws-load-balancer-internal"] = "x", "true"
	_, notices, _ := annotation.Parse(given)
	var names, suggested []string
	for _, n := range notices {
		if names = append(names, n.Annotation); strings.Contains(n.Message, "did you mean") {
			suggested = append(suggested, n.Annotation)
		} else if n.Message != "there is no such annotation" {
			t.Errorf("%s: %s", n.Annotation, n.Message)
		}
	}
	if !slices.IsSorted(names) || len(names) != message.MaxReasons+6 || len(suggested) != message.MaxReasons {
		t.Errorf("%d notices, %d of them with a suggestion: %v", len(names), len(suggested), names)
	}
}

// Names of other components are theirs, however similar.
func TestParse_SaysNothingAboutNamesOfOthers(t *testing.T) {
	t.Parallel()
	for name, reported := range map[string]bool{
		"loadbalancer.openstack.com/subnet-id":               true,
		"loadbalancer.openstack.com/something-else-entirely": true,
		"loadbalancer.openstak.org/class":                    true,
		"openstack.org/subnet-id":                            false,
		"subnet-id":                                          false,
		"loadbalancer.openstack.org":                         true,
		"loadbalancer.kubernetes.io/subnet-id":               false,
		"service.beta.kubernetes.io/openstack-internal":      true,
		"service.beta.kubernetes.io/internal-load-balancer":  false,
		"service.beta.kubernetes.io/lod-balancer-source":     false,
		"service.beta.kubernetes.io/load-balancer-sources":   true,
		"service.alpha.kubernetes.io/load-balancer-sources":  false,
	} {
		_, notices, errs := annotation.Parse(map[string]string{name: "x"})
		if len(notices) > 0 != reported || len(errs) > 0 {
			t.Errorf("%s: notices %v, errors %v", name, notices, errs)
		}
	}
}

// What is written for a Service is found again, on that Service and on no other.
func TestWrittenFor_NamesTheLoadBalancerOfItsServiceOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ id, uid, share, text string }{
		{"lb", "uid", "", "lb uid"}, {"lb", "uid", "edge", "lb uid edge"},
	} {
		if text := annotation.WrittenForText(c.id, types.UID(c.uid), c.share); text != c.text {
			t.Errorf("written %q, want %q", text, c.text)
		}
		svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{UID: "uid", Annotations: map[string]string{annotation.WrittenFor: c.text}}}
		if id, share := annotation.WrittenPlace(svc); id != c.id || share != c.share {
			t.Errorf("%q is load balancer %q, shared as %q", c.text, id, share)
		}
		svc.UID = "other"
		if id, share := annotation.WrittenPlace(svc); id != "" || share != "" {
			t.Errorf("%q is load balancer %q of another Service, shared as %q", c.text, id, share)
		}
		if !annotation.IsCopied(svc.Annotations, c.id, svc.UID) {
			t.Errorf("%q is no copy on another Service", c.text)
		}
	}
	for _, text := range []string{"", "lb", "lb uid edge more", " "} {
		svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{UID: "uid", Annotations: map[string]string{annotation.WrittenFor: text}}}
		if id, _ := annotation.WrittenPlace(svc); id != "" || annotation.IsCopied(svc.Annotations, "lb", "other") {
			t.Errorf("%q is load balancer %q", text, id)
		}
	}
}

func TestPlaceOf_IsLoadBalancerAndFirstAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ingress []v1.LoadBalancerIngress
		address string
	}{
		"none":       {nil, ""},
		"an address": {[]v1.LoadBalancerIngress{{IP: "203.0.113.9", Hostname: "www.example.com"}, {IP: "2001:db8::9"}}, "203.0.113.9"},
		"a name":     {[]v1.LoadBalancerIngress{{Hostname: "www.example.com"}}, "www.example.com"},
	} {
		svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{UID: "uid", Annotations: map[string]string{annotation.WrittenFor: "lb uid edge"}}}
		svc.Status.LoadBalancer.Ingress = c.ingress
		if id, address := annotation.PlaceOf(svc); id != "lb" || address != c.address {
			t.Errorf("%s: load balancer %q, address %q", name, id, address)
		}
	}
}

// Whatever a Service has: after the changes of a Record there is nothing more to change, and nothing of the user's is lost.
func TestRecord_IsCompleteAfterItsChanges(t *testing.T) {
	t.Parallel()
	present := []string{"", "lb", "another"}
	for _, named := range present {
		for _, id := range present {
			for _, written := range []string{"", "lb uid", "another uid", "another other", "lb other edge"} {
				for _, r := range []annotation.Record{
					{Service: "uid", LoadBalancerID: "lb", Address: "203.0.113.9", Named: named},
					{Service: "uid", LoadBalancerID: "lb", Named: named, Share: "edge"},
					{Service: "uid", Left: true},
				} {
					current := map[string]string{"theirs": "x", annotation.LoadBalancerID: id, annotation.WrittenFor: written}
					maps.DeleteFunc(current, func(_, value string) bool { return value == "" })
					after := maps.Clone(current)
					for name, value := range r.Changes(current) {
						if delete(after, name); value != nil {
							after[name] = *value
						}
					}
					if again := r.Changes(after); len(again) > 0 {
						t.Errorf("%+v changes %v to %v, and then %v", r, current, after, again)
					}
					if after["theirs"] != "x" || r.Share != "" && after[annotation.LoadBalancerID] != id {
						t.Errorf("%+v changes %v to %v", r, current, after)
					}
				}
			}
		}
	}
	if changes := (annotation.Record{}).Changes(map[string]string{annotation.LoadBalancerID: "lb"}); len(changes) > 0 {
		t.Errorf("no record changes %v", changes)
	}
}
