package manifests_test

import (
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/chart"
)

// The values in the recipes are those that the chart takes, and the Secrets, also within
// others, have a cloud.conf that loads.
func TestRecipes_HaveValuesAndSecretsThatWork(t *testing.T) {
	t.Parallel()
	blocks, err := chart.Recipes("../docs/recipes")
	if err != nil {
		t.Fatal(err)
	}
	var values, pages []string
	secrets := 0
	for _, block := range blocks {
		if block.Values != "" {
			values, pages = append(values, block.Values), append(pages, block.Page)
		}
		for _, text := range append(inner(t, block.Text), block.Text) {
			secrets += checkSecret(t, block.Page, text)
		}
	}
	for i, of := range rendered(t, values...) {
		if of.Error != "" {
			t.Errorf("%s: %s", pages[i], of.Error)
		}
	}
	if len(values) < 3 || secrets < 2 {
		t.Errorf("%d values and %d Secrets: the pages have more", len(values), secrets)
	}
}

// A page that keeps what its tool has installed adds rights, and takes them back: the role of the tool
// has the name of ours, and applying ours would take its rights away.
func TestRecipes_ReplaceNoRoleOfTheTool(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/recipes/*.md")
	if err != nil {
		t.Fatal(err)
	}
	adds := 0
	for _, page := range pages {
		text := string(readFile(t, page))
		var apply, remove int
		for line := range strings.Lines(text) {
			command, is := strings.CutPrefix(line, "    kubectl ")
			if is && strings.Contains(command, "manifests/static") {
				t.Errorf("%s replaces the role of the tool: %s", page, command)
			}
			if is && strings.HasSuffix(strings.TrimSpace(command), " -f manifests/additional-rights/rbac.yaml") {
				apply += strings.Count(command, "apply ")
				remove += strings.Count(command, "delete ")
			}
		}
		if apply != remove || strings.Contains(text, "set image") && apply == 0 {
			t.Errorf("%s adds rights %d times, and takes them back %d times", page, apply, remove)
		}
		adds += apply
	}
	if adds < 4 {
		t.Errorf("%d pages add rights: there are more", adds)
	}
}

// inner are the texts with objects that an object has: those of a Secret, and the inline manifests
// of Talos.
func inner(t *testing.T, text string) []string {
	t.Helper()
	var object struct {
		StringData map[string]string
		Cluster    struct{ InlineManifests []struct{ Contents string } }
	}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	var all []string
	for name, content := range object.StringData {
		if strings.HasSuffix(name, ".yaml") {
			all = append(all, content)
		}
	}
	for _, manifest := range object.Cluster.InlineManifests {
		all = append(all, manifest.Contents)
	}
	return all
}

// checkSecret counts a Secret with a cloud.conf, and loads that.
func checkSecret(t *testing.T, page, text string) int {
	t.Helper()
	if !strings.Contains(text, "\nkind: Secret\n") {
		return 0
	}
	var secret v1.Secret
	if err := yaml.UnmarshalStrict([]byte(text), &secret); err != nil {
		t.Errorf("%s: %v", page, err)
	}
	conf, has := secret.StringData["cloud.conf"]
	if !has {
		return 0
	}
	if _, warnings, err := config.Load(strings.NewReader(conf), nil); err != nil || len(warnings) > 0 {
		t.Errorf("%s: %v, warnings %v", page, err, warnings)
	}
	return 1
}

// A page can be followed from top to bottom: rights come before each step that starts the image without the
// objects of ours.
func TestRecipes_AddRightsBeforeImage(t *testing.T) {
	t.Parallel()
	starts := map[string]string{
		"gardener.md": "imageVectorOverwrite:", "kops.md": "kops update cluster", "kubeadm.md": " set image ",
		"kubespray.md": "ansible-playbook", "magnum.md": " set image ", "talos.md": " set image ",
	}
	for page, start := range starts {
		text := string(readFile(t, filepath.Join("../docs/recipes", page)))
		rights, image := strings.Index(text, "apply -f manifests/additional-rights/rbac.yaml"), strings.Index(text, start)
		if rights < 0 || image < rights {
			t.Errorf("%s has %q at %d, and the rights at %d", page, start, image, rights)
		}
	}
}
