package controlplane

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/openstack-ccm/openstack-ccm/manifests/admission"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

var allValues = flag.Bool("all-values", false, "try every value that is refused on every kind of annotation")

// applier applies Services to an API server that has the policies of manifests/admission.
type applier struct {
	t        *testing.T
	services typedcorev1.ServiceInterface

	mu     sync.Mutex
	warned []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (d *applier) HandleWarningHeader(_ int, _, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.warned = append(d.warned, text)
}

// itself is what try returns of a Service that Kubernetes does not take, whatever the policies.
const itself = "Kubernetes refuses it itself"

// try creates a Service in a dry run. It returns the reason of its denial, "" for none, and the
// warnings.
func (d *applier) try(svc *corev1.Service) (denied, warned string) {
	d.t.Helper()
	d.mu.Lock()
	d.warned = nil
	d.mu.Unlock()
	_, err := d.services.Create(d.t.Context(), svc, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsInvalid(err) && !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
		return itself, ""
	}
	if err != nil && !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
		d.t.Fatalf("%q: %v", svc.Annotations, err)
	}
	if err != nil {
		denied = err.Error()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return denied, strings.Join(d.warned, "\n")
}

func annotated(pairs ...string) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "judged-", Annotations: map[string]string{}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{
			{Name: "web", Port: 80, Protocol: corev1.ProtocolTCP}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
		}},
	}
	for i := 0; i < len(pairs); i += 2 {
		svc.Annotations[pairs[i]] = pairs[i+1]
	}
	return svc
}

// values are those at the borders of all kinds of values.
func values() []string {
	const id = "0b6b3a4e-9c0f-4f5e-8a44-1c2d3e4f5a6b"
	return []string{
		"", " ", "true", "false", "True", " true ", "none", " none", "abc", "a b", "a/b", "a\tb", "a\nb", "a?b", "é", "ſource_ip",
		"0", "1", "-1", "-2", "+5", "007", "10", "11", " 10 ", "3600", "3601", "65535", "65536", "10000", "10001", "2147483647", "2147483648",
		"31536000000", "31536000001", "999999999999999999", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"00000000000000000000000000000000000012", "99999999999999999999", "1.0", "1.1", "1x1", "v2", "V2",
		"GET", "get", "ROUND_ROBIN", "round_robin", "TLS-HELLO", "http", "UDP-CONNECT",
		"/", "//", "///", "//host/path", "//user@/path", "//user@host", "/healthz", "/a b", "/a#b", "/%20", "/%2", "/%zz", "healthz",
		"200", "200,204", "200, 204", "200-299", "200-", "600", "www.example.com", "www.example.com.", "-x", "_x", "a..b",
		id, strings.ToUpper(id), id + "," + id, id + " , " + id, id + ",", strings.ReplaceAll(id, "-", ""), "{" + id + "}", strings.Repeat(id+",", 99) + id, strings.Repeat(id+",", 100) + id,
		"10.0.0.0/8", "10.0.0.1/8, 192.168.0.0/16", "10.0.0.0/8\u00a0192.168.0.0/16,", "::/0", "fe80::1%eth0/64", "::ffff:1.2.3.0/120", "::FFFF:1.2.3/120", "::ffff:0102:0300/129", "1.2.3.4", "10.0.0.0/33", "10.0.0.0/08", "010.0.0.0/8", "256.0.0.0/8", "fd00::/064", ",",
		"a,b", "a,A", "a,,b", " ,a,", "kube_x", "x,KUBE_y", "\u212aube_x", "a,\u0085,b", strings.Repeat("t,", 19) + "u", strings.TrimSuffix(numbered(20), ","), strings.TrimSuffix(numbered(21), ","),
		"80=HTTP", "80=http,web=TCP", "80=http,80=TCP", "web=TERMINATED-HTTPS", "web = https", "=TCP", "80", "80=UDP", "80=TCP=x", "80=HTTP,,", "200,,204,",
		strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("é", 128), "/" + strings.Repeat("x", 254), "/" + strings.Repeat("x", 255),
		strings.Repeat("x", 16<<10), strings.Repeat("x", 16<<10+1), strings.Repeat("10.0.0.0/8,", 11000), strings.Repeat("1,", 8000), strings.Repeat(",", 16<<10),
	}
}

