// Package examples applies each file of docs/examples to a simulated cloud, and writes what
// its Services then have into the page that shows the file.
package examples_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/golden"
)

const directory = "../../docs/examples"

// example is a file of docs/examples: what its comment says, and its objects.
type example struct {
	file, title, text, yaml string
	// result is what the cloud has in the end.
	result string
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
	return e, nil
}

// The page has each example, and what it is good for in a cloud: one that is refused, or of
// which something is ignored, fails.
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

const head = `# Examples

Written by ` + "`make generate`" + ` from the files in this directory, and from what a simulated cloud has when they are applied:
a test does that with each of them, and fails where one is refused, where something in it is ignored, or where
the result differs from the one below. The cluster has two nodes, 10.0.0.11 and 10.0.0.12. Apply one with

    kubectl apply -f docs/examples/internal.yaml

IDs, addresses and names are those of your cloud: ` + "`5d0b8a0e-…`" + ` is the subnet of the nodes, ` + "`0a7c7f5c-…`" + ` the network of
floating IPs ([getting-started.md](../getting-started.md#2-write-cloudconf)). What an example says on cloud.conf is a Secret
as [getting-started.md](../getting-started.md) makes it; with the chart it is the value ` + "`cloudConfig`" + ` ([chart.md](../chart.md)).
All that a Service can ask for is in [services.md](../services.md) and [annotations.md](../annotations.md).

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
		fmt.Fprintf(&text, "\n## %s\n\n%s\n\n```yaml\n%s```\n\nThe result:\n\n```\n%s```\n",
			e.title, reference.ReplaceAllString(e.text, "[$1](../$1$2)"), e.yaml, e.result)
	}
	return text.String()
}

// anchor is that of a heading.
func anchor(title string) string {
	return regexp.MustCompile(`[^a-z0-9-]`).ReplaceAllString(strings.ReplaceAll(strings.ToLower(title), " ", "-"), "")
}
