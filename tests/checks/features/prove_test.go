package features_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/features"
)

// TestBreaks_MustFailTestsOfTheirRow tries breaks of all kinds in a small module.
func TestBreaks_MustFailTestsOfTheirRow(t *testing.T) {
	t.Parallel()
	small := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module github.com/openstack-ccm/openstack-ccm\n\ngo 1.26.0\n",
		"pkg/a.go":    "package pkg\n\nfunc Two() int { return 2 }\n\nfunc Unproven() int { return 1 }\n",
		"pkg/pod.txt": "confined",
		"pkg/a_test.go": `package pkg

import (
	"os"
	"testing"
)

//proves:1,3,4,5
func TestTwo(t *testing.T) {
	if Two() != 2 {
		t.Error("not two")
	}
}

//proves:2
func TestPod(t *testing.T) {
	if text, err := os.ReadFile("pod.txt"); err != nil || string(text) != "confined" {
		t.Error("not confined")
	}
}

//proves:6
func TestRed(t *testing.T) {
	t.Error("red as it is")
}
`} {
		path := filepath.Join(small, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "git", "-C", small, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	proofs, err := features.Proofs(small)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	prover := features.Prover{Root: small, Proofs: proofs, Jobs: 2, Out: &out}
	err = prover.Prove(t.Context(), []features.Break{
		{Row: 1, What: "three", File: "pkg/a.go", Old: "return 2", New: "return 3", Tests: []string{"TestTwo"}},
		{Row: 2, What: "open", File: "pkg/pod.txt", Old: "confined", New: "open", Tests: []string{"TestPod"}},
		{Row: 3, What: "nothing seen", File: "pkg/a.go", Old: "return 1", New: "return 0", Tests: []string{"TestTwo"}},
		{Row: 4, What: "no Go", File: "pkg/a.go", Old: "return 2", New: "return two", Tests: []string{"TestTwo"}},
		{Row: 5, What: "not there", File: "pkg/a.go", Old: "return", New: "panic", Tests: []string{"TestTwo"}},
		{Row: 6, What: "red before", File: "pkg/a.go", Old: "return 2", New: "return 3", Tests: []string{"TestRed"}},
	})
	if err == nil {
		t.Error("no error, though rows are not proven")
	}
	for _, want := range []string{
		"red: three (TestTwo)", "red: open (TestPod)", "row 3: nothing seen: TestTwo in pkg stays green",
		"row 4: no Go: TestTwo in pkg did not run:", "undefined: two", "break of row 5 does not apply",
		`row 6: without the break TestRed in pkg is "fail", want pass`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q", want)
		}
	}
	if !strings.HasSuffix(out.String(), "\nprove: 2 passed, 4 failed\n") {
		t.Error("want the sum at the end")
	}
	if t.Failed() {
		t.Logf("written:\n%s", out.String())
	}
}

func TestBreaks_AreReportedWhenTheyProveNothing(t *testing.T) {
	t.Parallel()
	proofs := []features.Proof{{Row: 1, Test: features.Test{Folder: "tests/checks/features", Name: "TestA"}}}
	good := features.Break{Row: 1, File: "go.mod", Old: "\ngo 1.", New: "\ngo 0.", Tests: []string{"TestA"}}
	for _, c := range []struct {
		what   string
		change func(*features.Break)
		kept   int
		want   string
	}{
		{"sound", func(*features.Break) {}, 1, ""},
		{"its file is gone", func(b *features.Break) { b.File = "gone.go" }, 1, "no such file"},
		{"its place is gone", func(b *features.Break) { b.Old = "never there" }, 1, "does not apply"},
		{"it changes nothing", func(b *features.Break) { b.New = b.Old }, 1, "does not apply"},
		{"its test proves another row", func(b *features.Break) { b.Tests = []string{"TestB"} }, 1, "0 of its tests (TestB) prove the row"},
		{"a row without a break", func(*features.Break) {}, 2, `has "yes" in row 2`},
	} {
		b := good
		c.change(&b)
		err := features.CheckBreaks(root, []features.Break{b}, proofs, map[int]bool{c.kept: true})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.what, err, c.want)
		}
	}
}
