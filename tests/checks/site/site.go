package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/golangci/misspell"
	"github.com/yuin/goldmark/ast"
)

// site is the documentation: its pages, and what they link to.
type site struct {
	files fs.FS
	pages map[string]*page // by source
	// groups are the parts of the navigation, in order.
	groups []group
	// assets are the files below docs that pages show or link to.
	assets map[string]bool
}

// group is a part of the navigation.
type group struct {
	Title string
	pages []*page
}

const (
	start = "docs/README.md"
	// alerts is the prefix of the names of all alerts, which is too wide for the navigation.
	alerts = "OpenStackCCM"
	// repository is where the files are that are no pages.
	repository = "https://github.com/openstack-ccm/openstack-ccm/blob/main/"
)

// read reads the documentation of a checkout. The error has everything that is wrong with it.
func read(files fs.FS, dictionary *misspell.Replacer) (*site, error) {
	s := &site{files: files, pages: map[string]*page{}, assets: map[string]bool{}}
	if err := s.readPages(); err != nil {
		return nil, err
	}
	if s.pages[start] == nil {
		return nil, fmt.Errorf("there is no %s", start)
	}
	var wrong []error
	s.navigate()
	for _, p := range s.sorted() {
		wrong = append(wrong, s.resolve(p), spelled(p, dictionary))
		if p.group == "" && p.source != start {
			wrong = append(wrong, fmt.Errorf("%s is not in the navigation: %s does not link to it", p.source, start))
		}
	}
	return s, errors.Join(wrong...)
}

// readPages reads docs and the pages beside it.
func (s *site) readPages() error {
	beside, err := fs.Glob(s.files, "*.md")
	if err != nil {
		return err
	}
	sources := beside
	err = fs.WalkDir(s.files, "docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(name, ".md") {
			sources = append(sources, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, source := range sources {
		content, err := fs.ReadFile(s.files, source)
		if err != nil {
			return err
		}
		if s.pages[source], err = parse(source, content); err != nil {
			return err
		}
	}
	return nil
}

// sorted are the pages by source.
func (s *site) sorted() []*page {
	var all []*page
	for _, p := range s.pages {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *page) int { return strings.Compare(a.source, b.source) })
	return all
}

// navigate makes the navigation from the start page: its headings are the groups, the pages
// that it links to the entries. A page in a folder of its own may be below the first of these
// that links to it.
func (s *site) navigate() {
	for node := s.pages[start].tree.FirstChild(); node != nil; node = node.NextSibling() {
		if h, is := node.(*ast.Heading); is && h.Level == 2 {
			s.groups = append(s.groups, group{Title: plain(h, s.pages[start].content)})
		}
		if len(s.groups) == 0 {
			continue
		}
		last := &s.groups[len(s.groups)-1]
		for _, l := range s.linked(node, start) {
			if l.to.group == "" && l.to.source != start {
				l.to.group, l.to.label = last.Title, l.text
				last.pages = append(last.pages, l.to)
			}
		}
	}
	for _, g := range s.groups {
		for _, p := range g.pages {
			for _, l := range s.linked(p.tree, p.source) {
				if l.to.group == "" && strings.Count(l.to.source, "/") > 1 {
					l.to.group, l.to.parent, l.to.label = g.Title, p, strings.TrimPrefix(l.to.title, alerts)
					p.children = append(p.children, l.to)
				}
			}
		}
	}
}

// link is a link to a page.
type link struct {
	to   *page
	text string
}

// linked are the links to pages below a node of a page.
func (s *site) linked(node ast.Node, source string) (all []link) {
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if l, is := n.(*ast.Link); is && entering {
			if p := s.pages[within(source, string(l.Destination))]; p != nil {
				all = append(all, link{p, plain(l, s.pages[source].content)})
			}
		}
		return ast.WalkContinue, nil
	})
	return all
}

// within is the path in the checkout of what a page links to.
func within(source, destination string) string {
	file, _, _ := strings.Cut(destination, "#")
	if file == "" {
		return source
	}
	return path.Join(path.Dir(source), file)
}

// resolve has the links and images of a page lead to where things are in the site. The error has
// those that lead nowhere.
func (s *site) resolve(p *page) error {
	var wrong []error
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the errors are collected
		var err error
		if l, is := n.(*ast.Link); is && entering {
			s.name(p, l)
			l.Destination, err = s.destination(p, string(l.Destination))
		}
		if image, is := n.(*ast.Image); is && entering {
			image.Destination, err = s.destination(p, string(image.Destination))
		}
		if err != nil {
			wrong = append(wrong, err)
		}
		return ast.WalkContinue, nil
	})
	return errors.Join(wrong...)
}

// name replaces the text of a link by the title of the page if the text is the name of a file,
// which only readers of the repository need.
func (s *site) name(p *page, l *ast.Link) {
	text, other := plain(l, p.content), s.pages[within(p.source, string(l.Destination))]
	if other != nil && strings.HasSuffix(text, ".md") && path.Base(text) == path.Base(other.source) {
		l.RemoveChildren(l)
		l.AppendChild(l, ast.NewString([]byte(other.called())))
	}
}

func (s *site) destination(p *page, destination string) ([]byte, error) {
	if strings.Contains(destination, "://") || strings.HasPrefix(destination, "mailto:") {
		return []byte(destination), nil
	}
	file := within(p.source, destination)
	_, id, toAnchor := strings.Cut(destination, "#")
	other := s.pages[file]
	if other == nil {
		other = s.pages[path.Join(file, "README.md")]
	}
	if other != nil {
		if toAnchor && !other.hasAnchor(id) {
			return nil, fmt.Errorf("%s links to %s, and %s has no such heading", p.source, destination, other.source)
		}
		link := relative(p.target, other.target)
		if toAnchor {
			link += "#" + id
		}
		return []byte(link), nil
	}
	info, err := fs.Stat(s.files, file)
	if err != nil {
		return nil, fmt.Errorf("%s links to %s: %w", p.source, destination, err)
	}
	if asset, is := strings.CutPrefix(file, "docs/"); is && !info.IsDir() {
		s.assets[file] = true
		return []byte(relative(p.target, asset)), nil
	}
	return []byte(repository + file), nil
}

// relative is the way from one file of the site to another.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + to
}
