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

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
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
	kubeconfig := w.viewer()
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

// viewer returns the kubeconfig of a user with the role that docs/status.md shows.
func (w *crowd) viewer() string {
	w.t.Helper()
	ctx := w.t.Context()
	root, err := controlplane.ModuleRoot(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "status.md"))
	if err != nil {
		w.t.Fatal(err)
	}
	_, role, _ := strings.Cut(string(page), "```yaml\n")
	role, _, _ = strings.Cut(role, "```\n")
	var read rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(role), &read); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.Client().RbacV1().ClusterRoles().Create(ctx, &read, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: read.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: read.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "viewer"}},
	}
	if _, err := w.Client().RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	kubeconfig, err := w.plane.Kubeconfig("viewer")
	if err != nil {
		w.t.Fatal(err)
	}
	return kubeconfig
}
