// Package screen writes text for people, with colors and line breaks where a terminal is, and
// without what names that others have chosen could do to it.
package screen

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Color is how a word is shown on a terminal, and nowhere else.
type Color string

// The colors, in the order of how much they ask for. Green, yellow and red are of those 256 that
// are the same on every terminal: the yellow that a terminal chooses for itself cannot be read on
// white (xterm, PuTTY).
const (
	Plain  Color = ""
	Dim    Color = "2"
	Bold   Color = "1"
	Green  Color = "38;5;28"
	Yellow Color = "38;5;136"
	Red    Color = "1;38;5;196"
)

// Screen is where text for people goes.
type Screen struct {
	out     io.Writer
	colored bool
	// moves is set where lines that were written can be written over.
	moves bool
	// width is that of the terminal, 0 elsewhere.
	width int
	// progress is set while the last line is one that Progress has written.
	progress bool
	err      error
}

// New returns a Screen, which has colors where out is a terminal and the environment does not
// say otherwise (NO_COLOR, see no-color.org, or TERM=dumb).
func New(out io.Writer, env func(string) (string, bool)) *Screen {
	s := &Screen{out: out}
	file, is := out.(*os.File)
	if !is || !term.IsTerminal(int(file.Fd())) {
		return s
	}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil {
		s.width = width
	}
	s.colored, s.moves = allowsColor(env), allowsMoves(env)
	return s
}

func allowsColor(env func(string) (string, bool)) bool {
	if env == nil {
		return true
	}
	refused, _ := env("NO_COLOR")
	kind, _ := env("TERM")
	return refused == "" && kind != "dumb"
}

func allowsMoves(env func(string) (string, bool)) bool {
	if env == nil {
		return true
	}
	kind, _ := env("TERM")
	return kind != "dumb"
}

// The sequences that move what a terminal shows: ECMA-48, CR and EL, CUP and ED.
const (
	eraseLine   = "\r\x1b[K"
	eraseScreen = "\x1b[H\x1b[2J"
)

// Progress shows on the last line of a terminal what is being done, until something else is
// written there; "" erases it. It is shown on terminals only.
func (s *Screen) Progress(text string) {
	if !s.moves || text == "" && !s.progress {
		return
	}
	line := []rune(Printable(text))
	if s.width > 0 && len(line) >= s.width {
		line = line[:s.width-1]
	}
	s.print(eraseLine + s.paint(string(line), Dim))
	s.progress = text != ""
}

// Clear empties a terminal, so that what is written next stands at its top. Elsewhere it does
// nothing.
func (s *Screen) Clear() {
	if s.moves {
		s.print(eraseScreen)
	}
}

// Moves reports whether lines can be written over.
func (s *Screen) Moves() bool { return s.moves }

// Cell is a piece of a line.
type Cell struct {
	Text  string
	Color Color
}

// Text returns a Cell without color.
func Text(text string) Cell { return Cell{Text: text} }

// Line writes cells one after the other, with a space between, and goes on below, a little further
// in, where the terminal ends.
func (s *Screen) Line(cells ...Cell) {
	const hanging = 2
	s.write(strings.Join(s.wrapped(cells, 0, hanging), "\n"+strings.Repeat(" ", hanging)))
}

// Table writes rows whose cells stand below each other; a row has one cell at least. The last one
// goes on below itself where the terminal ends, or further to the left where its words need that,
// and the lines of a tree in the first ones go on beside it.
func (s *Screen) Table(indent int, rows [][]Cell) {
	widths := columnWidths(rows)
	for i, row := range rows {
		line := strings.Repeat(" ", indent)
		at := indent
		for n, cell := range row[:len(row)-1] {
			text := Printable(cell.Text)
			line += s.paint(text, cell.Color) + strings.Repeat(" ", widths[n]-utf8.RuneCountInString(text)+2)
			at += widths[n] + 2
		}
		last := row[len(row)-1]
		shown := strings.TrimLeft(last.Text, " ")
		further := len(last.Text) - len(shown)
		last.Text, at = shown, at+further
		below := s.below(last, at, indent)
		beside := []rune(strings.Repeat(" ", below))
		if i+1 < len(rows) && len(row) > 1 {
			copy(beside[indent:], downTo(rows[i+1][0].Text))
		}
		lines := s.wrapped([]Cell{last}, at, below)
		s.write(line + strings.Repeat(" ", further) + lines[0])
		for _, more := range lines[1:] {
			s.write(string(beside) + more)
		}
	}
}

func (s *Screen) paint(text string, color Color) string {
	if !s.colored || color == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(color) + "m" + text + "\x1b[0m"
}

func (s *Screen) write(line string) {
	s.Progress("")
	s.print(strings.TrimRight(line, " ") + "\n")
}

func (s *Screen) print(text string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.out, text)
	}
}

// Err returns the first error of writing.
func (s *Screen) Err() error { return s.err }

// Printable replaces what would change a terminal: others of the project choose names.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
