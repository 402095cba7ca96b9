package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// twoContexts is a kubeconfig.
const twoContexts = `
apiVersion: v1
kind: Config
clusters:
- {name: c1, cluster: {server: "https://127.0.0.1:1"}}
- {name: c2, cluster: {server: "https://127.0.0.1:2"}}
users: [{name: admin, user: {token: t}}]
contexts:
- {name: prod, context: {cluster: c1, user: admin, namespace: shop}}
- {name: test, context: {cluster: c2, user: admin}}
current-context: prod
`

// execute runs a command.
func execute(command *cobra.Command, arguments ...string) error {
	command.SetArgs(append([]string{}, arguments...)) // nil would mean the arguments of the test
	return command.Execute()
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubernetesCommand returns a command with the flags of kubectl.
func kubernetesCommand(t *testing.T, kubeconfig string) (*cobra.Command, *Kubernetes) {
	t.Helper()
	var f Kubernetes
	command := &cobra.Command{Use: "verb", SilenceUsage: true, Run: func(*cobra.Command, []string) {}}
	f.AddTo(command, Program{UserAgent: "test"})
	f.rules.Precedence = []string{kubeconfig}
	return command, &f
}

func TestKubernetesFlags_ChooseClusterAndNamespaceAsKubectlDoes(t *testing.T) {
	t.Parallel()
	path := file(t, twoContexts)
	for _, test := range []struct{ arguments, host, namespace string }{
		{"", "https://127.0.0.1:1", "shop"},
		{"-n web", "https://127.0.0.1:1", "web"},
		{"--namespace=web", "https://127.0.0.1:1", "web"},
		{"--context test", "https://127.0.0.1:2", "default"},
		{"-A", "https://127.0.0.1:1", ""},
		{"--all-namespaces -n web", "https://127.0.0.1:1", ""},
		{"--cluster c2", "https://127.0.0.1:2", "shop"},
		{"-s https://127.0.0.1:9", "https://127.0.0.1:9", "shop"},
		{"--kubeconfig " + path + " --user admin --token x", "https://127.0.0.1:1", "shop"},
	} {
		command, flags := kubernetesCommand(t, path)
		if err := execute(command, strings.Fields(test.arguments)...); err != nil {
			t.Fatal(err)
		}
		config, err := flags.config()
		if err != nil {
			t.Fatalf("%q: %v", test.arguments, err)
		}
		namespace, err := flags.Namespace()
		if config.Host != test.host || namespace != test.namespace || err != nil {
			t.Errorf("%q: %s in %q (%v), want %s in %q", test.arguments, config.Host, namespace, err, test.host, test.namespace)
		}
	}
	command, flags := kubernetesCommand(t, path)
	if err := execute(command, "--context", "none"); err != nil {
		t.Fatal(err)
	}
	if _, err := flags.config(); err == nil || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("an unknown context: %v", err)
	}
}

func TestKubernetesFlags_CompleteContexts(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"--context ":  "prod\ntest\n:4\n",
		"--context t": "test\n:4\n",
		"--cluster c": "c1\nc2\n:4\n",
		"-n ":         ":4\n", // no server listens there
	} {
		command, _ := kubernetesCommand(t, file(t, twoContexts))
		var out strings.Builder
		command.SetOut(&out)
		command.SetErr(&out)
		if err := execute(command, append([]string{completeCommand}, strings.Split(arguments, " ")...)...); err != nil {
			t.Fatal(err)
		}
		got, _, _ := strings.Cut(out.String(), "Completion ended")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", arguments, diff)
		}
	}
}

// Without a kubeconfig, the error names the flag.
func TestVerbs_SayThatThereIsNoKubeconfig(t *testing.T) {
	t.Parallel()
	_, flags := kubernetesCommand(t, "")
	flags.rules.ExplicitPath, flags.rules.Precedence = "", nil
	if _, err := flags.config(); err == nil || !strings.Contains(err.Error(), "there is no kubeconfig: set --kubeconfig") || strings.Contains(err.Error(), "KUBERNETES_MASTER") {
		t.Error(err)
	}
}

func TestReadOnlyClient_SendsNoWrite(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"NodeList","apiVersion":"v1"}`))
	}))
	t.Cleanup(server.Close)
	client, err := readOnlyClient(&rest.Config{Host: server.URL}, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("a read: %v", err)
	}
	maps := client.CoreV1().ConfigMaps("default")
	for name, write := range map[string]func() error{
		"create": func() error { _, err := maps.Create(t.Context(), &v1.ConfigMap{}, metav1.CreateOptions{}); return err },
		"update": func() error {
			_, err := maps.Update(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.UpdateOptions{})
			return err
		},
		"patch":  func() error { _, err := maps.Patch(t.Context(), "a", "", nil, metav1.PatchOptions{}); return err },
		"delete": func() error { return maps.Delete(t.Context(), "a", metav1.DeleteOptions{}) },
	} {
		if err := write(); err == nil || !strings.Contains(err.Error(), "nothing is written to Kubernetes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
