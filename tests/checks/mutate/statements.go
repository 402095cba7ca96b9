package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// statements adds the mutants of whole statements.
func (f *finder) statements(list []ast.Stmt) {
	for _, statement := range list {
		switch s := statement.(type) {
		case *ast.ExprStmt:
			if !f.unnoticed(s.X) {
				f.drop(s)
			}
		case *ast.DeferStmt, *ast.GoStmt:
			f.drop(s)
		case *ast.IncDecStmt:
			to, _ := arithmetic(s.Tok)
			f.instead(s, "arithmetic", f.text(s.X)+to.String(), func(text func(int, int) string) string {
				return f.part(text, s.X) + to.String()
			})
		case *ast.AssignStmt:
			f.assignment(s)
		case *ast.ReturnStmt:
			f.returned(s)
		}
	}
}

// drop adds a mutant without a statement.
func (f *finder) drop(s ast.Stmt) {
	f.add(s, "drop", f.text(s), "", func(on string, _ func(int, int) string, whole string) string {
		return "if !" + on + " { " + whole + " }"
	})
}

// instead adds a mutant with one statement in the place of another.
func (f *finder) instead(s ast.Stmt, operator, to string, other func(text func(int, int) string) string) {
	f.add(s, operator, f.text(s), to, func(on string, text func(int, int) string, whole string) string {
		return fmt.Sprintf("if %s { %s } else { %s }", on, other(text), whole)
	})
}

func (f *finder) assignment(s *ast.AssignStmt) {
	if to, ok := arithmetic(s.Tok); ok && f.numeric(s.Lhs[0]) {
		f.instead(s, "arithmetic", f.text(s.Lhs[0])+" "+to.String()+" "+f.text(s.Rhs[0]), func(text func(int, int) string) string {
			return f.part(text, s.Lhs[0]) + " " + to.String() + " " + f.part(text, s.Rhs[0])
		})
		return
	}
	if s.Tok == token.DEFINE || !f.assigns(s) {
		return
	}
	f.drop(s)
}

// assigns reports whether an assignment is one that a test should notice.
func (f *finder) assigns(s *ast.AssignStmt) bool {
	if slices.ContainsFunc(s.Rhs, f.unnoticed) {
		return false
	}
	return slices.ContainsFunc(s.Lhs, func(variable ast.Expr) bool {
		name, ok := variable.(*ast.Ident)
		return !ok || name.Name != "_"
	})
}

// returned adds the mutants of returned values: another truth value, no error.
func (f *finder) returned(s *ast.ReturnStmt) {
	if len(s.Results) == 0 {
		return
	}
	for _, result := range s.Results {
		f.negate(result)
	}
	last := s.Results[len(s.Results)-1]
	if !f.isError(last) {
		return
	}
	start, end := f.offset(s.Pos()), f.offset(last.Pos())
	before := string(f.file.text[start:end])
	f.add(s, "swallow", f.text(s), before+"nil", func(on string, text func(int, int) string, whole string) string {
		if len(s.Results) == 1 {
			return fmt.Sprintf("{ if %s { _ = %s; return nil }; %s }", on, f.part(text, last), whole)
		}
		return fmt.Sprintf("{ if %s { %snil }; %s }", on, text(start, end), whole)
	})
}

// isError reports whether an expression is an error, and not nil.
func (f *finder) isError(e ast.Expr) bool {
	t := f.pkg.info.TypeOf(e)
	if _, several := t.(*types.Tuple); t == nil || several || f.pkg.info.Types[e].IsNil() {
		return false
	}
	wanted, ok := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return ok && types.Implements(t, wanted) && types.IsInterface(t)
}

// breaks adds a mutant for every continue of a loop's own.
func (f *finder) breaks(loop *ast.BlockStmt) {
	ast.Inspect(loop, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.FuncLit:
			return false
		case *ast.BranchStmt:
			if n.Tok == token.CONTINUE && n.Label == nil {
				f.instead(n, "continue", "break", func(func(int, int) string) string { return "break" })
			}
		}
		return true
	})
}