// numbered returns so many tags.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "tag-%d,", i)
	}
	return b.String()
}

// shown returns a value as a failure shows it.
func shown(value string) string {
	if len(value) > 60 {
		return fmt.Sprintf("%q… (%d bytes)", value[:60], len(value))
	}
	return fmt.Sprintf("%q", value)
}

// checkAdmission compares what the API server denies, and warns of, with what the controller
// refuses, and warns of: over all values for each rule, and some for each annotation.
func checkAdmission(t *testing.T, c *ControlPlane) {
	d := &applier{t: t}
	restConfig := rest.CopyConfig(c.Config())
	restConfig.QPS, restConfig.WarningHandler = -1, d
	client, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		t.Fatal(err)
	}
	d.services = client.CoreV1().Services("default")
	for name, svc := range map[string]*corev1.Service{
		"from-before":   annotated(annotation.AllowReplace, "maybe", annotation.VIPAddress, "x", annotation.Prefix+"nonsense", "x"),
		"without-ports": annotated(annotation.Protocols, "8443=HTTP,gone=TCP,web=HTTP"),
	} {
		svc.GenerateName, svc.Name = "", name
		if _, err := d.services.Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	d.apply(c, admission.Objects())
	await.Eventually(t, "the policies", func(context.Context) error {
		if denied, warned := d.try(annotated(annotation.AllowReplace, "maybe", annotation.Prefix+"nonsense", "x")); denied == "" || warned == "" {
			return errors.New("not in force")
		}
		return nil
	})
	d.checkValues()
	d.checkCombinations()
	d.checkNames()
	d.checkUpdates()
	d.checkPorts()
	d.checkUnknown(c)
}

func (d *applier) apply(c *ControlPlane, objects []runtime.Object) {
	d.t.Helper()
	manifest, err := admission.YAML(objects, "1.31")
	if err != nil {
		d.t.Fatal(err)
	}
	if err := c.Apply(d.t.Context(), manifest); err != nil {
		d.t.Fatal(err)
	}
}

// judgement is the controller's reaction to the value of an annotation.
type judgement struct{ refuses, warns bool }

func judge(t *testing.T, name, value string) judgement {
	t.Helper()
	read, notices, errs := annotation.Parse(map[string]string{name: value})
	j := judgement{len(errs) > 0, len(notices) > 0 || len(read.Malformed) > 0}
	for _, malformed := range read.Malformed {
		j.refuses = j.refuses || malformed.NewRefused
	}
	if parsedFurther := name == annotation.VIPAddress || name == annotation.Hostname || name == annotation.MetricsPort; parsedFurther && !j.refuses {
		_, _, errs = parser(t).Parse(annotated(name, value))
		j.refuses = len(errs) > 0
	}
	return j
}

