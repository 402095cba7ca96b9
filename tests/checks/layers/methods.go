package layers

import (
	"go/ast"
	"path"
)

// Methods counts the methods of each type below some directories, by "package.Type". Those of embedded types
// belong to these.
func Methods(root string, below ...string) (map[string]int, error) {
	count := map[string]int{}
	err := eachFile(root, below, func(name string, file *ast.File) {
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && receiver(function) != "" {
				count[path.Dir(name)+"."+receiver(function)]++
			}
		}
	})
	return count, err
}
