package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// pages are the pages for operators with commands for a cluster, in the order in which these run on
// one playground. A script prepares the page. The tutorial has a test of its own.
var pages = []struct{ name, prepare string }{
	{"docs/getting-started.md", "touch ca.crt"},
	{"docs/examples/README.md", ""},
	{"docs/events.md", ""},
	{"docs/commands.md", "kubectl create --filename=- <<< '{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: cloud-controller-manager-dry-run, namespace: kube-system}}'"},
	{"docs/metrics.md", ""},
	{"docs/nodes.md", ""},
	{"docs/troubleshooting.md", ""},
	{"docs/cleanup.md", ""},
	{"docs/runbooks", ""},
	{"docs/recipes", "touch install.yaml; cp cloud.conf cloud-config-occm; kubectl --namespace kube-system create secret generic external-openstack-cloud-config --from-file=cloud.conf"},
	{"docs/migration.md", ""},
	{"docs/day-two.md", created},
	{"docs/admission.md", ""},
	{"docs/uninstall.md", created + "; kubectl delete services --all-namespaces --field-selector spec.type=LoadBalancer; " +
		"helm install openstack-ccm manifests/chart --namespace kube-system --values values.yaml --set nameOverride=other,clusterRoleName=other,serviceAccountName=other,secret.name=other"},
	{"README.md", ""},
	{"docs/chart.md", "helm uninstall openstack-ccm --namespace kube-system"},
}

// created creates the ConfigMap that the page before has deleted: the controller records its project at the start.
const created = "kubectl --namespace kube-system create configmap openstack-cloud"

// notRun are the commands that no test runs, with the reason.
var notRun = []struct{ pattern, reason string }{
	{`(^|[ (])openstack [a-z]`, "the client of OpenStack is not a part of this repository"},
	{`^docker `, "needs a container engine"},
	{`^(make|git clone|cd|bin/)`, "what every run of the tests does"},
	{`kubectl krew|^helm .*\.tgz|^cosign|^sha256sum|^go version|^kops|^oslopolicy|^python3|^nc |^curl .*KEYSTONE`, "needs another program, a release or a cloud"},
	{`\| jq `, "needs jq"},
	{`rollout (status|history|undo)|kubectl drain`, "needs the controllers of workloads"},
	{`^kubectl .* (exec|port-forward|logs (POD|daemonset)|describe pod) ?|^curl -sk https://localhost:10258`, "needs a pod that runs"},
	{`--watch$`, "does not end"},
	{`apply -f install.yaml|delete node NAME|finalizers|get -o yaml`, "is explained by its text, for an object of the reader"},
}

// exits are the exit codes, beside 0, of commands that report what they find.
var exits = []struct {
	pattern string
	codes   []int
}{
	{`(manager|openstack-lb) (plan|status) `, []int{2, 3}},
	{`manager check `, []int{2}},
	{`manager cleanup `, []int{3, 4, 5}},
	{`\| grep |auth can-i`, []int{1}},
}

// replaced are the words of a page that its reader replaces.
var replaced = strings.NewReplacer(
	"EXTERNAL-IP/", "$(kubectl get service web --output=jsonpath={.status.loadBalancer.ingress[0].ip}):8080/",
	"--port=80 ", "--port=8080 ", // 80 needs root
	"--cluster-name=NAME", "--cluster-name=kubernetes", "SHOOT-KUBECONFIG", "$KUBECONFIG", "NODE...", "node-1", "NODE", "node-1",
	"NAMESPACE:.", "NAMESPACE:.", "NAME:.", "NAME:.", "NAMESPACE:NAME", "default:default", "NAMESPACE", "default", "CLUSTER", "kubernetes", "configmap NAME", "configmap openstack-cloud",
	"openstack-ccm REVISION", "openstack-ccm --namespace kube-system", "NAME", "web", "OLD-IMAGE", "example.org/old", "IMAGE", "example.org/new", "REFERENCE", "https://barbican.example.org/v1/secrets/1",
	"=UID", "=$(kubectl get namespace kube-system --output=jsonpath={.metadata.uid})", "/usr/local/bin/", "",
	"status -n shop web", "status web",
)

// reader is a shell in a directory with what the pages assume: a checkout, the program, kubectl and
// Helm in the PATH, cloud.conf, admin.conf and values.yaml, and the OS_* variables of cloud.conf.
type reader struct{ work, environment string }

