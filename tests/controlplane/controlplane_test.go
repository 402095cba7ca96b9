package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// clientFrom is the client of a program that is given the kubeconfig.
func clientFrom(t *testing.T, kubeconfig string, err error) kubernetes.Interface {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestControlPlane_ActsLikeThatOfKubernetesCluster shares one control plane among what only looks at it.
func TestControlPlane_ActsLikeThatOfKubernetesCluster(t *testing.T) {
	t.Parallel()
	c := ForTest(t, Options{})

	t.Run("is the Kubernetes release of the module", func(t *testing.T) {
		version, err := c.Client().Discovery().ServerVersion()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(version.GitVersion, "v1.37.") {
			t.Errorf("version = %s, want v1.37.*", version.GitVersion)
		}
	})

	t.Run("refuses anonymous requests", func(t *testing.T) {
		anonymous, err := kubernetes.NewForConfig(rest.AnonymousClientConfig(c.Config()))
		if err != nil {
			t.Fatal(err)
		}
		_, err = anonymous.Discovery().ServerVersion()
		if !apierrors.IsUnauthorized(err) {
			t.Errorf("err = %v, want Unauthorized", err)
		}
	})

	t.Run("lets the administrator's kubeconfig do everything", func(t *testing.T) {
		admin := clientFrom(t, c.AdminKubeconfig(), nil)
		if _, err := admin.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Error(err)
		}
	})

	t.Run("grants a user what RBAC grants", func(t *testing.T) {
		kubeconfig, err := c.Kubeconfig("alice", "viewers")
		client := clientFrom(t, kubeconfig, err)
		checkGrant(t, c, client, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "viewers"})
	})

	t.Run("grants a service account what RBAC grants", func(t *testing.T) {
		kubeconfig, err := c.ServiceAccountKubeconfig(t.Context(), "default", "default")
		client := clientFrom(t, kubeconfig, err)
		checkGrant(t, c, client, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "default"})
	})

	t.Run("lets a scraper read metrics as manifests/monitoring says", func(t *testing.T) { checkScraper(t, c) })

	t.Run("has no token for a service account that does not exist", func(t *testing.T) {
		_, err := c.ServiceAccountKubeconfig(t.Context(), "default", "nobody")
		if err == nil || !strings.Contains(err.Error(), "default/nobody") {
			t.Errorf("err = %v, want it to name default/nobody", err)
		}
	})

	t.Run("gives nodes pod networks of both families", func(t *testing.T) {
		nodes := c.Client().CoreV1().Nodes()
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "pod-networks"}}
		if _, err := nodes.Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		await.Eventually(t, "pod CIDRs", func(ctx context.Context) error {
			node, err := nodes.Get(ctx, "pod-networks", metav1.GetOptions{})
			if err == nil && len(node.Spec.PodCIDRs) != 2 {
				err = fmt.Errorf("podCIDRs = %v, want two", node.Spec.PodCIDRs)
			}
			return err
		})
	})

	t.Run("gives Services addresses of both families", func(t *testing.T) {
		policy := corev1.IPFamilyPolicyRequireDualStack
		service, err := c.Client().CoreV1().Services("default").Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "dual"},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, IPFamilyPolicy: &policy,
				Ports: []corev1.ServicePort{{Port: 80}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
		if got := service.Spec.IPFamilies; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("ipFamilies = %v, want %v", got, want)
		}
		if service.Spec.Ports[0].NodePort == 0 {
			t.Error("no node port was allocated")
		}
	})

	t.Run("denies what the controller refuses, and no more", func(t *testing.T) { checkAdmission(t, c) })

	t.Run("has a kubectl", func(t *testing.T) {
		manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\n"
		said, err := c.Kubectl(t.Context(), manifest, "apply", "-f", "-")
		if err != nil || !strings.Contains(said, "configmap/applied created") {
			t.Errorf("kubectl apply = %q, %v", said, err)
		}
		if _, err := c.Kubectl(t.Context(), "", "get", "nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") {
			t.Errorf("err = %v, want what kubectl says", err)
		}
	})

	t.Run("applies manifests, and again", func(t *testing.T) {
		const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: manifest, namespace: default}\ndata: {key: %s}\n" +
			"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: manifest}\n"
		for _, value := range []string{"first", "second"} {
			if err := c.Apply(t.Context(), fmt.Sprintf(manifest, value)); err != nil {
				t.Fatal(err)
			}
			found, err := c.Client().CoreV1().ConfigMaps("default").Get(t.Context(), "manifest", metav1.GetOptions{})
			if err != nil || found.Data["key"] != value {
				t.Errorf("data = %v, %v; want %s", found.Data, err, value)
			}
		}
		if _, err := c.Client().CoreV1().Namespaces().Get(t.Context(), "manifest", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		if err := c.Apply(t.Context(), "apiVersion: v1\nkind: Nonsense\nmetadata: {name: n}\n"); err == nil {
			t.Error("a kind that there is not was applied")
		}
	})

	t.Run("keeps the logs of its programs", func(t *testing.T) {
		for _, name := range []string{etcd, apiServer, controllerManager} {
			if c.Log(name) == "" {
				t.Errorf("Log(%s) is empty", name)
			}
		}
	})
}

