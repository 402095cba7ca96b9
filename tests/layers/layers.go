// Package layers holds the borders between the packages: which package may import which is
// written once, in the depguard rules of .golangci.yml. It compares them with what the
// packages import, and makes the table in docs/design.md from them.
package layers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const module = "github.com/openstack-ccm/openstack-ccm/"

// Package is one of ours. Paths are from the root of the module.
type Package struct {
	Path string
	// Doc is the first sentence of its comment.
	Doc string
	// Imports are those of ours that it imports, tests aside.
	Imports []string
}

// Rules are the packages that each package may import, by path.
type Rules map[string][]string

// Packages returns the packages that the patterns of go list match.
func Packages(ctx context.Context, root string, patterns ...string) ([]Package, error) {
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-json=ImportPath,Doc,Imports"}, patterns...)...)
	list.Dir = root
	var stderr bytes.Buffer
	list.Stderr = &stderr
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	var packages []Package
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var listed struct {
			ImportPath, Doc string
			Imports         []string
		}
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("read what go list prints: %w", err)
		}
		p := Package{Path: strings.TrimPrefix(listed.ImportPath, module), Doc: listed.Doc}
		for _, imported := range listed.Imports {
			if path, ours := strings.CutPrefix(imported, module); ours {
				p.Imports = append(p.Imports, path)
			}
		}
		packages = append(packages, p)
	}
}

// ReadRules returns the depguard rules of the linter's configuration. A rule is named by
// the path of its package, and denies all packages of ours but those that it allows.
func ReadRules(root string) (Rules, error) {
	text, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	if err != nil {
		return nil, err
	}
	var configuration struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]rule
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &configuration); err != nil {
		return nil, fmt.Errorf("read .golangci.yml: %w", err)
	}
	rules := Rules{}
	for path, r := range configuration.Linters.Settings.Depguard.Rules {
		if rules[path], err = r.allowed(path); err != nil {
			return nil, fmt.Errorf("depguard rule %s: %w", path, err)
		}
	}
	return rules, nil
}

// rule is what a depguard rule must be for ReadRules to understand it.
type rule struct {
	ListMode string `json:"list-mode"`
	Files    []string
	Allow    []string
	Deny     []struct{ Pkg string }
}

func (r rule) allowed(path string) ([]string, error) {
	files := []string{"**/" + path + "/*.go", "!$test"}
	if r.ListMode != "lax" || !slices.Equal(r.Files, files) || len(r.Deny) != 1 || r.Deny[0].Pkg+"/" != module {
		return nil, fmt.Errorf("want list-mode lax, files %q, and to deny %s", files, strings.TrimSuffix(module, "/"))
	}
	allowed := []string{}
	for _, pattern := range r.Allow {
		imported, exact := strings.CutSuffix(pattern, "$")
		imported, ours := strings.CutPrefix(imported, module)
		if !exact || !ours {
			return nil, fmt.Errorf("allow %s: want %s…$", pattern, module)
		}
		allowed = append(allowed, imported)
	}
	return allowed, nil
}

// Check returns what in the packages and the rules does not fit together: imports that no
// rule allows, packages without a rule, and rules or allowed imports that nothing needs.
func Check(packages []Package, rules Rules) error {
	var errs []error
	known := map[string]bool{}
	for _, p := range packages {
		known[p.Path] = true
		allowed, ok := rules[p.Path]
		if !ok {
			errs = append(errs, fmt.Errorf("%s has no depguard rule in .golangci.yml", p.Path))
		}
		for _, imported := range p.Imports {
			if ok && !slices.Contains(allowed, imported) {
				errs = append(errs, fmt.Errorf("%s imports %s, which .golangci.yml does not allow", p.Path, imported))
			}
		}
		for _, imported := range allowed {
			if !slices.Contains(p.Imports, imported) {
				errs = append(errs, fmt.Errorf("%s does not import %s, which .golangci.yml allows", p.Path, imported))
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(rules)) {
		if !known[path] {
			errs = append(errs, fmt.Errorf(".golangci.yml has a depguard rule for %s, which does not exist", path))
		}
	}
	return errors.Join(errs...)
}

// Table returns the packages and what they may import, from the top down: no package
// imports one that is above it.
func Table(packages []Package, rules Rules) string {
	byPath := map[string]Package{}
	for _, p := range packages {
		byPath[p.Path] = p
	}
	heights := map[string]int{}
	paths := slices.SortedFunc(maps.Keys(byPath), func(a, b string) int {
		if byHeight := height(b, rules, heights) - height(a, rules, heights); byHeight != 0 {
			return byHeight
		}
		return strings.Compare(a, b)
	})
	var table strings.Builder
	table.WriteString("| package | what it does | imports below `pkg` (`…` is `loadbalancer`) |\n|---|---|---|\n")
	for _, path := range paths {
		imports := "nothing of ours"
		if allowed := rules[path]; len(allowed) > 0 {
			imports = "`" + strings.Join(short(allowed), "`, `") + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", path, summary(byPath[path].Doc), imports)
	}
	return table.String()
}

// height is how many layers of packages are below one.
func height(path string, rules Rules, known map[string]int) int {
	if h, ok := known[path]; ok {
		return h
	}
	h := 0
	for _, imported := range rules[path] {
		h = max(h, 1+height(imported, rules, known))
	}
	known[path] = h
	return h
}

// short returns the sorted paths without what many have in common.
func short(paths []string) []string {
	var shortened []string
	for _, path := range paths {
		if below, ok := strings.CutPrefix(path, "pkg/loadbalancer/"); ok {
			path = "…/" + below
		}
		shortened = append(shortened, strings.TrimPrefix(path, "pkg/"))
	}
	return slices.Sorted(slices.Values(shortened))
}

// summary is what the first sentence of a package's comment says of it, without the words
// "Package x" and what explains it.
func summary(doc string) string {
	doc, _, _ = strings.Cut(strings.TrimSuffix(doc, "."), ": ")
	words := strings.SplitN(doc, " ", 3)
	if len(words) == 3 && (words[0] == "Package" || words[0] == "Command") {
		return words[2]
	}
	return doc
}