// newReader opens a playground, and installs the DaemonSet on it, which has no pods there.
func newReader(t *testing.T) reader {
	t.Helper()
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	helm, err := controlplane.BuildHelmCLI(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	r := reader{t.TempDir(), filepath.Join(openPlayground(t), environment)}
	for name, content := range map[string]string{"openrc": "", "values.yaml": valuesOfChartPage(t)} {
		if err := os.WriteFile(filepath.Join(r.work, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.must(t, fmt.Sprintf("ln -s %[1]s/manifests %[1]s/docs .; mkdir bin; ln -s %[2]s bin/helm; cp $CLOUD_CONFIG cloud.conf; cp $KUBECONFIG admin.conf", checkout, helm))
	r.must(t, `sed -nE "s/^auth-url=/export OS_AUTH_URL=/p; s/^(username|password)=/export OS_\U\1=/p; s/^tenant-name=/export OS_PROJECT_NAME=/p; `+
		`s/^domain-name=(.*)/export OS_USER_DOMAIN_NAME=\1 OS_PROJECT_DOMAIN_NAME=\1/p" cloud.conf > openrc; echo 'PATH=$PWD/bin:$PATH' >> openrc`)
	r.must(t, "kubectl apply --kustomize=manifests/static")
	return r
}

// run runs a script, and returns what it prints.
func (r reader) run(t *testing.T, script string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", ". "+r.environment+"; . ./openrc; "+script)
	shell.Dir = r.work
	shell.Env = append(os.Environ(), "HELM_CACHE_HOME="+r.work, "HELM_CONFIG_HOME="+r.work, "HELM_DATA_HOME="+r.work)
	return shell.CombinedOutput()
}

func (r reader) must(t *testing.T, script string) {
	t.Helper()
	if output, err := r.run(t, script); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, output)
	}
}

// The commands of the pages for operators run on a cluster, but for those in notRun.
func TestPages_CommandsRun(t *testing.T) {
	t.Parallel()
	r, count := newReader(t), 0
	for _, page := range pages {
		r.must(t, page.prepare)
		for _, c := range shellCommands(t, page.name) {
			if whyNot(c) != "" {
				continue
			}
			count++
			script := replaced.Replace(c)
			if strings.Contains(c, "EXTERNAL-IP") { // the reader has waited for it
				script = "kubectl wait service web --for=jsonpath={.status.loadBalancer.ingress} --timeout=10m && " + strings.Replace(script, "curl ", "curl --retry 20 --retry-delay 1 --retry-all-errors ", 1)
			}
			if output, err := r.run(t, script); err != nil && !expected(c, err) {
				t.Errorf("%s: %s: %v\n%s", page.name, script, err, output)
			}
		}
	}
	t.Logf("%d commands", count)
}

// Each command of a page runs in a test, or has a reason why it does not.
func TestPages_HaveNoOtherCommands(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, place := range []string{"README.md", "docs", "docs/examples", "docs/recipes", "docs/runbooks"} {
		for _, name := range markdownFiles(t, place) {
			runs := name == "docs/tutorial.md" || slices.ContainsFunc(pages, func(p struct{ name, prepare string }) bool {
				return name == p.name || strings.HasPrefix(name, p.name+"/")
			})
			for _, c := range shellCommands(t, name) {
				reason := whyNot(c)
				used[reason] = true
				if reason == "" && !runs {
					t.Errorf("%s has a command that no test runs: %s", name, c)
				}
			}
		}
	}
	for _, n := range notRun {
		if !used[n.reason] {
			t.Errorf("no page has a command for %q", n.pattern)
		}
	}
}

// valuesOfChartPage returns the values for an installation with Helm.
func valuesOfChartPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/chart.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(# values.yaml\n.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/chart.md has no values")
	}
	return string(block[1])
}

func whyNot(command string) string {
	for _, n := range notRun {
		if regexp.MustCompile(n.pattern).MatchString(command) {
			return n.reason
		}
	}
	return ""
}

// expected reports whether the error is an exit code that reports a finding of the command.
func expected(command string, err error) bool {
	var exit *exec.ExitError
	is := errors.As(err, &exit)
	for _, e := range exits {
		if is && regexp.MustCompile(e.pattern).MatchString(command) && slices.Contains(e.codes, exit.ExitCode()) {
			return true
		}
	}
	return false
}

// markdownFiles returns the pages at a place of the checkout, which is a page or a directory.
func markdownFiles(t *testing.T, place string) []string {
	t.Helper()
	if strings.HasSuffix(place, ".md") {
		return []string{place}
	}
	found, err := filepath.Glob(filepath.Join("../..", place, "*.md"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s has no pages: %v", place, err)
	}
	for i := range found {
		found[i] = strings.TrimPrefix(found[i], "../../")
	}
	return found
}

// programs begin a command.
var programs = regexp.MustCompile(`^(\. |(kubectl|helm|openstack|openstack-cloud-controller-manager|make|docker|curl|git|cd|ln|cosign|sha256sum|go|kops|nc|oslopolicy\S*|python3|bin/\S+) )`)

// shellCommands returns the commands in the blocks and in the text at a place. Those in the text count
// from four words on: others are names.
func shellCommands(t *testing.T, place string) (all []string) {
	t.Helper()
	for _, name := range markdownFiles(t, place) {
		content, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		tree := goldmark.New().Parser().Parse(text.NewReader(content))
		_ = ast.Walk(tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
			if !entering {
				return ast.WalkContinue, nil
			}
			switch node.Kind() {
			case ast.KindCodeBlock, ast.KindFencedCodeBlock:
				all = append(all, commandsOfBlock(string(node.Lines().Value(content)))...)
			case ast.KindCodeSpan:
				span := string(node.FirstChild().(*ast.Text).Segment.Value(content))
				if programs.MatchString(span) && len(strings.Fields(span)) >= 4 && !strings.Contains(span, "…") {
					all = append(all, span)
				}
			}
			return ast.WalkContinue, nil
		})
	}
	return all
}

// commandsOfBlock returns the commands of a block, or nothing if it does not begin with one. A command
// ends with the line with which it is complete.
func commandsOfBlock(block string) (all []string) {
	if !programs.MatchString(block) {
		return nil
	}
	var unfinished string
	for line := range strings.Lines(block) {
		unfinished += line
		trimmed := strings.TrimSpace(unfinished)
		if strings.HasSuffix(trimmed, `\`) || strings.HasSuffix(trimmed, "|") || exec.Command("bash", "-n", "-c", trimmed).Run() != nil {
			continue
		}
		if trimmed != "" {
			all = append(all, trimmed)
		}
		unfinished = ""
	}
	if unfinished != "" {
		all = append(all, unfinished)
	}
	return all
}
