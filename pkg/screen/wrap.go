package screen

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// columnWidths returns those of all columns but the last one of each row.
func columnWidths(rows [][]Cell) []int {
	var widths []int
	for _, row := range rows {
		for n, cell := range row {
			if n == len(row)-1 {
				break
			}
			if n == len(widths) {
				widths = append(widths, 0)
			}
			widths[n] = max(widths[n], utf8.RuneCountInString(Printable(cell.Text)))
		}
	}
	return widths
}

// narrowest is the minimum width of a column to wrap text in, in characters.
const narrowest = 30

// below returns the column at which a cell continues in the lines below it: its own, unless that is
// too far right for its longest word, and never less than least.
func (s *Screen) below(cell Cell, at, least int) int {
	needed := narrowest
	for _, w := range wordsOf([]Cell{cell}, s.width-at) {
		needed = max(needed, utf8.RuneCountInString(w.text))
	}
	return max(least, min(at, s.width-needed))
}

// word is a part of a cell in one line.
type word struct {
	text string
	// cell is the number of the cell, color that of it.
	cell  int
	color Color
	// glued words follow the one before without a space.
	glued bool
}

// wordsOf returns the words of cells. One that is longer than the room is split at its commas.
func wordsOf(cells []Cell, room int) (words []word) {
	for n, cell := range cells {
		for _, text := range strings.Fields(Printable(cell.Text)) {
			parts := []string{text}
			if utf8.RuneCountInString(text) > room {
				parts = slices.DeleteFunc(strings.SplitAfter(text, ","), func(part string) bool { return part == "" })
			}
			for i, part := range parts {
				words = append(words, word{part, n, cell.Color, i > 0})
			}
		}
	}
	return words
}

// wrapped returns the lines of cells: the first starts at one column, those below it at another.
func (s *Screen) wrapped(cells []Cell, at, below int) (lines []string) {
	var whole []string
	length := at - 1
	for _, cell := range cells {
		text := Printable(cell.Text)
		whole = append(whole, s.paint(text, cell.Color))
		length += 1 + utf8.RuneCountInString(text)
	}
	if s.width == 0 || length <= s.width {
		return []string{strings.Join(whole, " ")}
	}
	var line []word
	column := at
	for _, w := range wordsOf(cells, s.width-at) {
		needed := utf8.RuneCountInString(w.text)
		if len(line) > 0 && !w.glued {
			needed++
		}
		if column+needed > s.width && (len(line) > 0 || below < column) {
			lines = append(lines, s.painted(line))
			line, column, needed = nil, below, utf8.RuneCountInString(w.text)
		}
		line = append(line, w)
		column += needed
	}
	return append(lines, s.painted(line))
}

// painted returns words as one line, with one color sequence for those of a cell.
func (s *Screen) painted(words []word) string {
	var line strings.Builder
	for len(words) > 0 {
		first, text := words[0], ""
		for len(words) > 0 && words[0].cell == first.cell {
			if text != "" && !words[0].glued {
				text += " "
			}
			text += words[0].text
			words = words[1:]
		}
		if line.Len() > 0 {
			line.WriteString(" ")
		}
		line.WriteString(s.paint(text, first.color))
	}
	return line.String()
}

// downTo returns the lines of a tree from the line above to the row that starts with a text.
func downTo(text string) []rune {
	var lines []rune
	for _, r := range text {
		switch r {
		case '│', '├', '└':
			lines = append(lines, '│')
		case '─', ' ':
			lines = append(lines, ' ')
		default:
			return lines
		}
	}
	return lines
}
