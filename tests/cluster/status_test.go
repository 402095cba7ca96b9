package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// assertStatus has users that may only read, in Kubernetes and in OpenStack, look at all
// Services with the program's status, while no controller runs.
func (w *crowd) assertStatus(services int) {
	w.t.Helper()
	reader := w.cloud.CloudConfFor(w.cloud.AddReader(w.cloud.Account, "viewer"), simulator.Config{})
	conf := filepath.Join(w.t.TempDir(), "cloud.conf")
	if err := os.WriteFile(conf, []byte(reader), 0o600); err != nil {
		w.t.Fatal(err)
	}
	kubeconfig := w.reader("viewer")
	w.cloud.RequestLog.Reset()
	status := func(arguments ...string) (string, int) {
		command := exec.CommandContext(w.t.Context(), w.program.Program, append([]string{"status", "--kubeconfig=" + kubeconfig, "--cloud-config=" + conf}, arguments...)...)
		var out, errs bytes.Buffer
		command.Stdout, command.Stderr = &out, &errs
		err := command.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			w.t.Fatal(err)
		}
		return out.String() + errs.String(), command.ProcessState.ExitCode()
	}
	text, code := status("-A")
	if want := fmt.Sprintf("%d Services: %d degraded\n", services, services); code != 2 || !strings.Contains(text, want) || strings.Contains(text, "Note:") {
		w.t.Errorf("status -A: exit code %d, want 2 and %q:\n%s", code, want, text)
	}
	text, code = status("-n", "default", "web-0")
	for _, want := range []string{"default/web-0 degraded at ", "listener TCP/443", "ONLINE", "node-1", "ignored  loadbalancer.openstack.org/unknown: "} {
		if code != 2 || !strings.Contains(text, want) {
			w.t.Errorf("status web-0: exit code %d, want 2 and %q:\n%s", code, want, text)
		}
	}
	if text, code = status("nothing"); code != 1 || !strings.Contains(text, `services "nothing" not found`) {
		w.t.Errorf("status of no Service: exit code %d:\n%s", code, text)
	}
	for _, request := range w.cloud.RequestLog.Requests() {
		if request.Method != http.MethodGet && !strings.HasSuffix(request.Path, "/auth/tokens") {
			w.t.Errorf("status wrote: %s %s", request.Method, request.Path)
		}
	}
}

// reader returns the kubeconfig of a user with the role that docs/commands.md has for plan and status.
func (w *crowd) reader(user string) string {
	w.t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "commands.md"))
	if err != nil {
		w.t.Fatal(err)
	}
	_, below, _ := strings.Cut(string(page), "\n## Rights\n")
	_, role, _ := strings.Cut(below, "```yaml\n")
	role, _, found := strings.Cut(role, "```\n")
	if !found {
		w.t.Fatal("docs/commands.md has no role")
	}
	if err := w.plane.Apply(w.t.Context(), role+`
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: `+user+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: openstack-load-balancer-reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: `+user+`}]
`); err != nil {
		w.t.Fatal(err)
	}
	kubeconfig, err := w.plane.Kubeconfig(user)
	if err != nil {
		w.t.Fatal(err)
	}
	return kubeconfig
}
