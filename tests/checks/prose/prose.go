// Package prose finds constructions that do not belong into plain English, in the comments, the
// messages, the pages and the manifests of the project, and counts them per directory.
package prose

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Construction is a pattern that plain English rarely needs.
type Construction struct {
	Name    string
	pattern *regexp.Regexp
}

// Constructions are counted separately, each with the same limit.
//
//nolint:gochecknoglobals // a table
var Constructions = [4]Construction{
	{"nobody/anybody/somebody/whoever/whose", regexp.MustCompile(`(?i)\b(nobody|anybody|somebody|whoever|whose)\b`)},
	{"says/tells/told", regexp.MustCompile(`(?i)\b(says|tells|told)\b`)},
	{"what is/was/has/are", regexp.MustCompile(`(?i)\bwhat (is|was|has|are)\b`)},
	{"is/are to be/have/go", regexp.MustCompile(`(?i)\b(is|are) to (be|have|go)\b`)},
}

// Line is a line of prose.
type Line struct {
	File   string // from the root, with slashes
	Number int
	Text   string
}

// Find is an occurrence of a construction.
type Find struct {
	Line
	Construction string
}

// Counts is the prose of one directory.
type Counts struct {
	Lines int
	Found [len(Constructions)]int
	Finds []Find // in the order of the lines
}

// Add counts the constructions of a line.
func (c *Counts) Add(line Line) {
	c.Lines++
	for i, construction := range Constructions {
		for range construction.pattern.FindAllStringIndex(line.Text, -1) {
			c.Found[i]++
			c.Finds = append(c.Finds, Find{line, construction.Name})
		}
	}
}

// Count returns the prose of some files and directories below a root, by directory. Of Go files it
// reads the comments and, other than in tests, the string literals with two spaces or more; of
// Markdown every line; of YAML and cloud.conf the comments. Other files, testdata and files that
// are generated from others are left out. The error is that of a file that cannot be read.
func Count(root string, below ...string) (map[string]*Counts, error) {
	counts := map[string]*Counts{}
	for _, start := range below {
		err := filepath.WalkDir(filepath.Join(root, start), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() {
				if entry.Name() == "testdata" {
					return filepath.SkipDir
				}
				return nil
			}
			return countFile(counts, root, path)
		})
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// countFile adds the prose of a file to that of its directory.
func countFile(counts map[string]*Counts, root, path string) error {
	name, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	lines, err := read(path, filepath.ToSlash(name))
	if err != nil || len(lines) == 0 {
		return err
	}
	directory := filepath.ToSlash(filepath.Dir(name))
	if counts[directory] == nil {
		counts[directory] = &Counts{}
	}
	for _, line := range lines {
		counts[directory].Add(line)
	}
	return nil
}

// read returns the prose of a file, none for a file of another kind.
func read(path, name string) ([]Line, error) {
	parse := map[string]func([]byte, string) ([]Line, error){
		".go": goLines, ".md": markdownLines, ".yaml": commentLines, ".example": commentLines,
	}[filepath.Ext(name)]
	if parse == nil {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines, err := parse(text, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return lines, nil
}

// goLines returns the lines of comments and of string literals. Directives are left out.
func goLines(source []byte, name string) ([]Line, error) {
	var lines []Line
	var errs scanner.ErrorList
	fset := token.NewFileSet()
	file := fset.AddFile(name, fset.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, errs.Add, scanner.ScanComments)
	for {
		position, kind, literal := s.Scan()
		if kind == token.EOF {
			return lines, errs.Err()
		}
		directive := strings.HasPrefix(literal, "//") && !strings.HasPrefix(literal, "// ")
		text := kind == token.STRING && !strings.HasSuffix(name, "_test.go") && strings.Count(literal, " ") > 1
		if kind == token.COMMENT && !directive || text {
			for i, line := range strings.Split(literal, "\n") {
				lines = append(lines, Line{name, file.Line(position) + i, line})
			}
		}
	}
}

func markdownLines(text []byte, name string) ([]Line, error) {
	var lines []Line
	for i, line := range strings.Split(string(text), "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, Line{name, i + 1, line})
		}
	}
	return lines, nil
}

// comment is a comment that follows a value, or has its own line.
var comment = regexp.MustCompile(`(?:^|\s)#(.*)`)

func commentLines(text []byte, name string) ([]Line, error) {
	var lines []Line
	for i, line := range strings.Split(string(text), "\n") {
		if found := comment.FindStringSubmatch(line); found != nil {
			lines = append(lines, Line{name, i + 1, found[1]})
		}
	}
	return lines, nil
}

// perThousand is how many of each construction a thousand lines may have.
const perThousand = 5

// Allowed returns how many of each construction so many lines may have.
func Allowed(lines int) int { return (lines*perThousand + 999) / 1000 }
