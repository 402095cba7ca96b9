// Package features generates docs/internals/features.md: the features that users of a cloud
// controller manager for OpenStack look for, and the tests that prove them. A test names the rows
// that it proves in a directive in its comment:
//
//	//proves:42,43
//
// The page shows the results of these tests in a run. Breaks, which are changes of the source that
// remove a feature, prove that the tests fail without the feature.
package features

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Row is one feature.
type Row struct {
	N       int
	Feature string
	// Partly names the missing parts if tests prove only some of the feature.
	Partly string
}

// Proof is a test that proves a row.
type Proof struct {
	Row int
	Test
}

const directive = "//proves:"

// Proofs returns the tests below root that have a directive, ordered by row, folder and name. A
// directive that holds anything but numbers is an error.
func Proofs(root string) ([]Proof, error) {
	var proofs []Proof
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		found, err := inFile(root, path)
		proofs = append(proofs, found...)
		return err
	})
	slices.SortFunc(proofs, func(a, b Proof) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), compareTests(a.Test, b.Test))
	})
	return proofs, err
}

func compareTests(a, b Test) int {
	return cmp.Or(cmp.Compare(a.Folder, b.Folder), cmp.Compare(a.Name, b.Name))
}

func inFile(root, path string) ([]Proof, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var proofs []Proof
	for _, declared := range file.Decls {
		test, ok := declared.(*ast.FuncDecl)
		if !ok || test.Doc == nil || !strings.HasPrefix(test.Name.Name, "Test") {
			continue
		}
		for _, comment := range test.Doc.List {
			numbers, ok := strings.CutPrefix(comment.Text, directive)
			if !ok {
				continue
			}
			for number := range strings.SplitSeq(numbers, ",") {
				n, err := strconv.Atoi(strings.TrimSpace(number))
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %q is no number", path, test.Name.Name, number)
				}
				proofs = append(proofs, Proof{n, Test{filepath.ToSlash(folder), test.Name.Name}})
			}
		}
	}
	return proofs, nil
}
