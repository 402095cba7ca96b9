package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// eachFile calls a function with each Go file below some directories, tests aside. The name of a file is from
// the root. The error is that of a file that cannot be read.
func eachFile(root string, below []string, visit func(name string, file *ast.File)) error {
	for _, directory := range below {
		err := filepath.WalkDir(filepath.Join(root, directory), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err == nil {
				visit(filepath.ToSlash(name), file)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
