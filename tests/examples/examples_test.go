// Package examples applies each file of docs/examples to a simulated cloud, and writes the
// resulting objects of its Services into the page that shows the file.
package examples_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

const directory = "../../docs/examples"

// example is a file of docs/examples: its comment and its objects.
type example struct {
	file, title, text, yaml string
	// conf is what the file of the same name with .conf has: sections of cloud.conf. Empty where
	// there is none.
	conf string
	// result is what the cloud has in the end.
	result string
}

// confFile is the path of the file with sections of cloud.conf.
func (e *example) confFile(directory string) string {
	return filepath.Join(directory, strings.TrimSuffix(e.file, ".yaml")+".conf")
}

// documents are the objects in the file, one by one.
func (e *example) documents() []string { return strings.Split(e.yaml, "\n---\n") }

// read reads an example. Its comment is the title, an empty line, and a paragraph.
func read(path string) (*example, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	e := &example{file: filepath.Base(path)}
	lines := strings.Split(string(content), "\n")
	var comment []string
	for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
		comment = append(comment, strings.TrimPrefix(strings.TrimPrefix(lines[0], "#"), " "))
		lines = lines[1:]
	}
	if len(comment) < 3 || comment[1] != "" {
		return nil, fmt.Errorf("%s does not begin with a comment of a title and a paragraph", path)
	}
	e.title, e.text, e.yaml = comment[0], strings.Join(comment[2:], "\n"), strings.Join(lines, "\n")
	conf, err := os.ReadFile(e.confFile(filepath.Dir(path)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	e.conf = string(conf)
	return e, nil
}

// The page has each example, and what it is good for in a cloud: one that is refused, or of
// which something is ignored, fails. So does one that the commands status and plan describe
// differently, before or after it is applied.
func TestExamples_AreServedAsTheReferenceSays(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil || len(paths) < 12 {
		t.Fatalf("%d examples, %v", len(paths), err)
	}
	all := make([]*example, len(paths))
	t.Run("each", func(t *testing.T) {
		for i, path := range paths {
			e, err := read(path)
			if err != nil {
				t.Fatal(err)
			}
			all[i] = e
			t.Run(e.file, func(t *testing.T) {
				t.Parallel()
				e.result = apply(t, e)
			})
		}
	})
	if t.Failed() {
		return
	}
	golden.File(t, filepath.Join(directory, "README.md"), page(all))
}

// The objects of an example are no garbage while its Services exist. Without the Services, or if the whole
// cluster is deleted, they are found and removed.
func TestExamples_LeaveNothingThatCleanupDoesNotFind(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		e, err := read(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(e.file, func(t *testing.T) {
			t.Parallel()
			cleanUp(t, e)
		})
	}
}

// A reader applies an example to a cluster, and deletes it again: it has nothing that is of the
// cluster, and no secrets. What cloud.conf needs for it is in a file of its own.
func TestExamples_TouchNothingThatIsOfTheCluster(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(directory, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		switch filepath.Ext(path) {
		case ".yaml":
			e, err := read(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, document := range e.documents() {
				if err := ofReader(document); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		case ".conf":
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(strings.TrimSuffix(path, ".conf") + ".yaml"); err != nil || strings.Contains(string(text), "[Global]") {
				t.Errorf("%s has credentials, or no example: %v", path, err)
			}
		case ".md":
		default:
			t.Errorf("what is %s?", path)
		}
	}
}

// ofReader is an error for an object that a cluster has already.
func ofReader(document string) error {
	var object struct {
		Kind, APIVersion string
		Metadata         struct{ Name, Namespace string }
	}
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		return err
	}
	system := func(namespace string) bool {
		return strings.HasPrefix(namespace, "kube-") || namespace == "default" && object.Kind == "Namespace"
	}
	switch {
	case object.Kind != "Service" && object.Kind != "Namespace":
		return fmt.Errorf("it has a %s", object.Kind)
	case system(object.Metadata.Namespace), object.Kind == "Namespace" && system(object.Metadata.Name):
		return fmt.Errorf("%s %s/%s is of the cluster", object.Kind, object.Metadata.Namespace, object.Metadata.Name)
	}
	return nil
}

// What applying or deleting would break is noticed.
func TestExamples_ObjectsOfTheClusterAreRefused(t *testing.T) {
	t.Parallel()
	for document, refused := range map[string]bool{
		"kind: Secret\nmetadata: {name: cloud-config, namespace: kube-system}": true,
		"kind: Secret\nmetadata: {name: own}":                                  true,
		"kind: ConfigMap\nmetadata: {name: openstack-cloud, namespace: shop}":  true,
		"kind: Service\nmetadata: {name: kube-dns, namespace: kube-system}":    true,
		"kind: Namespace\nmetadata: {name: kube-system}":                       true,
		"kind: Namespace\nmetadata: {name: default}":                           true,
		"kind: Namespace\nmetadata: {name: shop}":                              false,
		"kind: Service\nmetadata: {name: web}":                                 false,
	} {
		if err := ofReader(document); (err != nil) != refused {
			t.Errorf("%s: %v", document, err)
		}
	}
}

const head = `# Examples

Written by ` + "`make generate`" + ` from the files in this directory, and from the objects of a simulated cloud after they are applied:
a test applies each of them, and fails if one is refused, if a part of it is ignored, or if
the result differs from the one below. The cluster has two nodes, 10.0.0.11 and 10.0.0.12. Apply one with

    kubectl apply -f docs/examples/internal.yaml

IDs, addresses and names are those of your cloud: ` + "`5d0b8a0e-…`" + ` is the subnet of the nodes, ` + "`0a7c7f5c-…`" + ` the network of
floating IPs ([getting-started.md](../getting-started.md#write-cloudconf)). If an example needs keys of cloud.conf, they are in a
file beside it, and shown before the objects: add them to your own cloud.conf, which is in the Secret
` + "`kube-system/cloud-config`" + ` or, with the chart, the value ` + "`cloudConfig`" + ` ([chart.md](../chart.md)).
All settings of a Service are in [services.md](../services.md) and [annotations.md](../annotations.md).

| example | file |
|---|---|
`

// reference is how the comments name pages.
var reference = regexp.MustCompile(`\bdocs/([a-z-]+\.md)(#[a-z0-9-]+)?`)

func page(all []*example) string {
	var text strings.Builder
	text.WriteString(head)
	for _, e := range all {
		fmt.Fprintf(&text, "| [%s](#%s) | [%s](%s) |\n", e.title, anchor(e.title), e.file, e.file)
	}
	for _, e := range all {
		fmt.Fprintf(&text, "\n## %s\n\n%s\n\n", e.title, reference.ReplaceAllString(e.text, "[$1](../$1$2)"))
		if e.conf != "" {
			fmt.Fprintf(&text, "In cloud.conf ([%[1]s](%[1]s)):\n\n```ini\n%[2]s```\n\n", filepath.Base(e.confFile(directory)), e.conf)
		}
		fmt.Fprintf(&text, "```yaml\n%s```\n\nThe result:\n\n```\n%s```\n", e.yaml, e.result)
	}
	return text.String()
}

// anchor is that of a heading.
func anchor(title string) string {
	return regexp.MustCompile(`[^a-z0-9-]`).ReplaceAllString(strings.ReplaceAll(strings.ToLower(title), " ", "-"), "")
}
