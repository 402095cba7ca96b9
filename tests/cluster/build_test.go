package cluster

import (
	"bytes"
	"os"
	"testing"
)

// With one function that calls methods by names that it only gets at run time, as templates
// do, the linker keeps every exported method of every type: half as much program again, in
// the image and in memory.
func TestBuildProgram_LinksOnlyMethodsThatAreCalled(t *testing.T) {
	t.Parallel()
	path, err := BuildProgram(t.Context(), CCMProgram, t.TempDir(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(program, []byte("reflect.Value.Call\x00")) {
		t.Fatal("the program does not have the names of its functions: this test proves nothing")
	}
	for _, byName := range []string{"text/template.(*state).evalField\x00"} {
		if bytes.Contains(program, []byte(byName)) {
			t.Errorf("%s is linked: see what leads to it with -ldflags=-dumpdep", byName)
		}
	}
}
