package screen

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func written(s *Screen, out *bytes.Buffer) string {
	s.Line(Cell{"Rights", Bold}, Text("of k8s"))
	s.Table(2, [][]Cell{
		{{"ok", Green}, Text("read"), Text("load balancers")},
		{{"wrong", Red}, Text("create"), Text("the policy of Octavia does not let this user do that")},
		{Text("  a line that begins further in goes on there as well")},
		{Text("a line of one cell does not widen the columns")},
		{{"", Plain}, Text("esc\x1b[2J"), Text("")},
	})
	return out.String()
}

func TestScreen_IsPlainWhereNoTerminalIs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	want := `Rights of k8s
  ok     read     load balancers
  wrong  create   the policy of Octavia does not let this user do that
    a line that begins further in goes on there as well
  a line of one cell does not widen the columns
         esc?[2J
`
	if diff := cmp.Diff(want, written(New(&out, nil), &out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if s := New(file, nil); s.colored || s.width != 0 {
		t.Errorf("a file is taken for a terminal: %+v", s)
	}
}

func TestScreen_HasColorsAndWrapsOnATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	want := "\x1b[1mRights\x1b[0m of k8s\n" +
		"  \x1b[32mok\x1b[0m     read     load balancers\n" +
		"  \x1b[1;31mwrong\x1b[0m  create   the policy of Octavia does not\n" +
		"                  let this user do that\n" +
		"    a line that begins further in goes on there as\n" +
		"    well\n" +
		"  a line of one cell does not widen the columns\n" +
		"         esc?[2J\n"
	if diff := cmp.Diff(want, written(&Screen{out: &out, colored: true, width: 50}, &out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestScreen_ErasesProgressBeforeWhatComesNext(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &Screen{out: &out, moves: true, width: 10}
	s.Progress("")
	s.Progress("Reading the cluster")
	s.Progress("1 of 2\x1b[2J")
	s.Line(Text("good"))
	s.Clear()
	s.Line(Text("done"))
	want := "\r\x1b[KReading t\r\x1b[K1 of 2?[2\r\x1b[Kgood\n\x1b[H\x1b[2Jdone\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
	plain := New(&out, nil)
	plain.Progress("Reading")
	plain.Clear()
	if plain.Moves() || out.Len() > 0 {
		t.Errorf("where no terminal is: %q", out.String())
	}
}

func TestScreen_HasNoColorsWhereTheEnvironmentSaysSo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"nothing":  {nil, true},
		"NO_COLOR": {map[string]string{"NO_COLOR": "1"}, false},
		"empty":    {map[string]string{"NO_COLOR": "", "TERM": "xterm"}, true},
		"dumb":     {map[string]string{"TERM": "dumb"}, false},
	} {
		env := func(key string) (string, bool) { value, ok := test.env[key]; return value, ok }
		if got := allowsColor(env); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
