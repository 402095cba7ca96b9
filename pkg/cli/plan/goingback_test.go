package plan_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

const signIn = "[Global]\nauth-url=https://cloud.example.com/v3\nusername=k8s\npassword=p\ntenant-name=k8s\ndomain-name=Default\n"

// inspected reads a cloud.conf.
func inspected(t *testing.T, text string) *config.Inspection {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cloud.conf")
	if err := os.WriteFile(path, []byte(signIn+text), 0o600); err != nil {
		t.Fatal(err)
	}
	inspection := config.Inspect(path, nil)
	if len(inspection.Problems) > 0 {
		t.Fatal(inspection.Problems)
	}
	return inspection
}

func shopService(name string, changes ...func(*v1.Service)) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: map[string]string{}},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster,
			Ports: []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}},
		},
	}
	for _, change := range changes {
		change(svc)
	}
	return svc
}

func annotated(name, value string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Annotations[name] = value }
}

func withUDP(svc *v1.Service) {
	svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Protocol: v1.ProtocolUDP, Port: 53, NodePort: 30053})
}

// on is a load balancer with a listener of the Service.
func on(id string, tags []string, others ...string) *status.LoadBalancer {
	return &status.LoadBalancer{
		ID: id, Tags: tags, Listeners: []status.Listener{{ID: "l"}}, FloatingIPs: []status.FloatingIP{{ID: "f"}},
		Ownership: status.Ownership{SharedWith: others},
	}
}

func report(t *testing.T, conf string, services []*v1.Service, have []status.Service) *plan.GoingBack {
	t.Helper()
	if have == nil {
		have = make([]status.Service, len(services))
	}
	r, err := plan.GoBack(plan.GoingBackInput{ClusterName: "prod", Inspection: inspected(t, conf), Services: services, Status: have})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Each annotation that the other controller does not have is named, and no other. The exit code reports
// those that need a step.
func TestGoingBack_NamesEveryAnnotationThatIsNew(t *testing.T) {
	t.Parallel()
	isNew := 0
	for _, name := range annotation.PerPort() {
		if r := report(t, "", []*v1.Service{shopService("web", annotated(name+".80", "x"))}, nil); !strings.Contains(asText(t, r), name+".80:") {
			t.Errorf("%s.80 is not named", name)
		}
	}
	for _, a := range annotation.Table() {
		r := report(t, "", []*v1.Service{shopService("web", annotated(a.Name, "x"))}, nil)
		named := strings.Contains(asText(t, r), a.Name+":")
		if want := a.New && a.Change != annotation.Written; named != want && a.Name != annotation.NodeSelector {
			t.Errorf("%s: named %v, want %v", a.Name, named, want)
		}
		if a.New && a.Change != annotation.Written {
			isNew++
			want := plan.ExitChanges
			if slices.Contains([]string{annotation.Members, annotation.MaxMembers, annotation.Managed}, a.Name) { // no step is necessary
				want = plan.ExitNothing
			}
			if r.ExitCode() != want {
				t.Errorf("%s: exit code %d", a.Name, r.ExitCode())
			}
		}
	}
	if isNew != 33 {
		t.Errorf("%d annotations are new", isNew)
	}
}

func TestGoingBack_NamesRisksOfServices(t *testing.T) {
	t.Parallel()
	const ovn = "[LoadBalancer]\nlb-provider=ovn\nlb-method=SOURCE_IP_PORT\n"
	for want, test := range map[string]struct {
		conf string
		svc  *v1.Service
	}{
		"deletes the health monitors":                    {"", shopService("a", func(svc *v1.Service) { svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal })},
		"deletes the UDP and SCTP listeners":             {"", shopService("a", annotated(annotation.ForwardedFor, "true"), withUDP)},
		"deletes the pools of UDP and SCTP ports":        {"", shopService("a", annotated(annotation.ProxyProtocol, "v2"), withUDP)},
		"every sync fails, and members no longer follow": {"", shopService("a", annotated(annotation.Protocols, "80=HTTP"))},
		"it replaces the health monitors":                {"", shopService("a", annotated(annotation.MonitorPath, "/healthz"))},
		"pools become empty":                             {"", shopService("a", annotated(annotation.NodeSelector, "zone in (a,b)"))},
		`"!edge" matches no node`:                        {"[LoadBalancer]\nnode-selector=!edge\n", shopService("a")},
		"it admits all clients":                          {ovn, shopService("a", func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} })},
		"deletes the floating IP with the Service":       {"", shopService("a", func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "203.0.113.7" })},
		"use a Service with a shorter name":              {"", shopService(strings.Repeat("long", 60))},
		"creates another load balancer":                  {"", shopService("a", annotated(annotation.Share, "edge"))},
		"Octavia rejects allowed_cidrs":                  {"", shopService("a", annotated(annotation.VIPSecurityGroups, "none"))},
	} {
		r := report(t, test.conf, []*v1.Service{test.svc}, []status.Service{{LoadBalancer: on("lb", []string{"kube_service_prod_shop_" + test.svc.Name})}})
		if len(r.Services[0].Findings) != 1 || !r.Services[0].Findings[0].Risk || !strings.Contains(asText(t, r), want) || r.ExitCode() != plan.ExitChanges {
			t.Errorf("%s: %+v", want, r.Services[0])
		}
	}
	for name, svc := range map[string]*v1.Service{
		"nothing special":             shopService("a"),
		"UDP beside TCP":              shopService("a", withUDP),
		"monitors that are asked for": shopService("a", annotated(annotation.Monitor, "true"), func(svc *v1.Service) { svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal }),
		"its own annotations":         shopService("a", annotated(annotation.ConnLimit, "5"), annotated(annotation.NodeSelector, "a=b,c"), annotated(annotation.Hostname, "a.example.com")),
		"a feature switched off":      shopService("a", annotated(annotation.ForwardedFor, "false"), withUDP),
	} {
		if r := report(t, "", []*v1.Service{svc}, nil); r.ExitCode() != plan.ExitNothing {
			t.Errorf("%s: %+v", name, r.Services)
		}
	}
}

