package config

import (
	"strconv"
	"strings"

	"gopkg.in/gcfg.v1/scanner"
	"gopkg.in/gcfg.v1/token"
)

// linesOf returns the line number of each section and key of a cloud.conf, the last one if it
// occurs several times. Known names are spelled as in the table of settings, unknown ones as in the
// file.
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

// unquoted returns the name of a section without its quotes. gcfg escapes the quote and the
// backslash as Go does.
func unquoted(text string) string {
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return strings.Trim(text, `"`)
}

// keyNamed returns a key as spelled in the table, or the key itself if it is unknown.
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
