package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/secrets"
)

// asProgram makes the test binary behave as the program.
const asProgram = "OPENSTACK_CCM_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// outcome is what a process left.
type outcome struct {
	code        int
	out, errors string
}

// runProgram runs the program until it ends by itself, with this environment alone.
func runProgram(t *testing.T, env []string, arguments ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	command := exec.CommandContext(ctx, os.Args[0], arguments...)
	command.Env = append(env, asProgram+"=1", "HOME="+t.TempDir())
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	assertNoSecret(t, out.String()+errs.String())
	return outcome{command.ProcessState.ExitCode(), out.String(), errs.String()}
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	overwrite(t, path, text)
	return path
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// clusterFlags returns the flags for an API server, which need not answer.
func clusterFlags(t *testing.T) []string {
	t.Helper()
	return []string{"--kubeconfig=" + kubeconfigOf(t, "127.0.0.1:1"), "--secure-port=0", "--leader-elect=false"}
}

func kubeconfigOf(t *testing.T, address string) string {
	t.Helper()
	return file(t, "kubeconfig", `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://`+address+`"}}]
users: [{name: u, user: {}}]
`)
}

const password = "correct horse battery staple"

// assertNoSecret fails if the program has printed a password, ours or the simulator's.
func assertNoSecret(t *testing.T, said string) {
	t.Helper()
	if err := (secrets.Set{"password": password, "the simulator's": "k8s-secret"}).Check("output of the program", said); err != nil {
		t.Error(err)
	}
}

// The version is alone, for scripts; the details are in parentheses.
func TestProgram_PrintsItsVersion(t *testing.T) {
	t.Parallel()
	got := runProgram(t, nil, "--version")
	want := regexp.MustCompile(`^openstack-cloud-controller-manager \S+ \(commit \S+, go1\S+, Kubernetes libraries v0\.\d+\.\d+\)\n$`)
	if got.code != 0 || !want.MatchString(got.out) {
		t.Errorf("%+v", got)
	}
}

func TestProgram_LogsItsVersionFirst(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"text": `^I\d.*"Starting" program="openstack-cloud-controller-manager" version="\S+" commit="\S+" go="go1\S+" kubernetesLibraries="v0\.\d+\.\d+"$`,
		"json": `^{.*"msg":"Starting","v":0,"program":"openstack-cloud-controller-manager","version":"[^"]+","commit":"[^"]+","go":"go1[^"]+","kubernetesLibraries":"v0[^"]+"}$`,
	} {
		got := runProgram(t, nil, append(clusterFlags(t), "--cloud-provider=aws", "--v=1", "--logging-format="+format)...)
		first, rest, _ := strings.Cut(got.errors, "\n")
		if strings.Contains(first, "Data race detection enabled") { // only in tests, never in an image
			first, _, _ = strings.Cut(rest, "\n")
		}
		if !regexp.MustCompile(want).MatchString(first) {
			t.Errorf("%s: the first line is\n%s", format, first)
		}
	}
}

func TestProgram_ReportsUnknownFlagOnly(t *testing.T) {
	t.Parallel()
	got := runProgram(t, nil, "/bin/openstack-cloud-controller-manager", "--cloud-confg=/etc/config/cloud.conf")
	if want := "Error: unknown flag: --cloud-confg: did you mean --cloud-config? (--help lists all flags)\n"; got.code != 1 || got.errors+got.out != want {
		t.Errorf("exit code %d, said\n%s", got.code, got.errors+got.out)
	}
}

// signInAt is a [Global] section.
func signInAt(authURL string) string {
	return "[Global]\nauth-url=" + authURL + "\nusername=u\npassword=\"" + password + "\"\ntenant-name=p\ndomain-name=d\n"
}

// refusingKeystone returns the URL of a Keystone that works, and refuses all users.
func refusingKeystone(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"code":401,"title":"Unauthorized","message":"The request you have made requires authentication."}}`)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v3"
}

func TestProgram_ReportsWhatIsWrongWithTheConfiguration(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		conf string
		env  []string
		args []string
		says []string
	}{
		"bad value, misspelt key": {
			conf: "[Global]\nauth-url=http://127.0.0.1:1/v3\nusername=u\npassword=\"" + password + "\"\ntenant-name=p\ndomain-name=d\n[LoadBalancer]\nmonitor-delay=soon\nfloating-netwrok-id=x\n[Metadata]\nrequest-timeout=never\n",
			says: []string{"request-timeout", "never", "monitor-delay", "soon", "floating-netwrok-id", "floating-network-id"},
		},
		"refused credentials": {
			conf: signInAt(refusingKeystone(t)),
			says: []string{"sign in at", "401"},
		},
		"routes, and nothing about where pods are": {
			conf: "[Global]\nauth-url=http://127.0.0.1:1/v3\nusername=u\npassword=\"" + password + "\"\ntenant-name=p\ndomain-name=d\n[Route]\nrouter-id=r\n",
			says: []string{"router-id", "--cluster-cidr", "--configure-cloud-routes=false"},
		},
		"nothing at all": {says: []string{"auth"}},
		"another cloud":  {args: []string{"--cloud-provider=aws"}, says: []string{`"aws"`, `"openstack"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arguments := append(clusterFlags(t), test.args...)
			if test.conf != "" {
				arguments = append(arguments, "--cloud-config="+file(t, "cloud.conf", test.conf))
			}
			got := runProgram(t, test.env, append(arguments, "--v=8")...)
			if got.code != 1 {
				t.Errorf("exit code %d, want 1", got.code)
			}
			for _, want := range test.says {
				if !strings.Contains(got.errors, want) {
					t.Errorf("does not say %q:\n%s", want, got.errors)
				}
			}
			if strings.Contains(got.errors+got.out, password) {
				t.Error("the password is in the log")
			}
		})
	}
}

//proves:102
func TestProgram_LogsJSONWhenAsked(t *testing.T) {
	t.Parallel()
	got := runProgram(t, nil, append(clusterFlags(t), "--logging-format=json", "--cloud-provider=aws")...)
	if got.code != 1 || !strings.Contains(got.errors, `"msg":"--cloud-provider is`) {
		t.Errorf("exit code %d, log:\n%s", got.code, got.errors)
	}
}
