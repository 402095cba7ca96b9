package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testName is TestSubject_Behavior.
var testName = regexp.MustCompile(`^Test[A-Z][A-Za-z0-9]*_[A-Z][A-Za-z0-9]*$`)

// With the subject in front, -run selects the tests of one thing.
func TestNames_OfTestsHaveSubjectAndBehavior(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "out" || strings.HasPrefix(entry.Name(), ".") && path != root):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			for _, name := range testsIn(t, path) {
				if !testName.MatchString(name) {
					t.Errorf("%s: %s has not the form TestSubject_Behavior", path, name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func testsIn(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if ok && function.Recv == nil && strings.HasPrefix(function.Name.Name, "Test") && function.Name.Name != "TestMain" {
			names = append(names, function.Name.Name)
		}
	}
	return names
}
