package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// Block is a block of YAML in a page of docs/recipes.
type Block struct {
	// Page is the name of its file, Text one document of it.
	Page, Text string
	// Kind is that of the object, or empty.
	Kind string
	// Values are those of the chart that it has, or empty.
	Values string
}

var fenced = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// ofCluster returns a template as the addon provider fills it in for a cluster.
func ofCluster(template string) string {
	return strings.ReplaceAll(template, "{{ .Cluster.metadata.name }}", "prod")
}

// Recipes returns the blocks of the pages in the directory.
func Recipes(directory string) ([]Block, error) {
	pages, err := filepath.Glob(filepath.Join(directory, "*.md"))
	if err != nil {
		return nil, err
	}
	var all []Block
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		for _, found := range fenced.FindAllStringSubmatch(string(content), -1) {
			for _, document := range strings.Split(found[1], "\n---\n") {
				block, err := blockOf(filepath.Base(page), document, strings.HasPrefix(found[1], "# values.yaml\n"))
				if err != nil {
					return nil, err
				}
				all = append(all, block)
			}
		}
	}
	return all, nil
}

func blockOf(page, text string, values bool) (Block, error) {
	block := Block{Page: page, Text: text}
	var object struct {
		Kind string
		Spec struct{ ValuesContent, ValuesTemplate string }
	}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		return block, fmt.Errorf("%s: %w:\n%s", page, err, text)
	}
	block.Kind, block.Values = object.Kind, object.Spec.ValuesContent+ofCluster(object.Spec.ValuesTemplate)
	if values {
		block.Values = text
	}
	return block, nil
}