func parser(t *testing.T) *settings.Parser {
	t.Helper()
	p, err := settings.NewParser(&config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checkValues tries each value on an annotation of each rule, and some on each annotation. All
// annotations that take a value share a Service. Of the others a quarter is tried: with
// -all-values all of them.
func (d *applier) checkValues() {
	d.t.Helper()
	seen, fine := map[string]bool{}, map[string][]string{}
	denials, n := 0, 0
	for _, a := range annotation.Table() {
		if a.Change == annotation.Written {
			continue
		}
		rule, tried := fmt.Sprint(a.Rule, a.Handed, a.Lenient(), a.Exact(), a.EmptyIsNone, a.Most()), []string{"", "true", "\n/ ?é"}
		if !seen[rule] {
			seen[rule], tried = true, values()
		}
		for _, value := range tried {
			j := judge(d.t, a.Name, value)
			combined := slices.Contains([]string{annotation.PortID, annotation.MonitorKubeProxy, annotation.ForwardedFor, annotation.Protocols, annotation.MonitorDomain, annotation.SourceRanges}, a.Name)
			if !j.refuses && !j.warns && !combined && len(value) < 1000 {
				fine[value] = append(fine[value], a.Name, value)
				continue
			}
			if n++; n%4 == 0 || !j.refuses || *allValues {
				if d.compare(j, a.Name, value) {
					denials++
				}
			}
		}
	}
	for value, pairs := range fine {
		d.compare(judgement{}, append(pairs, annotation.LoadBalancerAddress, value)...)
	}
	if denials < 100 || len(fine) < 80 {
		d.t.Errorf("only %d values are denied, and %d taken by some", denials, len(fine))
	}
}

// compare tries a Service with these annotations, and reports whether it is denied.
func (d *applier) compare(j judgement, pairs ...string) (is bool) {
	d.t.Helper()
	if at := slices.Index(pairs, annotation.CookieName); at >= 0 && strings.TrimSpace(pairs[at+1]) != "" { // each needs the other one
		pairs = append(pairs, annotation.Persistence, "APP_COOKIE")
	}
	denied, warned := d.try(annotated(pairs...))
	if denied == itself {
		return false
	}
	if strings.Contains(denied, "has no port of TCP") && !j.refuses {
		denied = "" // of the ports, not of the value: see checkCombinations
	}
	what := pairs[0] + ": " + shown(pairs[1])
	if (denied != "") != j.refuses {
		d.t.Errorf("%s: the controller refuses: %v; the API server: %q", what, j.refuses, denied)
	}
	if !j.refuses && (warned != "") != j.warns {
		d.t.Errorf("%s: the controller warns: %v; the API server: %q", what, j.warns, warned)
	}
	return denied != ""
}

func (d *applier) checkCombinations() {
	for name, test := range map[string]struct {
		svc    *corev1.Service
		denied bool
	}{
		"an address and a port of the VIP":  {annotated(annotation.VIPAddress, "10.0.0.5", annotation.PortID, "p"), true},
		"an address of the VIP":             {annotated(annotation.VIPAddress, "10.0.0.5", annotation.PortID, " "), false},
		"kube-proxy and a path":             {annotated(annotation.MonitorKubeProxy, "true", annotation.MonitorPath, "/x"), true},
		"kube-proxy and a port":             {annotated(annotation.MonitorKubeProxy, "true", annotation.MonitorPort, "80"), false},
		"no kube-proxy and a path":          {annotated(annotation.MonitorKubeProxy, "false", annotation.MonitorPath, "/x"), false},
		"a host for HTTP 1.0":               {annotated(annotation.MonitorDomain, "x.org", annotation.MonitorVersion, "1.0"), true},
		"a host for HTTP 1.1":               {annotated(annotation.MonitorDomain, "x.org", annotation.MonitorVersion, "1.1"), false},
		"PROXY and X-Forwarded-For":         {annotated(annotation.ProxyProtocol, "v2", annotation.ForwardedFor, "true"), true},
		"no PROXY and X-Forwarded-For":      {annotated(annotation.ProxyProtocol, "false", annotation.ForwardedFor, "true"), false},
		"a protocol for a port by name":     {annotated(annotation.Protocols, "web=HTTP"), false},
		"a protocol for a port by number":   {annotated(annotation.Protocols, "80=HTTP"), false},
		"a protocol for a port of UDP":      {annotated(annotation.Protocols, "dns=HTTP"), true},
		"a protocol for a port that is not": {annotated(annotation.Protocols, "80=HTTP,81=HTTP"), true},
		"PROXY not at a port of the header": {annotated(annotation.ProxyProtocol, "v2", annotation.ProxyProtocol+".web", "false", annotation.ForwardedFor, "true"), false},
		"a setting of a port by name":       {annotated(annotation.ProxyProtocol+".web", "v2"), false},
		"a setting of a port by number":     {annotated(annotation.ProxyProtocol+".80", "v2"), false},
		"a setting of no port":              {annotated(annotation.ProxyProtocol+".x.web", "v2"), true},
		"a setting of a port twice":         {annotated(annotation.Method+".80", "SOURCE_IP", annotation.Method+".web", "SOURCE_IP"), true},
		"a setting of a port once":          {annotated(annotation.Method+".80", "SOURCE_IP", annotation.Method+".web", " "), false},
		"settings of two ports":             {annotated(annotation.Method+".80", "SOURCE_IP", annotation.Method+".dns", "SOURCE_IP"), false},
		"a cookie without a name":           {annotated(annotation.Protocols, "80=HTTP", annotation.Persistence, "APP_COOKIE"), true},
		"a cookie with a name":              {annotated(annotation.Protocols, "80=HTTP", annotation.Persistence, "APP_COOKIE", annotation.CookieName, "sid"), false},
		"a cookie of one port":              {annotated(annotation.Protocols, "80=HTTP", annotation.Persistence+".80", "APP_COOKIE", annotation.CookieName+".80", "sid"), false},
		"a name of no cookie":               {annotated(annotation.CookieName, "sid"), true},
		"a name of another cookie":          {annotated(annotation.Persistence, "HTTP_COOKIE", annotation.CookieName, "sid"), true},
		"a name of no cookie of a port":     {annotated(annotation.CookieName+".80", "sid"), true},
		"a name for the cookie of a port":   {annotated(annotation.Persistence+".80", "APP_COOKIE", annotation.CookieName, "sid"), false},
		"a cookie in small letters":         {annotated(annotation.Persistence, " app_cookie", annotation.CookieName, "sid"), false},
		"an address as a host name":         {annotated(annotation.Hostname, "203.0.113.5"), true},
		"metrics for some clients":          {annotated(annotation.MetricsPort, "53", annotation.MetricsCIDRs, "10.0.0.0/8, 192.0.2.0/30"), false},
		"metrics without clients":           {annotated(annotation.MetricsPort, "9100"), true},
		"metrics for all clients":           {annotated(annotation.MetricsPort, "9100", annotation.MetricsCIDRs, "10.0.0.0/8, 0.0.0.0/0"), true},
		"no metrics for all clients":        {annotated(annotation.MetricsCIDRs, "0.0.0.0/0"), false},
		"metrics at a port of the Service":  {annotated(annotation.MetricsPort, "80", annotation.MetricsCIDRs, "10.0.0.0/8"), true},
	} {
		if denied, _ := d.try(test.svc); (denied != "") != test.denied {
			d.t.Errorf("%s: denied: %q, want %v", name, denied, test.denied)
		}
		if _, _, errs := parser(d.t).Parse(test.svc); len(errs) > 0 && !test.denied {
			d.t.Errorf("%s: the controller refuses it: %v", name, errs.ToAggregate())
		}
	}
}

func (d *applier) checkNames() {
	for name, want := range map[string]string{
		annotation.Prefix + "lb_method":                              annotation.Method,
		annotation.Prefix + "connection-limits":                      annotation.ConnLimit,
		annotation.Prefix + "nonsense":                               "there is no such annotation",
		annotation.Prefix + "lb-provider":                            annotation.Provider,
		annotation.Prefix + "load-balancer-provider":                 annotation.Provider,
		annotation.Prefix + "create-monitor":                         annotation.Monitor,
		"service.beta.kubernetes.io/aws-load-balancer-internal":      annotation.Internal,
		"metallb.io/loadBalancerIPs":                                 annotation.VIPAddress,
		"service.beta.kubernetes.io/openstack-internal":              annotation.Internal,
		"service.beta.kubernetes.io/aws-load-balancer-type":          "",
		"example.com/other":                                          "",
		annotation.Prefix + strings.Repeat("x", 60):                  "there is no such annotation",
		annotation.WrittenFor:                                        "",
		annotation.Prefix + "health-monitor-max-retries-downn":       annotation.MonitorDown,
		annotation.Prefix + "Default-TLS-container-ref":              annotation.TLSContainer,
		annotation.Prefix + "health-monitor-max-retries" + "-" + "x": annotation.MonitorRetries,
	} {
		denied, warned := d.try(annotated(name, "x"))
		if denied != "" || !strings.Contains(warned, want) || (want == "") != (warned == "") {
			d.t.Errorf("%s: denied %q, warned %q, want %q", name, denied, warned, want)
		}
	}
	both := annotated("service.beta.kubernetes.io/aws-load-balancer-internal", "true", annotation.Internal, "true")
	if denied, warned := d.try(both); denied != "" || warned != "" {
		d.t.Errorf("a Service for several clouds: denied %q, warned %q", denied, warned)
	}
}

// A Service that is refused, or comes from another controller, can be changed in everything else, by
// users and by the controller.
func (d *applier) checkUpdates() {
	for patch, denied := range map[string]bool{
		`{"metadata":{"labels":{"a":"b"}}}`: false,
		`{"metadata":{"annotations":{"` + annotation.LoadBalancerAddress + `":"203.0.113.5","` + annotation.LoadBalancerID + `":"0b6b3a4e"}}}`: false,
		`{"spec":{"ports":[{"name":"more","port":443}]}}`:                                                  false,
		`{"metadata":{"annotations":{"` + annotation.AllowReplace + `":null}}}`:                            false,
		`{"metadata":{"annotations":{"` + annotation.AllowReplace + `":"perhaps"}}}`:                       true,
		`{"metadata":{"annotations":{"` + annotation.PortID + `":"p"}}}`:                                   true,
		`{"metadata":{"annotations":{"` + annotation.MonitorDelay + `":"99999"}}}`:                         false, // counts as not given
		`{"metadata":{"annotations":{"` + annotation.AllowReplace + `":"x"}},"spec":{"type":"ClusterIP"}}`: false, // none of ours
	} {
		_, err := d.services.Patch(d.t.Context(), "from-before", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if (err != nil) != denied || err != nil && !strings.Contains(err.Error(), admission.Refuse) {
			d.t.Errorf("%s: %v, want denied: %v", patch, err, denied)
		}
	}
}

// If the protocols of a Service name ports that it never had, it can change all ports except those
// that the protocols name.
func (d *applier) checkPorts() {
	for patch, denied := range map[string]bool{
		`{"spec":{"ports":[{"port":80,"targetPort":8080}]}}`:                                                          false,
		`{"spec":{"ports":[{"port":80,"nodePort":31234}]}}`:                                                           false,
		`{"spec":{"ports":[{"port":53,"$patch":"delete"}]}}`:                                                          false,
		`{"spec":{"ports":[{"name":"more","port":443}]}}`:                                                             false,
		`{"spec":{"ports":[{"name":"secure","port":8443}]}}`:                                                          false, // one of the two is there now
		`{"spec":{"ports":[{"port":80,"$patch":"delete"},{"name":"other","port":81}]}}`:                               true,
		`{"spec":{"ports":[{"port":80,"name":"renamed"}]}}`:                                                           true,
		`{"metadata":{"annotations":{"` + annotation.Protocols + `":"web=HTTP"}}}`:                                    false,
		`{"metadata":{"annotations":{"` + annotation.Protocols + `":"8443=HTTP"}}}`:                                   true,
		`{"metadata":{"annotations":{"` + annotation.Protocols + `":null}},"spec":{"ports":[{"name":"x","port":1}]}}`: false,
	} {
		_, err := d.services.Patch(d.t.Context(), "without-ports", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if (err != nil) != denied || err != nil && !strings.Contains(err.Error(), admission.Refuse) {
			d.t.Errorf("%s: %v, want denied: %v", patch, err, denied)
		}
	}
}

// The optional policy denies a misspelled annotation of a new Service, and leaves others alone.
func (d *applier) checkUnknown(c *ControlPlane) {
	d.apply(c, admission.Optional())
	misspelled := annotated("service.beta.kubernetes.io/openstack-internal-loadbalancer", "true")
	await.Eventually(d.t, "the policy against unknown names", func(context.Context) error {
		if denied, _ := d.try(misspelled); !strings.Contains(denied, annotation.Internal) {
			return fmt.Errorf("a misspelled annotation: denied %q", denied)
		}
		return nil
	})
	for _, svc := range []*corev1.Service{annotated(annotation.Internal, "true"), annotated("example.com/other", "x"), annotated(annotation.AllowReplace, "true")} {
		if denied, _ := d.try(svc); denied != "" {
			d.t.Errorf("%v: denied: %s", svc.Annotations, denied)
		}
	}
	patch := []byte(`{"metadata":{"annotations":{"` + annotation.Prefix + `more-nonsense":"x"}}}`)
	if _, err := d.services.Patch(d.t.Context(), "from-before", types.StrategicMergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		d.t.Errorf("a Service that exists: %v", err)
	}
}