func TestGoingBack_NamesNewKeysOfCloudConf(t *testing.T) {
	t.Parallel()
	harmless := []string{"drift-policy", "max-gone-percent", "reads"}
	for conf, want := range map[string]string{
		"[LoadBalancer]\nmanage-security-groups=true\nsecurity-group-mode=shared\n": "[LoadBalancer] security-group-mode: it creates a group for each Service",
		"[LoadBalancer]\ndrift-policy=report\n":                                     "[LoadBalancer] drift-policy: cloud-provider-openstack does not have it",
		"[LoadBalancer]\nlb-provider=ovn\n":                                         "[LoadBalancer] lb-method: it tries ROUND_ROBIN",
		"[LoadBalancer]\nlb-provider=router\n":                                      "[LoadBalancer] lb-provider: Octavia has no provider router",
		"[LoadBalancerClass \"gold\"]\nlb-provider=ovn\n":                           `[LoadBalancerClass "gold"] lb-provider: it assumes the provider`,
		"[Node]\nmax-gone-percent=100\n":                                            "[Node] max-gone-percent",
		"[Limits]\nreads=3\n":                                                       "[Limits] reads",
	} {
		r := report(t, conf, nil, nil)
		code := plan.ExitChanges
		if slices.ContainsFunc(harmless, func(key string) bool { return strings.Contains(conf, key) }) {
			code = plan.ExitNothing
		}
		if len(r.Configuration) != 1 || !strings.Contains(asText(t, r), want) || r.ExitCode() != code {
			t.Errorf("%s: exit code %d, %+v", conf, r.ExitCode(), r.Configuration)
		}
	}
	if r := report(t, "[LoadBalancer]\nsubnet-id=s\nmonitor-delay=5s\n[Route]\nrouter-id=r\n", nil, nil); r.ExitCode() != plan.ExitNothing {
		t.Errorf("%+v", r.Configuration)
	}
}