// checkScraper shows that the API server, which the controller asks, lets the service account that
// manifests/monitoring names read the metrics, and no other.
func checkScraper(t *testing.T, c *ControlPlane) {
	t.Helper()
	manifest, err := os.ReadFile("../../manifests/monitoring/rbac.yaml")
	if err == nil {
		err = c.Apply(t.Context(), string(manifest))
	}
	if err != nil {
		t.Fatal(err)
	}
	may := func(ctx context.Context, user, path string) (bool, error) {
		review, err := c.Client().AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"},
		}}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed, err
	}
	const scraper = "system:serviceaccount:monitoring:prometheus-k8s"
	await.Eventually(t, "read metrics", func(ctx context.Context) error {
		if ok, err := may(ctx, scraper, "/metrics"); !ok || err != nil {
			return fmt.Errorf("it may not: %w", errors.Join(err, errors.New("forbidden")))
		}
		return nil
	})
	for user, path := range map[string]string{scraper: "/configz", "system:serviceaccount:monitoring:default": "/metrics"} {
		if ok, err := may(t.Context(), user, path); ok || err != nil {
			t.Errorf("%s may read %s: %v, %v", user, path, ok, err)
		}
	}
}

// checkGrant shows that the client may not list nodes before the role for it is
// bound to the subject, and may after.
func checkGrant(t *testing.T, c *ControlPlane, client kubernetes.Interface, subject rbacv1.Subject) {
	t.Helper()
	list := func(ctx context.Context) error {
		_, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err
	}
	if err := list(t.Context()); !apierrors.IsForbidden(err) {
		t.Fatalf("before the binding: err = %v, want Forbidden", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Subjects:   []rbacv1.Subject{subject},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node"},
	}
	if _, err := c.Client().RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await.Eventually(t, "list nodes after the binding", list)
}

func TestStop_LeavesNothing(t *testing.T) {
	t.Parallel()
	c, err := Start(t.Context(), Options{Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	processes := c.processes
	if len(processes) != 3 {
		t.Errorf("%d processes run, want 3", len(processes))
	}
	for range 2 { // the second does nothing
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}
	for _, p := range processes {
		if p.Running() {
			t.Errorf("%s still runs", p.Name())
		}
	}
	if _, err := os.Stat(c.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat(%s) = %v, want not exist", c.Dir(), err)
	}
}

// wrapped is an API server that does something before it becomes the real one. The
// script's working directory is the control plane's.
func wrapped(t *testing.T, script string) Programs {
	t.Helper()
	programs, err := Build(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "wrapped")
	content := fmt.Sprintf("#!/bin/sh\n%s\nexec '%s' \"$@\"\n", script, programs.APIServer)
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return Programs{APIServer: path}
}

func TestStart_ReplacesPortThatIsInUse(t *testing.T) {
	t.Parallel()
	c := ForTest(t, Options{WithoutControllerManager: true, Programs: wrapped(t, `
		if [ ! -e tried ]; then
			touch tried
			echo 'listen tcp 127.0.0.1:1: bind: address already in use' >&2
			exit 1
		fi`)})
	if _, err := os.Stat(filepath.Join(c.Dir(), "tried")); err != nil {
		t.Errorf("the first attempt did not happen: %v", err)
	}
	if _, err := c.Client().Discovery().ServerVersion(); err != nil {
		t.Error(err)
	}
}

func TestStart_NamesProgramThatDoesNotComeUpWithItsLog(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options Options
		want    []string
	}{
		"API server": {
			options: Options{APIServerArgs: []string{"--no-such-flag"}},
			want:    []string{"kube-apiserver", "exit status 1", "unknown flag: --no-such-flag"},
		},
		"controller manager": {
			options: Options{ControllerManagerArgs: []string{"--no-such-flag"}},
			want:    []string{"kube-controller-manager", "exit status 1", "unknown flag: --no-such-flag"},
		},
		"binary": {
			options: Options{Programs: Programs{Etcd: "/nonexistent/etcd"}},
			want:    []string{"start etcd", "/nonexistent/etcd"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Start(t.Context(), test.options)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("err = %v, want it to contain %q", err, want)
				}
			}
		})
	}
}

func TestStart_LeavesNothingWhenCanceled(t *testing.T) {
	t.Parallel()
	note := filepath.Join(t.TempDir(), "directory")
	// The API server never comes up; it notes where it would have lived.
	programs := wrapped(t, fmt.Sprintf(`pwd >'%[1]s.new'; mv '%[1]s.new' '%[1]s'; exec sleep 600`, note))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Start(ctx, Options{Programs: programs})
		ended <- err
	}()
	var directory string
	await.Eventually(t, "the API server's start", func(context.Context) error {
		content, err := os.ReadFile(note)
		directory = strings.TrimSpace(string(content))
		return err
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want context.Canceled", err)
	}
	if _, err := os.Stat(directory); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat(%s) = %v, want not exist", directory, err)
	}
}
