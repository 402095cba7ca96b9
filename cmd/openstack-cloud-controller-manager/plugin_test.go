package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
)

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
	_ = command.Run() // only its exit code matters
	return outcome{command.ProcessState.ExitCode(), out.String(), errs.String()}
}

func TestPlugin_HasTheVerbsOfTheProgram(t *testing.T) {
	t.Parallel()
	help := runAs(t, cli.PluginFile, nil, "--help")
	for _, v := range verbs() {
		name := v.Name
		if help.code != 0 || !strings.Contains(help.out, "  "+name+" ") || !strings.Contains(help.out, v.Short) {
			t.Errorf("%s is not in the help: %+v", name, help)
		}
		got := runAs(t, cli.PluginFile, nil, name, "--help")
		if got.code != 0 || !strings.Contains(got.out, cli.PluginName+" "+name) || strings.Contains(got.out, programName+" "+name) {
			t.Errorf("%s --help: %+v", name, got)
		}
	}
	if got := runAs(t, cli.PluginFile, nil, "check", "--cloud-config", file(t, "cloud.conf", "[Global]\nauth-url=x\n"), "--offline"); got.code != 1 || !strings.Contains(got.out, "auth-url") {
		t.Errorf("a verb does not run, or its exit code is lost: %+v", got)
	}
	for arguments, says := range map[string]string{"remove": `"remove" is no verb of kubectl openstack-lb`, "--namespace": "comes first"} {
		if got := runAs(t, cli.PluginFile, nil, arguments); got.code != 1 || !strings.Contains(got.errors, says) {
			t.Errorf("%s: %+v, want %q", arguments, got, says)
		}
	}
	if got := runAs(t, cli.PluginFile+".exe", nil, "version"); got.code != 0 || !strings.HasPrefix(got.out, cli.PluginName+" ") {
		t.Errorf("version: %+v", got)
	}
}

// kubectl calls the one program for completions, and shells with cobra's script the other.
func TestPlugin_CompletesVerbsAndTheirFlags(t *testing.T) {
	t.Parallel()
	var described string
	for _, v := range verbs() {
		if strings.HasPrefix(v.Name, "c") {
			described += v.Name + "\t" + v.Short + "\n"
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
		got := runAs(t, "kubectl_complete-openstack_lb", nil, test.arguments...)
		if got.code != 0 || !strings.HasPrefix(got.out, test.want) {
			t.Errorf("%q: %+v, want %q", test.arguments, got, test.want)
		}
		if same := runAs(t, cli.PluginFile, nil, append([]string{"__complete"}, test.arguments...)...); same.out != got.out {
			t.Errorf("%q: kubectl gets %q, a shell %q", test.arguments, got.out, same.out)
		}
	}
	if got := runAs(t, cli.PluginFile, nil, "__completeNoDesc", "cle"); got.out != "cleanup\n:4\n" {
		t.Errorf("without descriptions: %q", got.out)
	}
}
