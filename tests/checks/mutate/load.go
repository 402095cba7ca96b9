package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pkg is a package with code to mutate, and with tests that judge mutants.
type pkg struct {
	path, dir string
	tests     bool
	files     []*file
	info      *types.Info
	checker   *checker
}

// file is a source file: its name, from the root of the module, and its text.
type file struct {
	name, path string
	text       []byte
	syntax     *ast.File
}

// checker finds types. Imported packages come from what the compiler has written of them.
type checker struct {
	files   *token.FileSet
	exports map[string]string
}

// load returns the packages that the patterns of go list match, and finds their types. It
// leaves out those in folders called internal, which only tests import.
func load(ctx context.Context, root string, patterns []string) ([]*pkg, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-export",
		"-json=ImportPath,Export,Dir,DepOnly,GoFiles,TestGoFiles,XTestGoFiles"}, patterns...)...)
	list.Dir, list.Stderr = root, os.Stderr
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	c := &checker{files: token.NewFileSet(), exports: map[string]string{}}
	var packages []*pkg
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var l struct {
			ImportPath, Export, Dir            string
			DepOnly                            bool
			GoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read what go list prints: %w", err)
		}
		c.exports[l.ImportPath] = l.Export
		if l.DepOnly || strings.Contains(l.ImportPath, "/internal/") {
			continue
		}
		p := &pkg{path: l.ImportPath, dir: l.Dir, tests: len(l.TestGoFiles)+len(l.XTestGoFiles) > 0, checker: c}
		if err := p.read(root, l.GoFiles); err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		return nil, errors.New("the patterns match no package")
	}
	for _, p := range packages {
		if p.info, err = c.check(p.path, p.syntax()); err != nil {
			return nil, err
		}
	}
	return packages, nil
}

func (p *pkg) read(root string, names []string) error {
	for _, name := range names {
		path := filepath.Join(p.dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(p.checker.files, path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.files = append(p.files, &file{name: relative, path: path, text: text, syntax: syntax})
	}
	return nil
}

func (p *pkg) syntax() []*ast.File {
	all := make([]*ast.File, len(p.files))
	for i, f := range p.files {
		all[i] = f.syntax
	}
	return all
}

// check returns the types of a package, or the first error of the compiler.
func (c *checker) check(path string, files []*ast.File) (*types.Info, error) {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(c.exports[path])
	})}
	if _, err := config.Check(path, c.files, files, info); err != nil {
		return nil, fmt.Errorf("check %s: %w", path, err)
	}
	return info, nil
}
