package status_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// One Service that cannot be read hides no other.
func TestStatus_ShowsAServiceThatItCannotReadAmongTheOthers(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nil)
	env.addNodes(1)
	env.served("good", []int32{80})
	env.add(env.newService("evil", []int32{81}, annotated("load-balancer-id", "11111111-0000-4000-8000-000000000000")))
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/load-balancer/v2.0/lbaas/loadbalancers/{id}", Status: http.StatusBadRequest})

	report := env.read(t)
	if len(report.Services) != 2 || report.Services[0].Name != "evil" || report.Services[0].State != status.Unknown || report.Services[1].State != status.Good {
		t.Fatalf("%+v", report.Services)
	}
	if problems := report.Services[0].Problems; len(problems) != 1 || !strings.Contains(problems[0].Text, "400") {
		t.Errorf("problems %+v", problems)
	}
	if code := report.ExitCode(); code != status.ExitError {
		t.Errorf("exit code %d", code)
	}
	shown := text(t, report)
	for _, want := range []string{"evil  unknown  -", "2 Services: 1 good, 1 unknown"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
	var out bytes.Buffer
	env.must(cli.WriteJSON(&out, report))
	var read struct {
		Services []struct{ Name, State string }
		ExitCode int
	}
	env.must(json.Unmarshal(out.Bytes(), &read))
	if len(read.Services) != 2 || read.Services[0].State != "unknown" || read.ExitCode != 1 {
		t.Errorf("%s", out.String())
	}
	for _, names := range [][]string{{"evil"}, {"good", "evil"}} {
		report := env.read(t, names...)
		if last := report.Services[len(names)-1]; last.State != status.Unknown || report.ExitCode() != status.ExitError || len(report.Services) != len(names) {
			t.Errorf("%v: %+v", names, report.Services)
		}
	}
}

// A setting without effect is reported.
func TestStatus_TellsOfSettingsWithoutEffect(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*v1.Service)
		want   string
	}{
		"a misspelled name": {func(svc *v1.Service) {
			svc.Annotations["service.beta.kubernetes.io/openstack-internal-loadbalancer"] = "true"
		}, `openstack-internal-loadbalancer: `},
		"an unknown name":           {annotated("colour", "green"), "loadbalancer.openstack.org/colour: "},
		"a value that is not taken": {annotated("x-forwarded-for", "True"), "loadbalancer.openstack.org/x-forwarded-for: "},
		"no port for it": {func(svc *v1.Service) {
			svc.Annotations["loadbalancer.openstack.org/proxy-protocol"], svc.Spec.Ports[0].Protocol = "true", v1.ProtocolUDP
		}, "loadbalancer.openstack.org/proxy-protocol: has no effect: the Service has no port of TCP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, nil)
			env.addNodes(1)
			env.served("web", []int32{80}, test.change)
			for _, report := range []*status.Report{env.read(t), env.read(t, "web")} {
				s := report.Services[0]
				if s.State != status.Degraded || report.ExitCode() != status.ExitDegraded || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Text, test.want) {
					t.Errorf("%+v", s)
				}
				if shown := text(t, report); !strings.Contains(shown, "ignored") || strings.Count(shown, test.want) != 1 {
					t.Errorf("%s", shown)
				}
			}
		})
	}
}

// A setting of a new load balancer is either refused or ignored.
func TestStatus_DoesNotCallRefusedSettingsOfANewServiceIgnored(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, nil)
	env.addNodes(1)
	env.add(env.newService("web", []int32{80}, annotated("lb-method", "FAIR")))
	report := env.read(t, "web")
	if s := report.Services[0]; s.State != status.Refused || strings.Contains(text(t, report), "ignored") {
		t.Errorf("%s", text(t, report))
	}
}
