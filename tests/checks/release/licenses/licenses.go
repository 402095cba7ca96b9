// Package licenses collects the license texts and notices of all modules in the controller,
// which Apache-2.0 (section 4), BSD, MIT and ISC require beside a program.
package licenses

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// Program is the package whose modules are collected.
const Program = "./cmd/openstack-cloud-controller-manager"

// Module is a module with its license as an SPDX expression, such as "Apache-2.0", and the
// texts of its license files and notices, by their path in the module.
type Module struct {
	Path, Version, License string
	Texts                  map[string]string
}

// listed is what go list prints of a package.
type listed struct {
	Dir    string
	Module *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path, Version, Dir string }
	}
}

// Of returns the modules that the program is made of on the platforms ("linux/amd64"), in the
// order of their paths, and the standard library as "stdlib". It fails where a module has no
// license text, or one that is not known.
func Of(ctx context.Context, root string, platforms []string) ([]Module, error) {
	found := map[string]*Module{}
	for _, platform := range platforms {
		packages, err := list(ctx, root, platform)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			if err := add(found, p); err != nil {
				return nil, err
			}
		}
	}
	library, err := standardLibrary(ctx, root)
	if err != nil {
		return nil, err
	}
	all := []Module{library}
	for _, m := range found {
		all = append(all, *m)
	}
	for i := range all {
		if all[i].License, err = license(all[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Module) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

func list(ctx context.Context, root, platform string) ([]listed, error) {
	system, architecture, _ := strings.Cut(platform, "/")
	command := exec.CommandContext(ctx, "go", "list", "-deps", "-tags=grpcnotrace", "-json=Dir,Module", Program)
	command.Dir, command.Stderr = root, os.Stderr
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+system, "GOARCH="+architecture)
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the output of go list: %w", err)
		}
		all = append(all, p)
	}
}

// add collects the texts of a package: those of its folder and of all above it in its module,
// as a module may contain code of others with a license of its own.
func add(found map[string]*Module, p listed) error {
	if p.Module == nil || p.Module.Main {
		return nil
	}
	path, version, root := p.Module.Path, p.Module.Version, p.Module.Dir
	if r := p.Module.Replace; r != nil {
		path, version, root = r.Path, r.Version, r.Dir
	}
	m := found[path]
	if m == nil {
		m = &Module{Path: path, Version: version, Texts: map[string]string{}}
		found[path] = m
	}
	for folder := p.Dir; ; folder = filepath.Dir(folder) {
		if err := m.read(root, folder); err != nil {
			return err
		}
		if folder == root || len(folder) <= len(root) {
			return nil
		}
	}
}

// named are the names of files with a license or a notice.
var named = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-]|$)`)

func (m *Module) read(root, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() || !named.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		m.Texts[filepath.ToSlash(name)] = string(text)
	}
	return nil
}

func standardLibrary(ctx context.Context, root string) (Module, error) {
	command := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION")
	command.Dir = root
	output, err := command.Output()
	if err != nil {
		return Module{}, fmt.Errorf("go env: %w", err)
	}
	fields := strings.Fields(string(output))
	if len(fields) != 2 {
		return Module{}, fmt.Errorf("go env prints %q: want GOROOT and GOVERSION", output)
	}
	m := Module{Path: "stdlib", Version: strings.TrimPrefix(fields[1], "go"), Texts: map[string]string{}}
	return m, m.read(fields[0], fields[0])
}

// leastCoverage is the percentage of a license file that has to be the text of known licenses.
const leastCoverage = 75

// license returns the licenses that the texts of the module's root contain.
func license(m Module) (string, error) {
	var ids []string
	for name, text := range m.Texts {
		lower := strings.ToLower(name)
		if strings.Contains(name, "/") || strings.HasPrefix(lower, "notice") || strings.HasPrefix(lower, "patents") {
			continue
		}
		coverage := licensecheck.Scan([]byte(text))
		if coverage.Percent < leastCoverage {
			return "", fmt.Errorf("module %s %s: %s is no text of a known license", m.Path, m.Version, name)
		}
		for _, match := range coverage.Match {
			ids = append(ids, match.ID)
		}
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("module %s %s has no license", m.Path, m.Version)
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " AND "), nil
}

// Text returns all texts of the modules, each with the modules that it is of.
func Text(modules []Module) string {
	owners := map[string][]string{}
	var texts []string
	for _, m := range modules {
		for _, name := range sortedNames(m.Texts) {
			text := m.Texts[name]
			if owners[text] == nil {
				texts = append(texts, text)
			}
			owners[text] = append(owners[text], fmt.Sprintf("%s %s: %s (%s)", m.Path, m.Version, name, m.License))
		}
	}
	var out strings.Builder
	out.WriteString("Licenses and notices of the modules in openstack-cloud-controller-manager.\n")
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 78), strings.Join(owners[text], "\n"), strings.TrimSpace(text))
	}
	return out.String()
}

func sortedNames(texts map[string]string) []string {
	var names []string
	for name := range texts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
