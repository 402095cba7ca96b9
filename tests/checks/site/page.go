package main

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// page is a page of the documentation.
type page struct {
	// source and target are its path in the checkout and in the site.
	source, target string
	content        []byte
	tree           ast.Node
	title          string
	headings       []heading
	// group is its part of the navigation, and label its name there if that is not its title. If
	// parent is not nil, the page is listed below the entry of that page.
	group    string
	label    string
	parent   *page
	children []*page
}

// heading is a heading with the text below it.
type heading struct {
	Level  int
	ID     string
	Text   string
	below  string
	isPage bool // the title of the page
}

// markdown is the dialect that GitHub shows, as far as the pages use it.
func markdown() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(html.WithUnsafe()), // tables have line breaks; all text is ours
	)
}

// parse reads a page.
func parse(source string, content []byte) (*page, error) {
	p := &page{source: source, target: target(source), content: content}
	p.tree = markdown().Parser().Parse(text.NewReader(content), parser.WithContext(parser.NewContext(parser.WithIDs(&anchors{used: map[string]int{}}))))
	for node := p.tree.FirstChild(); node != nil; node = node.NextSibling() {
		if h, is := node.(*ast.Heading); is {
			id, _ := h.AttributeString("id")
			p.headings = append(p.headings, heading{Level: h.Level, ID: fmt.Sprintf("%s", id), Text: plain(h, content), isPage: len(p.headings) == 0})
		} else if len(p.headings) > 0 {
			p.headings[len(p.headings)-1].below += " " + plain(node, content)
		}
	}
	if len(p.headings) == 0 || p.headings[0].Level != 1 {
		return nil, fmt.Errorf("%s does not begin with a title", source)
	}
	p.title = p.headings[0].Text
	return p, nil
}

// target is the path of a page in the site: docs is its root, and the pages beside the Makefile
// are in project.
func target(source string) string {
	within, isDoc := strings.CutPrefix(source, "docs/")
	if !isDoc {
		return "project/" + strings.ToLower(strings.TrimSuffix(source, ".md")) + ".html"
	}
	if path.Base(within) == "README.md" {
		return path.Join(path.Dir(within), "index.html")
	}
	return strings.TrimSuffix(within, ".md") + ".html"
}

// plain returns the text of a node, without markup, in one line.
func plain(node ast.Node, content []byte) string {
	var words strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				words.Write(n.Segment.Value(content))
				if n.SoftLineBreak() || n.HardLineBreak() {
					words.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				words.Write(n.Value)
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				words.Write(n.Lines().Value(content))
			}
		}
		if !entering && n.Type() == ast.TypeBlock {
			words.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(words.String()), " ")
}

// anchors makes the anchors of headings as GitHub does, so that a link leads to the same place
// in the repository and on the site.
type anchors struct{ used map[string]int }

// Generate implements parser.IDs.
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(string(value)))
	n := a.used[id]
	a.used[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (a *anchors) Put(value []byte) { a.used[string(value)]++ }

// called is the name of a page.
func (p *page) called() string { return cmp.Or(p.label, p.title) }

// hasAnchor reports whether a heading has the anchor.
func (p *page) hasAnchor(id string) bool {
	for _, h := range p.headings {
		if h.ID == id {
			return true
		}
	}
	return false
}
