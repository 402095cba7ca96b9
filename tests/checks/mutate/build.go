package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// switches is a file that is added to every mutated package. mutantOn reports whether a mutant
// is on, and writes the numbers of those that are asked for into the file MUTANT_REACHED.
const switches = `package %s

import (
	"os"
	"strconv"
	"sync"
)

var mutantNumber, _ = strconv.Atoi(os.Getenv("MUTANT"))

var mutantReached sync.Map

func mutantOn(number int) bool {
	if name := os.Getenv("MUTANT_REACHED"); mutantNumber == 0 && name != "" {
		if _, again := mutantReached.LoadOrStore(number, true); !again {
			if file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
				_, _ = file.WriteString(strconv.Itoa(number) + "\n")
				_ = file.Close()
			}
		}
	}
	return mutantNumber == number
}
`

// build compiles the tests of all packages with all mutants, into files called like the
// package's folder. It returns the mutants that compile and those that do not.
func build(ctx context.Context, root, temp string, packages []*pkg, mutants []*mutant) (good, bad []*mutant, err error) {
	replaced := map[string]string{}
	overlay := func(path, text string) error {
		file := filepath.Join(temp, fmt.Sprintf("%d.go", len(replaced)))
		replaced[path] = file
		return os.WriteFile(file, []byte(text), 0o600)
	}
	var paths []string
	for _, p := range packages {
		own, others := p.split(slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.pkg != p }))
		good, bad = append(good, own...), append(bad, others...)
		if err := overlay(filepath.Join(p.dir, "mutant_on.go"), fmt.Sprintf(switches, p.files[0].syntax.Name.Name)); err != nil {
			return nil, nil, err
		}
		for _, f := range p.files {
			if err := overlay(f.path, f.mutated(own)); err != nil {
				return nil, nil, err
			}
		}
		if p.tests {
			paths = append(paths, p.path)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, nil, err
	}
	compile := exec.CommandContext(ctx, "go", append([]string{"test", "-c", "-vet=off", "-overlay", file, "-o", temp + "/"}, paths...)...)
	compile.Dir, compile.Stdout, compile.Stderr = root, os.Stderr, os.Stderr
	if err := compile.Run(); err != nil {
		return nil, nil, fmt.Errorf("compile the tests: %w", err)
	}
	return good, bad, nil
}

// split returns the mutants of the package that compile, and the others.
func (p *pkg) split(mutants []*mutant) (good, bad []*mutant) {
	if p.compiles(mutants) {
		return mutants, nil
	}
	for _, m := range mutants {
		if p.compiles(append(slices.Clone(good), m)) {
			good = append(good, m)
		} else {
			bad = append(bad, m)
		}
	}
	return good, bad
}

func (p *pkg) compiles(mutants []*mutant) bool {
	var files []*ast.File
	texts := []string{"package " + p.files[0].syntax.Name.Name + "\nfunc mutantOn(int) bool { return false }"}
	for _, f := range p.files {
		texts = append(texts, f.mutated(mutants))
	}
	for i, text := range texts {
		syntax, err := parser.ParseFile(p.checker.files, fmt.Sprint(i), text, parser.SkipObjectResolution)
		if err != nil {
			return false
		}
		files = append(files, syntax)
	}
	_, err := p.checker.check(p.path, files)
	return err == nil
}

// mutated returns the text of the file with branches for those of the mutants that are in
// it.
func (f *file) mutated(mutants []*mutant) string {
	own := slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.file != f })
	slices.SortStableFunc(own, func(a, b *mutant) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	return f.part(0, len(f.text), own)
}

// part returns a part of the file, with branches for the mutants in it: outer ones first.
func (f *file) part(start, end int, mutants []*mutant) string {
	var out strings.Builder
	for len(mutants) > 0 {
		m := mutants[0]
		mutants = mutants[1:]
		if m.start < start || m.end > end {
			continue
		}
		var inner []*mutant
		for len(mutants) > 0 && mutants[0].start < m.end {
			inner = append(inner, mutants[0])
			mutants = mutants[1:]
		}
		out.Write(f.text[start:m.start])
		out.WriteString(m.render(fmt.Sprintf("mutantOn(%d)", m.number),
			func(start, end int) string { return f.part(start, end, inner) }, f.part(m.start, m.end, inner)))
		start = m.end
	}
	out.Write(f.text[start:end])
	return out.String()
}
