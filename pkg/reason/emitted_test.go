package reason_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// sources parses the code of the controller, by path below the root of the repository.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	const root = "../.."
	files := map[string]*ast.File{}
	for _, folder := range []string{"pkg", "cmd/openstack-cloud-controller-manager"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			files[strings.TrimPrefix(filepath.ToSlash(path), root+"/")] = file
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// declared returns the constants of type Reason, by name.
func declared(files map[string]*ast.File) map[string]reason.Reason {
	all := map[string]reason.Reason{}
	for _, declaration := range files["pkg/reason/reason.go"].Decls {
		group, _ := declaration.(*ast.GenDecl)
		if group == nil || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value, _ := spec.(*ast.ValueSpec)
			if kind, ok := value.Type.(*ast.Ident); ok && kind.Name == "Reason" {
				text, _ := value.Values[0].(*ast.BasicLit)
				all[value.Names[0].Name] = reason.Reason(strings.Trim(text.Value, `"`))
			}
		}
	}
	return all
}

// TestTable_HasEveryReasonThatIsEmittedAndNoOther reads the code: only this package emits events,
// so that each has a reason of the list; and each of the list is named outside of it.
//
//proves:101
func TestTable_HasEveryReasonThatIsEmittedAndNoOther(t *testing.T) {
	t.Parallel()
	files := sources(t)
	passOn := []string{"pkg/reason/reason.go", "pkg/loadbalancer/message/recorder.go", "pkg/loadbalancer/rehearsal.go"}
	used := map[string]bool{}
	for path, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if of, ok := selector.X.(*ast.Ident); ok && of.Name == "reason" {
				used[selector.Sel.Name] = true
			}
			return true
		})
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			to, ok := call.Fun.(*ast.SelectorExpr)
			if ok && len(call.Args) >= 4 && regexp.MustCompile(`^(Annotated)?Eventf?$`).MatchString(to.Sel.Name) && !slices.Contains(passOn, path) {
				t.Errorf("%s emits an event, and not by Reason.Emit", path)
			}
			return true
		})
	}
	var table, inTable []string
	for name, r := range declared(files) {
		table = append(table, string(r))
		if !used[name] {
			t.Errorf("nothing has the reason %s (reason.%s)", r, name)
		}
	}
	for _, entry := range reason.Table() {
		inTable = append(inTable, string(entry.Reason))
	}
	slices.Sort(table)
	slices.Sort(inTable)
	if diff := cmp.Diff(table, inTable); diff != "" {
		t.Errorf("reasons that are declared, and the list (-declared +list):\n%s", diff)
	}
}

func TestTable_SaysOfEachReasonWhatItIs(t *testing.T) {
	t.Parallel()
	states := map[reason.State]int{}
	for _, entry := range reason.Table() {
		if entry.When == "" || entry.Do == "" || entry.On == "" || entry.Type == "" && len(entry.States) == 0 {
			t.Errorf("%+v lacks something", entry)
		}
		if entry.Type != "" && entry.Type != v1.EventTypeNormal && entry.Type != v1.EventTypeWarning {
			t.Errorf("%s: events of type %s", entry.Reason, entry.Type)
		}
		if !regexp.MustCompile(`^[A-Z][A-Za-z]{1,127}$`).MatchString(string(entry.Reason)) {
			t.Errorf("%s is no reason of an event", entry.Reason)
		}
		if len(entry.States) > 0 && entry.On != reason.Service {
			t.Errorf("%s: a condition of a %s", entry.Reason, entry.On)
		}
		for _, s := range entry.States {
			states[s]++
		}
	}
	want := map[reason.State]bool{}
	for _, condition := range reason.Conditions() {
		want[reason.State{Condition: condition, Is: true}], want[reason.State{Condition: condition}] = true, true
	}
	for s := range maps.Keys(want) {
		if states[s] == 0 {
			t.Errorf("no reason for %v", s)
		}
	}
	if len(states) != len(want) {
		t.Errorf("reasons for %v", states)
	}
	if reason.Reason("other").Type() != "" {
		t.Error("a reason that there is not has a type")
	}
}
