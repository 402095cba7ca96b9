// Package layers checks the borders between packages. borders.txt lists once which packages
// each package may import. This package compares it with the imports in the code, and writes
// the table of packages in docs/internals/design.md from it.
package layers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
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

// Border is what one package may import of ours. Names are paths below pkg, or below
// pkg/loadbalancer, as in borders.txt.
type Border struct {
	// District is the heading that the package is under, with its description.
	District Heading
	Package  string
	Imports  []string
}

// Heading is a line "[NAME] DESCRIPTION".
type Heading struct{ Name, Description string }

func readHeading(line string) (Heading, bool) {
	name, description, ok := strings.Cut(strings.TrimPrefix(line, "["), "] ")
	return Heading{name, description}, ok && strings.HasPrefix(line, "[")
}

// ReadBorders parses the text of borders.txt. Its errors name the line.
func ReadBorders(text string) ([]Border, error) {
	var borders []Border
	var district Heading
	for number, line := range strings.Split(text, "\n") {
		name, imports, isPackage := strings.Cut(line, ":")
		heading, isHeading := readHeading(line)
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case isHeading:
			district = heading
		case strings.HasPrefix(line, " ") && len(borders) > 0:
			last := &borders[len(borders)-1]
			last.Imports = append(last.Imports, strings.Fields(line)...)
		case isPackage && district != Heading{}:
			borders = append(borders, Border{District: district, Package: name, Imports: strings.Fields(imports)})
		default:
			return nil, fmt.Errorf("line %d is no heading, no package below a heading, and no continuation: %s", number+1, line)
		}
	}
	return borders, nil
}

// short returns the name of a package in borders.txt.
func short(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, "pkg/"), "loadbalancer/")
}

// Check returns all differences between the packages and their borders: imports that are not
// allowed, packages without a border, and borders or allowed imports without a use. A package
// may only import packages that are further down.
func Check(packages []Package, borders []Border) error {
	var errs []error
	position, byName := map[string]int{}, map[string]Package{}
	for _, p := range packages {
		if twin, ok := byName[short(p.Path)]; ok {
			errs = append(errs, fmt.Errorf("%s and %s have the same name in borders.txt", twin.Path, p.Path))
		}
		byName[short(p.Path)] = p
	}
	for i, b := range borders {
		if _, twice := position[b.Package]; twice {
			errs = append(errs, fmt.Errorf("borders.txt has %s twice", b.Package))
		}
		position[b.Package] = i
		p, ok := byName[b.Package]
		if !ok {
			errs = append(errs, fmt.Errorf("borders.txt has %s, which does not exist", b.Package))
			continue
		}
		errs = append(errs, compare(b, p)...)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if _, ok := position[name]; !ok {
			errs = append(errs, fmt.Errorf("%s is missing in borders.txt", name))
		}
	}
	for i, b := range borders {
		for _, imported := range b.Imports {
			if at, ok := position[imported]; ok && at <= i {
				errs = append(errs, fmt.Errorf("%s imports %s, which is above it in borders.txt", b.Package, imported))
			}
		}
	}
	return errors.Join(errs...)
}

// compare returns the differences between a border and the imports of its package.
func compare(b Border, p Package) []error {
	var errs []error
	imports := map[string]bool{}
	for _, path := range p.Imports {
		imports[short(path)] = true
		if !slices.Contains(b.Imports, short(path)) {
			errs = append(errs, fmt.Errorf("%s imports %s, which borders.txt does not allow", b.Package, short(path)))
		}
	}
	for _, allowed := range b.Imports {
		if !imports[allowed] {
			errs = append(errs, fmt.Errorf("%s does not import %s, which borders.txt allows", b.Package, allowed))
		}
	}
	return errs
}

// Table returns the packages by district, in the order of borders.txt, as Markdown.
func Table(packages []Package, borders []Border) string {
	byName := map[string]Package{}
	for _, p := range packages {
		byName[short(p.Path)] = p
	}
	var table strings.Builder
	for i, b := range borders {
		if i == 0 || b.District != borders[i-1].District {
			if i > 0 {
				table.WriteString("\n")
			}
			fmt.Fprintf(&table, "**%s**: %s\n\n| package | what it does |\n|---|---|\n", b.District.Name, b.District.Description)
		}
		p := byName[b.Package]
		fmt.Fprintf(&table, "| `%s` | %s |\n", p.Path, summary(p.Doc))
	}
	return table.String()
}

// summary returns the first sentence of a package's comment without "Package x" and without
// the part after a colon.
func summary(doc string) string {
	doc, _, _ = strings.Cut(strings.TrimSuffix(doc, "."), ": ")
	words := strings.SplitN(doc, " ", 3)
	if len(words) == 3 && (words[0] == "Package" || words[0] == "Command") {
		return words[2]
	}
	return doc
}
