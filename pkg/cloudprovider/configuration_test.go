package cloudprovider

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
