package manifests_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

// krewPlugin is the manifest of a plugin, as krew's API v1alpha2 has it.
type krewPlugin struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string         `json:"version"`
		ShortDescription string         `json:"shortDescription"`
		Description      string         `json:"description"`
		Caveats          string         `json:"caveats"`
		Homepage         string         `json:"homepage"`
		Platforms        []krewPlatform `json:"platforms"`
	} `json:"spec"`
}

type krewPlatform struct {
	URI      string                `json:"uri"`
	Sha256   string                `json:"sha256"`
	Selector *metav1.LabelSelector `json:"selector"`
	Files    []struct {
		From string `json:"from"`
		To   string `json:"to"`
	} `json:"files"`
	Bin string `json:"bin"`
}

// released returns the manifest of a release, made as krew-release-bot makes it.
func released(t *testing.T, tag string) krewPlugin {
	t.Helper()
	text, err := os.ReadFile("krew/openstack-lb.yaml")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := template.New("krew").Funcs(template.FuncMap{
		"addURIAndSha": func(uri, tag string) string {
			return fmt.Sprintf("uri: %s\nsha256: %s", strings.ReplaceAll(uri, "{{ .TagName }}", tag), strings.Repeat("0a", 32))
		},
		"indent": func(spaces int, text string) string {
			return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", spaces))
		},
	}).Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var made bytes.Buffer
	if err := parsed.Execute(&made, map[string]string{"TagName": tag}); err != nil {
		t.Fatal(err)
	}
	var plugin krewPlugin
	if err := yaml.UnmarshalStrict(made.Bytes(), &plugin); err != nil {
		t.Fatalf("%v:\n%s", err, made.String())
	}
	return plugin
}

// These are the checks of krew's own validation.
func TestKrew_ManifestOfReleaseIsValid(t *testing.T) {
	t.Parallel()
	p := released(t, "v1.2.3")
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Metadata.Name != "openstack-lb" {
		t.Errorf("%s %s %s", p.APIVersion, p.Kind, p.Metadata.Name)
	}
	if _, err := version.ParseSemantic(p.Spec.Version); err != nil || !strings.HasPrefix(p.Spec.Version, "v") {
		t.Errorf("version %q: %v", p.Spec.Version, err)
	}
	if short := p.Spec.ShortDescription; short == "" || len(short) > 50 || strings.ContainsAny(short, "\n") || strings.HasSuffix(short, ".") {
		t.Errorf("short description %q", short)
	}
	if p.Spec.Description == "" || !strings.HasPrefix(p.Spec.Homepage, "https://") {
		t.Errorf("description %q, homepage %q", p.Spec.Description, p.Spec.Homepage)
	}
	var platforms []string
	for _, platform := range p.Spec.Platforms {
		if platform.Selector == nil || len(platform.Selector.MatchExpressions) > 0 || len(platform.Selector.MatchLabels) != 2 {
			t.Fatalf("selector %v: krew knows os and arch", platform.Selector)
		}
		os, arch := platform.Selector.MatchLabels["os"], platform.Selector.MatchLabels["arch"]
		platforms = append(platforms, os+"/"+arch)
		if !strings.HasSuffix(platform.URI, fmt.Sprintf("/v1.2.3/openstack-cloud-controller-manager_%s_%s.tar.gz", os, arch)) {
			t.Errorf("%s/%s is at %s", os, arch, platform.URI)
		}
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(platform.Sha256) {
			t.Errorf("sha256 %q", platform.Sha256)
		}
		if platform.Bin != "openstack-cloud-controller-manager" || len(platform.Files) > 0 {
			t.Errorf("bin %q, files %v", platform.Bin, platform.Files)
		}
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("platforms %q", platforms)
	}
}
