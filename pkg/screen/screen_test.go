package screen

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"
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
		"  \x1b[38;5;28mok\x1b[0m     read     load balancers\n" +
		"  \x1b[1;38;5;196mwrong\x1b[0m  create   the policy of Octavia does not\n" +
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
	if out.Len() > 0 {
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

func TestScreen_BreaksNoWordWhereTheTerminalEnds(t *testing.T) {
	t.Parallel()
	const id = "9cca47d2-be95-4c29-8296-838b5ed5404b"
	var out bytes.Buffer
	s := &Screen{out: &out, colored: true, width: 50}
	s.Line(Cell{"Quota left:", Bold}, Text("1 of 50 floating IPs,"), Cell{"0 of 100 security group rules", Red})
	s.Table(2, [][]Cell{
		{Text("load balancer"), Text("web, " + id)},
		{Text("├─ VIP"), Text("10.0.0.5, subnet " + id)},
		{Text("├─ listener"), Text("open to 10.0.0.0/8, and to 192.0.2.0/24")},
		{Text("│  └─ pool"), Text("node-0=10.0.1.10:30080,node-1=10.0.1.11:30080, in two racks")},
		{Text("└─ group"), Text(id + "-" + id)},
	})
	s.Table(2, [][]Cell{{Text("a column that leaves no room"), Text("and what follows it")}})
	s.width = 10
	s.Line(Text("Configuration"), Text("of all"))
	want := "\x1b[1mQuota left:\x1b[0m 1 of 50 floating IPs, \x1b[1;38;5;196m0 of 100\x1b[0m\n" +
		"  \x1b[1;38;5;196msecurity group rules\x1b[0m\n" + `  load balancer  web,
  │           9cca47d2-be95-4c29-8296-838b5ed5404b
  ├─ VIP         10.0.0.5, subnet
  │           9cca47d2-be95-4c29-8296-838b5ed5404b
  ├─ listener    open to 10.0.0.0/8, and to
  │  │           192.0.2.0/24
  │  └─ pool     node-0=10.0.1.10:30080,
  │              node-1=10.0.1.11:30080, in two
  │              racks
  └─ group
  9cca47d2-be95-4c29-8296-838b5ed5404b-9cca47d2-be95-4c29-8296-838b5ed5404b
  a column that leaves no room  and what follows
                    it
Configuration
  of all
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Backgrounds of terminals: black, the grey of many editors, and white.
func TestColors_CanBeReadOnDarkAndOnLightGround(t *testing.T) {
	t.Parallel()
	for _, color := range []Color{Green, Yellow, Red} {
		_, number, found := strings.Cut(string(color), "38;5;")
		n, err := strconv.Atoi(number)
		if !found || err != nil || n < 16 || n > 231 {
			t.Errorf("%q is none of the colors that are the same everywhere", color)
			continue
		}
		n -= 16
		ink := luminance(level(n/36), level(n/6%6), level(n%6))
		for name, ground := range map[string]float64{"black": 0, "grey": luminance(0x1e, 0x1e, 0x1e), "white": 1} {
			if contrast := (max(ink, ground) + 0.05) / (min(ink, ground) + 0.05); contrast < 3 {
				t.Errorf("%q on %s has a contrast of %.1f, want 3 (WCAG 2.2, 1.4.11)", color, name, contrast)
			}
		}
	}
}

// level is that of a step in the cube of colors.
func level(step int) float64 {
	if step == 0 {
		return 0
	}
	return float64(55 + 40*step)
}

// luminance is the relative one of a color in sRGB.
func luminance(red, green, blue float64) float64 {
	linear := func(v float64) float64 { return math.Pow((v/255+0.055)/1.055, 2.4) }
	return 0.2126*linear(red) + 0.7152*linear(green) + 0.0722*linear(blue)
}
