package startmatrix

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
)

// rights name a service account in kube-system by what it may do.
type rights string

const (
	// peerRights are those of cloud-provider-openstack's manifests and chart, magnumRights
	// those of Magnum: older, without the status of Services.
	peerRights   rights = "peer"
	magnumRights rights = "magnum"
	// allRights are those of an administrator.
	allRights rights = "all"
)

// roles are the rights that are not ours, in short: "group resource resource: verbs".
var roles = map[rights][]string{
	peerRights:   append(commonRights, " services/status: patch"),
	magnumRights: commonRights,
	allRights:    {"* *: *"},
}

var commonRights = []string{
	"coordination.k8s.io leases: get create update", " events: create patch update", " nodes: *", " nodes/status: patch",
	" services: list patch update watch", " serviceaccounts: create get", " serviceaccounts/token: create", " persistentvolumes: *",
	" endpoints: create get list watch update", " configmaps: get list watch", " secrets: list get watch",
}

// grant makes the service accounts.
func grant(t *testing.T, plane *controlplane.ControlPlane) {
	t.Helper()
	ctx, client := t.Context(), plane.Client()
	for who := range roles {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: string(who)}, Rules: who.rules()}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: role.ObjectMeta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: role.Name, Namespace: metav1.NamespaceSystem}},
		}
		account := &corev1.ServiceAccount{ObjectMeta: role.ObjectMeta}
		if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Create(ctx, account, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// rules are those of the role.
func (r rights) rules() []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, line := range roles[r] {
		left, verbs, _ := strings.Cut(line, ": ")
		group, resources, _ := strings.Cut(left, " ")
		all = append(all, rbacv1.PolicyRule{
			APIGroups: []string{group}, Resources: strings.Fields(resources), Verbs: strings.Fields(verbs),
		})
	}
	return all
}

// token is what kubelet mounts into the pod of a row.
func token(ctx context.Context, t *testing.T, plane *controlplane.ControlPlane, row container) string {
	t.Helper()
	namespace := cmp.Or(row.namespace, metav1.NamespaceSystem)
	answer, err := plane.Client().CoreV1().ServiceAccounts(namespace).CreateToken(ctx, string(row.rights),
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err == nil {
		_, err = os.Stat(filepath.Join(root, "go.mod"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return root
}
