package config

import (
	"strconv"
	"strings"

	"gopkg.in/gcfg.v1/scanner"
	"gopkg.in/gcfg.v1/token"
)

// linesOf returns the number of the line of each section and key of a cloud.conf, the last
// one where it appears several times. Names are as the table of settings has them, and what
// is not there as it is written.
func linesOf(content []byte) map[place]int {
	lines := map[place]int{}
	files := token.NewFileSet()
	file := files.AddFile("cloud.conf", files.Base(), len(content))
	var s scanner.Scanner
	s.Init(file, content, func(token.Position, string) {}, 0)
	var header, name string
	inHeader := false
	for {
		pos, kind, text := s.Scan()
		switch kind {
		case token.EOF, token.ILLEGAL:
			return lines
		case token.LBRACK:
			inHeader, header, name = true, "", ""
		case token.RBRACK:
			inHeader = false
			lines[confPlace(header, name, "")] = files.Position(pos).Line
		case token.STRING:
			if inHeader {
				name = unquoted(text)
			}
		case token.IDENT:
			if inHeader {
				header = sectionNamed(text)
				continue
			}
			lines[confPlace(header, name, keyNamed(header, text))] = files.Position(pos).Line
		default: // assignments, comments and ends of lines
		}
	}
}

// unquoted is the name of a section without its quotes. Those of gcfg escape the quote and
// the backslash, as Go's do.
func unquoted(text string) string {
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return strings.Trim(text, `"`)
}

// keyNamed returns a key as the table has it, and one that is not there as it is.
func keyNamed(header, key string) string {
	for _, s := range sections() {
		if s.name != header {
			continue
		}
		for _, known := range s.keys() {
			if strings.EqualFold(known, key) {
				return known
			}
		}
	}
	return key
}
