package cluster

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// mostPlanReads is how many requests to OpenStack a plan for Services may take of which nothing is
// to be changed, whatever their number: sign-in, versions, and the lists of a restart.
const mostPlanReads = 8

// assertPlan has the command plan look at all Services, with the rights that docs/commands.md names in
// Kubernetes and those of a reader in OpenStack, and fails unless it finds nothing to do with as
// few requests as a restart takes.
func (w *crowd) assertPlan(services int) {
	w.t.Helper()
	account := w.cloud.Account
	account.UserName, account.Password = "planner", "planner-secret"
	w.cloud.Keystone.AddUser(keystone.User{
		Name: account.UserName, Password: account.Password,
		Roles: map[string][]string{account.ProjectID: {"load-balancer_observer", "reader"}},
	})
	conf := filepath.Join(w.t.TempDir(), "cloud.conf")
	if err := os.WriteFile(conf, []byte(w.cloud.CloudConfFor(account, simulator.Config{})), 0o600); err != nil {
		w.t.Fatal(err)
	}
	kubeconfig := w.reader("planner")
	w.cloud.RequestLog.Reset()
	output, err := exec.CommandContext(w.t.Context(), w.program.Program, "plan", "--all", "-o=json", "--cloud-config="+conf, "--kubeconfig="+kubeconfig).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		w.t.Fatalf("plan: %v: %s\n%s", err, exit.Stderr, output)
	} else if err != nil {
		w.t.Fatal(err)
	}
	var report struct {
		Services []struct{ Name, Verdict string }
	}
	if err := json.Unmarshal(output, &report); err != nil {
		w.t.Fatal(err)
	}
	if len(report.Services) != services {
		w.t.Errorf("plan looked at %d Services, want %d", len(report.Services), services)
	}
	for _, s := range report.Services {
		if s.Verdict != "no-change" {
			w.t.Errorf("plan of %s: %s", s.Name, s.Verdict)
		}
	}
	if all := w.cloud.RequestLog.Requests(); len(all) > mostPlanReads {
		w.t.Errorf("plan took %d requests, want %d at most, the last one is %s %s", len(all), mostPlanReads, all[len(all)-1].Method, all[len(all)-1].Path)
	}
	for _, r := range w.cloud.RequestLog.Requests(requestlog.Writes()) {
		if !strings.HasSuffix(r.Route, "/auth/tokens") {
			w.t.Errorf("plan has sent %s %s", r.Method, r.Path)
		}
	}
}
