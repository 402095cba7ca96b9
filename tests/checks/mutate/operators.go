package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// finder goes through a file, and collects the mutants of its functions.
type finder struct {
	pkg      *pkg
	file     *file
	function string
	found    []*mutant
	negated  map[ast.Expr]bool
}

// mutants returns all mutants of the package:
//
//	negate      a comparison or condition is true when it was false
//	boundary    < and > include the boundary, <= and >= do not
//	logic       && becomes ||, and the reverse
//	arithmetic  + becomes -, * becomes /, and the reverse; % becomes *
//	drop        an assignment, call or defer is left out
//	continue    break takes the place of continue
//	swallow     nil is returned instead of an error
//
// Code that no test should depend on is not changed: log messages, capacities, constants.
func (p *pkg) mutants() []*mutant {
	var all []*mutant
	for _, file := range p.files {
		f := &finder{pkg: p, file: file, negated: map[ast.Expr]bool{}}
		for _, declared := range file.syntax.Decls {
			switch d := declared.(type) {
			case *ast.FuncDecl:
				f.function = d.Name.Name
				if d.Body != nil {
					ast.Inspect(d.Body, f.visit)
				}
			case *ast.GenDecl:
				if f.function = "var"; d.Tok == token.VAR {
					ast.Inspect(d, f.visit)
				}
			}
		}
		all = append(all, f.found...)
	}
	count(all)
	return all
}

func (f *finder) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.CallExpr:
		return f.visitCall(n)
	case *ast.ArrayType, *ast.StructType, *ast.FuncType, *ast.InterfaceType:
		return false
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		f.negate(n.Cond)
		if n.Cond != nil {
			f.breaks(n.Body)
		}
	case *ast.RangeStmt:
		f.breaks(n.Body)
	case *ast.SwitchStmt:
		f.visitSwitch(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.negate(n)
		}
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	}
	return true
}

// visitCall goes into the arguments of a call, but for log lines and capacities.
func (f *finder) visitCall(call *ast.CallExpr) bool {
	if f.unnoticed(call) {
		return false
	}
	callee, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok || callee.Name != "make" {
		return true
	}
	if _, list := f.pkg.info.TypeOf(call.Args[0]).Underlying().(*types.Slice); list && len(call.Args) == 2 {
		ast.Inspect(call.Args[1], f.visit)
	}
	return false
}

// unnoticed reports whether a call is one that no test should notice: it writes or prepares
// a log line, or makes room.
func (f *finder) unnoticed(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	selected, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	callee := f.pkg.info.Uses[selected.Sel]
	return selected.Sel.Name == "Grow" || callee != nil && callee.Pkg() != nil &&
		slices.Contains([]string{"k8s.io/klog/v2", "github.com/go-logr/logr"}, callee.Pkg().Path())
}

func (f *finder) visitSwitch(n *ast.SwitchStmt) {
	if n.Tag != nil {
		return
	}
	for _, clause := range n.Body.List {
		if c, ok := clause.(*ast.CaseClause); ok {
			for _, condition := range c.List {
				f.negate(condition)
			}
		}
	}
}

// negate adds the negation of a condition, unless that is more than one comparison: then
// the walk adds those of its parts.
func (f *finder) negate(condition ast.Expr) {
	condition = ast.Unparen(condition)
	if condition == nil || f.negated[condition] || !f.is(condition, types.Typ[types.Bool]) {
		return
	}
	switch c := condition.(type) {
	case *ast.BinaryExpr:
		if c.Op == token.LAND || c.Op == token.LOR {
			return
		}
	case *ast.UnaryExpr:
		f.negated[ast.Unparen(c.X)] = true
	case *ast.CallExpr:
		if f.unnoticed(c) {
			return
		}
	}
	f.negated[condition] = true
	from := f.text(condition)
	f.add(condition, "negate", from, "!("+from+")", func(on string, _ func(int, int) string, whole string) string {
		return "(" + on + " != (" + whole + "))"
	})
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if f.pkg.info.Types[n].Value != nil {
		return
	}
	switch n.Op {
	case token.EQL, token.NEQ:
		f.negate(n)
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		f.negate(n)
		boundary := map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
		f.replace(n, "boundary", boundary[n.Op])
	case token.LAND, token.LOR:
		f.negate(n.X)
		f.negate(n.Y)
		f.replace(n, "logic", map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND}[n.Op])
	default:
		if to, ok := arithmetic(n.Op); ok && f.numeric(n) {
			f.replaceArithmetic(n, to)
		}
	}
}

func arithmetic(op token.Token) (token.Token, bool) {
	to, ok := map[token.Token]token.Token{token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.INC: token.DEC, token.DEC: token.INC}[op]
	return to, ok
}

// replace adds a mutant with another operator between two conditions or in a comparison.
func (f *finder) replace(n *ast.BinaryExpr, operator string, to token.Token) {
	if !f.is(n, types.Typ[types.Bool]) {
		return
	}
	f.add(n, operator, f.text(n), f.text(n.X)+" "+to.String()+" "+f.text(n.Y), func(on string, text func(int, int) string, whole string) string {
		return fmt.Sprintf("(%s && ((%s) %s (%s)) || !%s && (%s))", on, f.part(text, n.X), to, f.part(text, n.Y), on, whole)
	})
}

func (f *finder) replaceArithmetic(n *ast.BinaryExpr, to token.Token) {
	name, ok := f.typeName(f.pkg.info.TypeOf(n))
	if !ok {
		return
	}
	f.add(n, "arithmetic", f.text(n), f.text(n.X)+" "+to.String()+" "+f.text(n.Y), func(on string, text func(int, int) string, whole string) string {
		return fmt.Sprintf("func() %s { if %s { return (%s) %s (%s) }; return %s }()", name, on, f.part(text, n.X), to, f.part(text, n.Y), whole)
	})
}

// typeName returns how the file calls a type, if it can.
func (f *finder) typeName(t types.Type) (string, bool) {
	ok := true
	name := types.TypeString(t, func(other *types.Package) string {
		if other.Path() == f.pkg.path {
			return ""
		}
		for _, imported := range f.file.syntax.Imports {
			if strings.Trim(imported.Path.Value, `"`) == other.Path() && imported.Name == nil {
				return other.Name()
			}
		}
		ok = false
		return other.Name()
	})
	basic, isBasic := t.(*types.Basic)
	return name, ok && (!isBasic || basic.Info()&types.IsUntyped == 0)
}

func (f *finder) numeric(e ast.Expr) bool {
	basic, ok := f.pkg.info.TypeOf(e).Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsNumeric != 0
}

func (f *finder) is(e ast.Expr, wanted types.Type) bool {
	t := f.pkg.info.TypeOf(e)
	return t != nil && types.Identical(types.Default(t), wanted)
}

// offset returns where a place is in the file.
func (f *finder) offset(p token.Pos) int { return f.pkg.checker.files.Position(p).Offset }

func (f *finder) text(n ast.Node) string {
	return string(f.file.text[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *finder) part(text func(int, int) string, n ast.Node) string {
	return text(f.offset(n.Pos()), f.offset(n.End()))
}

func (f *finder) add(n ast.Node, operator, from, to string, render func(string, func(int, int) string, string) string) {
	f.found = append(f.found, &mutant{
		pkg: f.pkg, file: f.file, line: f.pkg.checker.files.Position(n.Pos()).Line, function: f.function,
		operator: operator, from: short(from), to: short(to),
		start: f.offset(n.Pos()), end: f.offset(n.End()), render: render,
	})
}
