package cloudprovider

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

func TestUnusedSettings_NamesSettingAndReason(t *testing.T) {
	t.Parallel()
	const signIn = "[Global]\nauth-url=http://127.0.0.1/v3\ntoken=t\n"
	for name, test := range map[string]struct {
		conf     string
		reported []string
		routes   bool
	}{
		"none":            {"", nil, true},
		"those that work": {"[LoadBalancer]\nfloating-subnet-id=x\ncreate-monitor=true\n[LoadBalancerClass \"a\"]\nfloating-subnet-id=x\n[Route]\nrouter-id=x\n", nil, true},
		"switched off":    {"[LoadBalancer]\nmanage-security-groups=false\nenable-ingress-hostname=false\n", nil, false},
		"limits":          {"[LoadBalancer]\ntimeout-client-data=1\nconnection-limit=1\n", nil, false},
		"limits at ovn": {"[LoadBalancer]\nlb-provider=ovn\ntimeout-client-data=1\nconnection-limit=1\n",
			[]string{"[LoadBalancer] connection-limit", "[LoadBalancer] timeout-client-data"}, true},
		"routes switched off": {"[Route]\nrouter-id=x\n", []string{"[Route] router-id"}, false},
		"all of one section": {
			"[LoadBalancer]\nmanage-security-groups=true\nenable-ingress-hostname=true\n[Route]\nrouter-id=x\n",
			[]string{"[Route] router-id"},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf, _, err := config.Load(strings.NewReader(signIn+test.conf), nil)
			if err != nil {
				t.Fatal(err)
			}
			var reported []string
			for _, warning := range UnusedSettings(conf, test.routes) {
				text := warning.Text
				setting, found := strings.CutPrefix(text, "cloud.conf ")
				setting, follow, ends := strings.Cut(setting, " has no effect: ")
				if !found || !ends || follow == "" {
					t.Errorf("%q names no setting or no way out", text)
				}
				reported = append(reported, setting)
			}
			if diff := cmp.Diff(test.reported, reported); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
}

// A typo in deny-annotations must neither allow an annotation nor affect nodes.
func TestConnect_RefusesServicesWhenDeniedAnnotationDoesNotExist(t *testing.T) {
	t.Parallel()
	for name, denied := range map[string]string{
		"alone":                      "vip-sgids",
		"beside one that exists":     "subnet-id,vip-sgids",
		"a whole name of nobody":     "loadbalancer.openstack.org/vip-sgids",
		"an annotation of another's": "service.beta.kubernetes.io/vip-sgids",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud, c := connection(t, func(conf *config.Config) { conf.LoadBalancer.DenyAnnotations = denied })
			p, err := Connect(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			p.Initialize(nil, t.Context().Done())
			lb, asking := balancer(t, p), webService()
			asking.Annotations = map[string]string{"loadbalancer.openstack.org/vip-sg-ids": "g"}
			for _, svc := range []*v1.Service{webService(), asking} {
				if _, err := lb.EnsureLoadBalancer(t.Context(), "", svc, []*v1.Node{node("node-1", "127.100.1.1")}); err == nil || !strings.Contains(err.Error(), "deny-annotations") {
					t.Errorf("Service %s: %v", svc.Name, err)
				}
			}
			givesProviderID(t, p, cloud, "openstack:///")
			if err := p.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if created := len(cloud.Octavia.Snapshot()); created > 0 {
				t.Errorf("%d load balancers", created)
			}
		})
	}
}
