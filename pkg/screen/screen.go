// Package screen writes text for people, with colors and line breaks on a terminal, and removes
// control characters from names that other users chose.
package screen

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Color is the color of a word on a terminal.
type Color string

// The colors, in the order of their urgency. Green, yellow and red are of the 256 colors that are
// equal on every terminal: the default yellow of a terminal is unreadable on white (xterm, PuTTY).
const (
	Plain  Color = ""
	Dim    Color = "2"
	Bold   Color = "1"
	Green  Color = "38;5;28"
	Yellow Color = "38;5;136"
	Red    Color = "1;38;5;196"
)

// Screen is an output of text for people.
type Screen struct {
	out     io.Writer
	colored bool
	// moves is set if written lines can be overwritten.
	moves bool
	// width is that of the terminal, 0 for none.
	width int
	// progress is set while the last line is one of Progress.
	progress bool
	err      error
}

// New returns a Screen, with colors if out is a terminal, unless the environment forbids them
// (NO_COLOR, see no-color.org, or TERM=dumb).
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

// The sequences that move the cursor of a terminal: ECMA-48, CR and EL, CUP and ED.
const (
	eraseLine   = "\r\x1b[K"
	eraseScreen = "\x1b[H\x1b[2J"
)

// Progress shows a text on the last line of a terminal, until other text is written; "" erases it.
// Without a terminal it does nothing.
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

// Clear empties a terminal, so that the next text is at its top. Without a terminal it does
// nothing.
func (s *Screen) Clear() {
	if s.moves {
		s.print(eraseScreen)
	}
}

// Cell is a piece of a line.
type Cell struct {
	Text  string
	Color Color
}

// Text returns a Cell without color.
func Text(text string) Cell { return Cell{Text: text} }

// Line writes cells separated by spaces, and wraps them at the end of a terminal's line, with an
// indent.
func (s *Screen) Line(cells ...Cell) {
	const hanging = 2
	s.write(strings.Join(s.wrapped(cells, 0, hanging), "\n"+strings.Repeat(" ", hanging)))
}

// Table writes rows with aligned cells; a row has at least one. The last cell is wrapped below
// itself at the end of a terminal's line, or further left if its words need that, and the lines of
// a tree in the first ones continue beside it.
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

// Printable replaces characters that control a terminal: other users of the project choose names.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