// It removes a load balancer with its owner unless the tags name the others.
func TestGoingBack_NamesTheTagsOfLoadBalancersThatHaveToChange(t *testing.T) {
	t.Parallel()
	const web, api, old = "kube_service_prod_shop_web", "kube_service_prod_shop_api", "kube_service_prod_shop_old"
	services := []*v1.Service{shopService("web"), shopService("api")}
	for name, test := range map[string]struct {
		have []status.Service
		want string // "" for nothing
	}{
		"each has its own":    {[]status.Service{{LoadBalancer: on("1", []string{web, "kube_cluster_id_c"})}, {LoadBalancer: on("2", []string{api})}}, ""},
		"both are tagged":     {[]status.Service{{LoadBalancer: on("1", []string{api, web}, "shop/api")}, {LoadBalancer: on("1", []string{api, web}, "shop/web")}}, ""},
		"one is missing":      {[]status.Service{{LoadBalancer: on("1", []string{web}, "shop/api")}, {LoadBalancer: on("1", []string{web}, "shop/web")}}, "openstack loadbalancer set --tag " + api + " 1"},
		"one is gone":         {[]status.Service{{LoadBalancer: on("1", []string{old, web})}, {}}, "openstack loadbalancer unset --tag " + old + " 1"},
		"another namespace's": {[]status.Service{{LoadBalancer: on("1", []string{web}, "other/x")}, {}}, "openstack loadbalancer set --tag kube_service_prod_other_x 1"},
	} {
		r := report(t, "", services, test.have)
		switch {
		case test.want == "" && len(r.LoadBalancers) > 0:
			t.Errorf("%s: %+v", name, r.LoadBalancers)
		case test.want != "" && (len(r.LoadBalancers) != 1 || r.LoadBalancers[0].Do != test.want):
			t.Errorf("%s: %+v", name, r.LoadBalancers)
		}
	}
}

func TestGoingBack_MatchesGoldenFile(t *testing.T) {
	t.Parallel()
	services := []*v1.Service{
		shopService("api", annotated(annotation.Protocols, "80=HTTP"), annotated(annotation.Hostname, "api.example.com")), shopService("dns", withUDP),
		shopService("guest", annotated(annotation.AllowReplace, "true")), shopService("web"), shopService("lost"),
	}
	have := []status.Service{
		{LoadBalancer: on("00000001-0000-4000-8000-000000000000", []string{"kube_service_prod_shop_api"})},
		{LoadBalancer: on("00000002-0000-4000-8000-000000000000", []string{"kube_service_prod_shop_dns"})},
		{LoadBalancer: on("00000003-0000-4000-8000-000000000000", []string{"kube_service_prod_shop_web"}, "shop/web")},
		{LoadBalancer: on("00000003-0000-4000-8000-000000000000", []string{"kube_service_prod_shop_web"}, "shop/guest")},
		{State: status.Unknown, Problems: []status.Problem{{State: status.Unknown, Text: "read load balancer: Octavia answered 503"}}},
	}
	r := report(t, "[LoadBalancer]\nmanage-security-groups=true\nsecurity-group-mode=shared\ndrift-policy=report\n", services, have)
	if r.ExitCode() != plan.ExitUnknown {
		t.Errorf("exit code %d", r.ExitCode())
	}
	golden.File(t, "testdata/back.golden", asText(t, r))
	var out bytes.Buffer
	if err := cli.WriteJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Kind     string
		Services []struct{ Name, Error string }
	}
	if err := json.Unmarshal(out.Bytes(), &read); err != nil || read.Kind != "GoingBack" || len(read.Services) != 5 || read.Services[4].Error == "" {
		t.Errorf("%v: %s", err, out.String())
	}
}

func asText(t *testing.T, r *plan.GoingBack) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.WriteText(screen.New(&out, nil)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
