package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
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

// runAs runs the program under another name, as kubectl does.
func runAs(t *testing.T, name string, env []string, arguments ...string) outcome {
	t.Helper()
	link := filepath.Join(t.TempDir(), name)
	program, err := filepath.Abs(os.Args[0])
	if err == nil {
		err = os.Symlink(program, link)
	}
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), link, arguments...)
	command.Env = append(env, asProgram+"=1", "HOME="+t.TempDir())
	var out, errs strings.Builder
	command.Stdout, command.Stderr = &out, &errs
	_ = command.Run() // its exit code says all
	return outcome{command.ProcessState.ExitCode(), out.String(), errs.String()}
}

func TestPlugin_HasTheVerbsOfTheProgram(t *testing.T) {
	t.Parallel()
	help := runAs(t, pluginFile, nil, "--help")
	for name, v := range verbs() {
		if help.code != 0 || !strings.Contains(help.out, "  "+name+" ") || !strings.Contains(help.out, v.short) {
			t.Errorf("%s is not in the help: %+v", name, help)
		}
		got := runAs(t, pluginFile, nil, name, "--help")
		if got.code != 0 || !strings.Contains(got.out, pluginName+" "+name) || strings.Contains(got.out, programName+" "+name) {
			t.Errorf("%s --help: %+v", name, got)
		}
	}
	if got := runAs(t, pluginFile, nil, "check", "--cloud-config", file(t, "cloud.conf", "[Global]\nauth-url=x\n"), "--offline"); got.code != 1 || !strings.Contains(got.out, "auth-url") {
		t.Errorf("a verb does not run, or its exit code is lost: %+v", got)
	}
	for arguments, says := range map[string]string{"remove": `"remove" is no verb of kubectl openstack-lb`, "--namespace": "comes first"} {
		if got := runAs(t, pluginFile, nil, arguments); got.code != 1 || !strings.Contains(got.errors, says) {
			t.Errorf("%s: %+v, want %q", arguments, got, says)
		}
	}
	if got := runAs(t, pluginFile+".exe", nil, "version"); got.code != 0 || !strings.HasPrefix(got.out, pluginName+" ") {
		t.Errorf("version: %+v", got)
	}
}

// kubectl runs the one program for completions, and shells with cobra's script the other.
func TestPlugin_CompletesVerbsAndTheirFlags(t *testing.T) {
	t.Parallel()
	var described string
	for _, name := range slices.Sorted(maps.Keys(verbs())) {
		if strings.HasPrefix(name, "c") {
			described += name + "\t" + verbs()[name].short + "\n"
		}
	}
	for _, test := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"c"}, described + ":4\n"},
		{[]string{"x"}, ":4\n"},
		{[]string{"x", ""}, ""},
		{[]string{"cleanup", "--cluster-n"}, "--cluster-name"},
		{[]string{"check", "-o", ""}, "text\njson\n:4\n"},
		{[]string{"check", "--output", "j"}, "text\njson\n:4\n"}, // the shell compares
	} {
		got := runAs(t, completionFile, nil, test.arguments...)
		if got.code != 0 || !strings.HasPrefix(got.out, test.want) {
			t.Errorf("%q: %+v, want %q", test.arguments, got, test.want)
		}
		if same := runAs(t, pluginFile, nil, append([]string{completeCommand}, test.arguments...)...); same.out != got.out {
			t.Errorf("%q: kubectl gets %q, a shell %q", test.arguments, got.out, same.out)
		}
	}
	if got := runAs(t, pluginFile, nil, plainCompleteCommand, "cle"); got.out != "cleanup\n:4\n" {
		t.Errorf("without descriptions: %q", got.out)
	}
}

// kubernetesCommand returns a command with the flags of kubectl.
func kubernetesCommand(t *testing.T, kubeconfig string) (*cobra.Command, *kubernetesFlags) {
	t.Helper()
	var f kubernetesFlags
	command := &cobra.Command{Use: "verb", SilenceUsage: true, Run: func(*cobra.Command, []string) {}}
	f.addTo(command)
	f.rules.Precedence = []string{kubeconfig}
	return command, &f
}

func TestKubernetesFlags_ChooseClusterAndNamespaceAsKubectlDoes(t *testing.T) {
	t.Parallel()
	path := file(t, "config", twoContexts)
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
		namespace, err := flags.namespace()
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
		"-n ":         ":4\n", // nobody answers there
	} {
		command, _ := kubernetesCommand(t, file(t, "config", twoContexts))
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
