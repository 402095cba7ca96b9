package layers

import (
	"go/ast"
	"go/token"
	"slices"
)

// Waits returns the functions below some directories that may block, each as "file: function", in
// order. A function may block that receives from a channel or sends to one, other than in a select
// with a default case, or calls a method Wait, or the method Acquire of a semaphore, or time.Sleep.
// Functions that wait with async.Await are none of them: they return to the queue. Tests are left out. The
// error is that of a file that cannot be read.
func Waits(root string, below ...string) ([]string, error) {
	var found []string
	err := eachFile(root, below, func(name string, file *ast.File) {
		for _, function := range waitsIn(file) {
			found = append(found, name+": "+function)
		}
	})
	slices.Sort(found)
	return found, err
}

// waitsIn returns the functions of a file that may block. A function literal belongs to the function
// that it is in.
func waitsIn(file *ast.File) []string {
	var found []string
	for _, declaration := range file.Decls {
		name := "a variable"
		if function, ok := declaration.(*ast.FuncDecl); ok {
			name = nameOf(function)
		}
		if look := (&waits{}); look.at(declaration) {
			found = append(found, name)
		}
	}
	return found
}

// nameOf returns the name of a function, with its receiver's type.
func nameOf(function *ast.FuncDecl) string {
	if of := receiver(function); of != "" {
		return of + "." + function.Name.Name
	}
	return function.Name.Name
}

// receiver returns the type of a method, "" for a function.
func receiver(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	of := function.Recv.List[0].Type
	for {
		switch inner := of.(type) {
		case *ast.StarExpr:
			of = inner.X
		case *ast.IndexExpr:
			of = inner.X
		case *ast.IndexListExpr:
			of = inner.X
		case *ast.Ident:
			return inner.Name
		default:
			return ""
		}
	}
}

// waits looks for what blocks.
type waits struct{ blocks bool }

// at reports whether a node blocks.
func (w *waits) at(node ast.Node) bool {
	ast.Inspect(node, w.visit)
	return w.blocks
}

func (w *waits) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.SelectStmt:
		if !slices.ContainsFunc(n.Body.List, func(s ast.Stmt) bool { return s.(*ast.CommClause).Comm == nil }) {
			w.blocks = true
			return true
		}
		for _, clause := range n.Body.List { // which does not block, but what follows it may
			for _, statement := range clause.(*ast.CommClause).Body {
				ast.Inspect(statement, w.visit)
			}
		}
		return false
	case *ast.UnaryExpr:
		w.blocks = w.blocks || n.Op == token.ARROW
	case *ast.SendStmt:
		w.blocks = true
	case *ast.CallExpr:
		w.call(n)
	}
	return true
}

func (w *waits) call(call *ast.CallExpr) {
	const ofSemaphore = 2 // the method of async.Guard, which does not block, has three arguments
	called, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	from, _ := called.X.(*ast.Ident)
	switch called.Sel.Name {
	case "Wait":
		w.blocks = true
	case "Acquire":
		w.blocks = w.blocks || len(call.Args) == ofSemaphore
	case "Sleep":
		w.blocks = w.blocks || from != nil && from.Name == "time"
	}
}
