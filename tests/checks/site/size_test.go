package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark/ast"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// The limits keep the project easy to understand. Shorten something else before you raise one.
const (
	mostReadmeLines   = 60
	mostOperatorWords = 25_000
	mostAnnotations   = 66
)

// generated are the pages for operators that `make generate` writes, with the introduction that a
// person has written. Only the introduction counts.
var generated = map[string]string{
	"docs/annotations.md":     "pkg/loadbalancer/spec/annotation/testdata/introduction.md",
	"docs/configuration.md":   "pkg/config/testdata/introduction.md",
	"docs/drivers.md":         "pkg/loadbalancer/driver/testdata/introduction.md",
	"docs/events.md":          "pkg/reason/testdata/introduction.md",
	"docs/metrics.md":         "tests/checks/monitoring/testdata/introduction.md",
	"docs/examples/README.md": "",
}

func TestReadme_HasFewLines(t *testing.T) {
	t.Parallel()
	if lines := bytes.Count(file(t, "README.md"), []byte("\n")); lines > mostReadmeLines {
		t.Errorf("README.md has %d lines, want at most %d", lines, mostReadmeLines)
	}
}

func TestAnnotations_AreFew(t *testing.T) {
	t.Parallel()
	if n := len(annotation.Table()); n > mostAnnotations {
		t.Errorf("a Service can have %d annotations, want at most %d", n, mostAnnotations)
	}
}

// The pages for operators are all of docs but docs/internals. Words are those of text that a person
// has written: not of code blocks, of pages and parts that `make generate` writes, and of the tables
// of docs/migration-reference.md, which tests compare with the code.
func TestPagesForOperators_HaveFewWords(t *testing.T) {
	t.Parallel()
	s, err := read(os.DirFS(checkout), newDictionary())
	if err != nil {
		t.Fatal(err)
	}
	sum, each := 0, []string{}
	for _, p := range s.sorted() {
		if !strings.HasPrefix(p.source, "docs/") || strings.HasPrefix(p.source, "docs/internals/") {
			continue
		}
		written := p.content
		if introduction, is := generated[p.source]; is {
			written = nil
			if introduction != "" {
				written = file(t, introduction)
			}
		}
		n := words(t, written, p.source != "docs/migration-reference.md")
		sum += n
		each = append(each, fmt.Sprintf("%5d %s", n, p.source))
	}
	if sum > mostOperatorWords || testing.Verbose() {
		slices.Sort(each)
		t.Logf("%d words:\n%s", sum, strings.Join(each, "\n"))
	}
	if sum > mostOperatorWords {
		t.Errorf("the pages for operators have %d words, want at most %d", sum, mostOperatorWords)
	}
}

func TestWords_AreThoseOfProse(t *testing.T) {
	t.Parallel()
	const page = "# One two\n\nThree [four](five.md) `six` – 7.\n\n    code code\n\n```\ncode\n```\n\n1. eight\n\n       code\n\n| nine | ten |\n|---|---|\n| eleven | |\n\n" +
		"<!-- part: written by make generate -->\ncode\n<!-- end of part -->\n\ntwelve\n"
	if n := words(t, []byte(page), true); n != 11 {
		t.Errorf("%d words, want 11", n)
	}
	if n := words(t, []byte(page), false); n != 8 {
		t.Errorf("%d words without tables, want 8", n)
	}
}

var part = regexp.MustCompile(`(?s)<!-- (\w+): written by make generate -->.*?<!-- end of \w+ -->`)

// words returns the number of words in a page, outside of code blocks and generated parts.
func words(t *testing.T, content []byte, tables bool) int {
	t.Helper()
	content = part.ReplaceAll(content, nil)
	if len(content) == 0 {
		return 0
	}
	p, err := parse("page", content)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	_ = ast.Walk(p.tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !tables && node.Kind().String() == "Table" {
			return ast.WalkSkipChildren, nil
		}
		if node.Type() != ast.TypeInline && entering && node.FirstChild() != nil && node.FirstChild().Type() == ast.TypeInline {
			for _, word := range strings.Fields(plain(node, content)) {
				if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
					n++
				}
			}
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return n
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(checkout, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
