package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// module writes a module with a package p, and returns its folder.
func module(t *testing.T, source, tests string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.org/m\n\ngo 1.24\n", "p/p.go": "package p\n" + source, "p/p_test.go": "package p\n" + tests} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func mutantsOf(t *testing.T, source string) (*pkg, []*mutant) {
	t.Helper()
	packages, err := load(t.Context(), module(t, source, ""), []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	all := packages[0].mutants()
	sample(all, 1, len(all))
	return packages[0], all
}

func TestMutants_FindsEveryOperator(t *testing.T) {
	t.Parallel()
	_, all := mutantsOf(t, `
type named bool

func f(list []int, ok bool, err error) (bool, error) {
	if !ok && len(list) > 2 {
		list = append(list, len(list)-1)
		defer print(1)
	}
	for _, x := range list {
		if x == 0 {
			continue
		}
		x++
		x += 2
	}
	_ = make([]int, 0, len(list)+1)
	const c = 1 + 2
	var n named = 1 < 2
	_ = n
	return ok, err
}
`)
	var got []string
	for _, m := range all {
		got = append(got, m.operator+": "+m.from+" => "+m.to)
	}
	slices.Sort(got)
	want := []string{
		"arithmetic: len(list)-1 => len(list) + 1",
		"arithmetic: x += 2 => x -= 2",
		"arithmetic: x++ => x--",
		"boundary: len(list) > 2 => len(list) >= 2",
		"continue: continue => break",
		"drop: defer print(1) => ",
		"drop: list = append(list, len(list)-1) => ",
		"logic: !ok && len(list) > 2 => !ok || len(list) > 2",
		"negate: !ok => !(!ok)",
		"negate: len(list) > 2 => !(len(list) > 2)",
		"negate: ok => !(ok)",
		"negate: x == 0 => !(x == 0)",
		"swallow: return ok, err => return ok, nil",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMutated_CompilesWithMutantsInOneAnother(t *testing.T) {
	t.Parallel()
	p, all := mutantsOf(t, `
import "time"

func f(a, b int, d time.Duration, g func() error) error {
	for i := 0; i < a+b && d*2 > time.Second; i++ {
		if a-b == 2*(a+1) || !(a > b) {
			return g()
		}
		func() {
			if d == 0 {
				d -= time.Duration(a * b)
			}
		}()
	}
	switch {
	case a < b:
		return nil
	}
	return g()
}
`)
	if len(all) < 15 {
		t.Errorf("%d mutants", len(all))
	}
	if good, bad := p.split(all); len(bad) > 0 {
		t.Errorf("%d compile, not %v:\n%s", len(good), bad, p.files[0].mutated(all))
	}
}

func TestSample_StaysTheSameWhenOtherFunctionsChange(t *testing.T) {
	t.Parallel()
	const one, other = "func f(a int) bool { return a > 1 && a < 7 && a != 3 }\n", "func g(a int) bool { return a == 1 }\n"
	names := func(source string) []string {
		_, all := mutantsOf(t, source)
		all = slices.DeleteFunc(all, func(m *mutant) bool { return m.function != "f" })
		var got []string
		for _, m := range sample(all, 7, 3) {
			got = append(got, m.operator+m.from)
		}
		return got
	}
	if diff := cmp.Diff(names(one), names(other+one)); diff != "" {
		t.Error(diff)
	}
}

// An entry of a mutant that the code no longer has would be forgotten, and hide another one some day.
func TestEquivalent_HasOnlyMutantsOfTheCode(t *testing.T) {
	t.Parallel()
	var patterns []string
	for _, e := range equivalent() {
		patterns = append(patterns, "./"+filepath.Dir(e.file))
	}
	packages, err := load(t.Context(), "../../..", patterns)
	if err != nil {
		t.Fatal(err)
	}
	var all []*mutant
	for _, p := range packages {
		all = append(all, p.mutants()...)
	}
	for _, e := range equivalent() {
		if !slices.ContainsFunc(all, e.is) {
			t.Errorf("there is no mutant %+v", e)
		}
	}
}

func TestRun_CountsMutantsThatTestsNoticeAndThoseThatTheyDoNot(t *testing.T) {
	t.Parallel()
	root := module(t, `
func More(a, b int) bool { return a > b }

func Stuck(a int) int {
	for a < 3 {
		a++
	}
	return a
}

func Untested(a int) bool { return a == 1 }
`, `
import "testing"

func TestMore_ComparesOneAndTwo(t *testing.T) {
	if More(1, 2) || !More(2, 1) {
		t.Error("wrong")
	}
}

func TestStuck_Ends(t *testing.T) {
	if Stuck(2) != 3 {
		t.Error("wrong")
	}
}
`)
	var out strings.Builder
	if err := run(t.Context(), &out, options{seed: 1, count: 100, only: "More|Untested|negate", bounds: bounds{time.Minute, time.Minute}, patterns: []string{"./..."}, root: root}); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(out.String(), "\n\n")
	want := `survived: p/p.go:3: More: boundary: a > b => a >= b
survived: p/p.go:12: Untested: negate: a == 1 => !(a == 1)
mutate: 2 killed, 2 survived, 0 not compiled
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(out.String(), diff)
	}
	if !regexp.MustCompile(`killed: .*More: negate.*: --- FAIL: TestMore_`).MatchString(out.String()) {
		t.Error(out.String())
	}
}

// go vet calls a != 1 || a != 2 suspect, and go test does not run what vet rejects.
func TestRun_RunsMutantsThatVetRejects(t *testing.T) {
	t.Parallel()
	root := module(t, `
func Other(a int) bool { return a != 1 && a != 2 }
`, `
import "testing"

func TestOther_IsNeitherOneNorTwo(t *testing.T) {
	if Other(1) || Other(2) || !Other(3) {
		t.Error("wrong")
	}
}
`)
	var out strings.Builder
	if err := run(t.Context(), &out, options{seed: 1, count: 100, only: "logic", bounds: bounds{time.Minute, time.Minute}, patterns: []string{"./..."}, root: root}); err != nil {
		t.Fatal(err)
	}
	if want := "mutate: 1 killed, 0 survived, 0 not compiled\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("the last line is not %q:\n%s", want, out.String())
	}
}
