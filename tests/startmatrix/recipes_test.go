package startmatrix

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// peerName is how all tools name the service account, and peerRole the role, that they make for
// cloud-provider-openstack in kube-system.
const (
	peerName = rights("cloud-controller-manager")
	peerRole = "system:cloud-controller-manager"
)

// applied are the commands of a page that change the cluster.
var applied = regexp.MustCompile(`(?m)^    kubectl (apply|delete) -f (manifests/\S+)$`)

// follow makes the role and the service account of the tool, under the names that they have there,
// and applies what the page does. What it returns does what the page does to go back, and holds it
// to what the tool has made: that is the same as before.
func (env *environment) follow(t *testing.T, row container) (back func()) {
	t.Helper()
	ctx, rbac := t.Context(), env.plane.Client().RbacV1()
	role := rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: peerRole}, Rules: row.rights.rules(),
	}
	binding := rbacv1.ClusterRoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"}, ObjectMeta: role.ObjectMeta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: peerRole},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: string(peerName), Namespace: metav1.NamespaceSystem}},
	}
	account := corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Name: string(peerName), Namespace: metav1.NamespaceSystem},
	}
	for _, object := range []any{account, role, binding} {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		kubectl(t, env, string(text), "apply", "-f", "-")
	}
	page, err := os.ReadFile(filepath.Join(moduleRoot(t), "docs", "recipes", row.recipe))
	if err != nil {
		t.Fatal(err)
	}
	commands := applied.FindAllStringSubmatch(string(page), -1)
	if len(commands) != 2 || commands[0][1] != "apply" || commands[1][1] != "delete" {
		t.Fatalf("%s does not apply and delete what is missing: %q", row.recipe, commands)
	}
	kubectl(t, env, "", "apply", "-f", filepath.Join(moduleRoot(t), commands[0][2]))
	return func() {
		t.Helper()
		kubectl(t, env, "", "delete", "-f", filepath.Join(moduleRoot(t), commands[1][2]))
		has, err := rbac.ClusterRoles().Get(ctx, peerRole, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(role.Rules, has.Rules); diff != "" {
			t.Errorf("the role of the tool (-before +after):\n%s", diff)
		}
		if _, err := rbac.ClusterRoleBindings().Get(ctx, peerRole, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := env.plane.Client().CoreV1().ServiceAccounts(metav1.NamespaceSystem).Get(ctx, string(peerName), metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
}
