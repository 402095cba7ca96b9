package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

//go:embed assets
var assets embed.FS

// write writes the site into a directory, which it replaces.
func (s *site) write(out string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	layout, err := template.ParseFS(assets, "assets/page.html")
	if err != nil {
		return err
	}
	for _, p := range s.sorted() {
		content, err := s.render(layout, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.source, err)
		}
		if err := put(out, p.target, content); err != nil {
			return err
		}
	}
	for asset := range s.assets {
		content, err := fs.ReadFile(s.files, asset)
		if err != nil {
			return err
		}
		if err := put(out, asset[len("docs/"):], content); err != nil {
			return err
		}
	}
	for _, name := range []string{"style.css", "search.js"} {
		content, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		if err := put(out, name, content); err != nil {
			return err
		}
	}
	index, err := s.index()
	if err != nil {
		return err
	}
	return put(out, "search-index.js", index)
}

func put(out, name string, content []byte) error {
	file := filepath.Join(out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

// entry is a page in the navigation.
type entry struct {
	Title, Link string
	// Current is set for the page that is shown; Below are shown there and on each other.
	Current bool
	Below   []entry
}

// view is what the layout shows.
type view struct {
	Title, Root string
	Body        template.HTML
	Groups      []struct {
		Title   string
		Entries []entry
	}
	Headings []heading
}

var (
	table      = regexp.MustCompile(`(?s)<table>.*?</table>`)
	row        = regexp.MustCompile(`(?s)<tr>.*?</tr>`)
	cell       = regexp.MustCompile(`<td\b`)
	columnName = regexp.MustCompile(`(?s)<th\b[^>]*>(.*?)</th>`)
	tag        = regexp.MustCompile(`<[^>]*>`)
	inCell     = regexp.MustCompile(`<code>.*?</code>`)
	slash      = regexp.MustCompile(`([^<])/([^>])`)
	headline   = regexp.MustCompile(`<(h[2-6]) id="([^"]*)">(.*?)</h[2-6]>`)
)

// render returns a page of the site.
func (s *site) render(layout *template.Template, p *page) ([]byte, error) {
	var body bytes.Buffer
	if err := markdown().Renderer().Render(&body, p.content, p.tree); err != nil {
		return nil, err
	}
	html := table.ReplaceAllFunc(body.Bytes(), func(found []byte) []byte {
		found = labeled(found)
		found = inCell.ReplaceAllFunc(found, func(code []byte) []byte { return slash.ReplaceAll(code, []byte("$1/<wbr>$2")) })
		return slices.Concat([]byte(`<div class="table" tabindex="0">`), found, []byte(`</div>`))
	})
	html = headline.ReplaceAll(html, []byte(`<$1 id="$2">$3<a class="anchor" href="#$2" aria-label="Link to this heading">#</a></$1>`))
	v := view{Title: p.title, Root: relative(p.target, ""), Body: template.HTML(html)}
	for _, g := range s.groups {
		var entries []entry
		for _, listed := range g.pages {
			e := listed.entry(p)
			if listed == p || p.parent == listed {
				for _, child := range listed.children {
					e.Below = append(e.Below, child.entry(p))
				}
			}
			entries = append(entries, e)
		}
		v.Groups = append(v.Groups, struct {
			Title   string
			Entries []entry
		}{g.Title, entries})
	}
	for _, h := range p.headings {
		if !h.isPage && h.Level <= 3 {
			v.Headings = append(v.Headings, h)
		}
	}
	var out bytes.Buffer
	err := layout.Execute(&out, v)
	return out.Bytes(), err
}

// labeled adds the name of its column to each cell of a table: narrow screens show cells below each
// other.
func labeled(table []byte) []byte {
	var names [][]byte
	for _, name := range columnName.FindAllSubmatch(table, -1) {
		names = append(names, tag.ReplaceAll(name[1], nil))
	}
	return row.ReplaceAllFunc(table, func(found []byte) []byte {
		n := 0
		return cell.ReplaceAllFunc(found, func(begin []byte) []byte {
			n++
			if n > len(names) || len(names[n-1]) == 0 {
				return begin
			}
			return slices.Concat(begin, []byte(` data-label="`), names[n-1], []byte(`"`))
		})
	})
}

// entry is the page in the navigation of another.
func (p *page) entry(of *page) entry {
	return entry{Title: p.called(), Link: relative(of.target, p.target), Current: p == of}
}

// index returns what the search looks through: a script, as pages without a server may load
// nothing else.
func (s *site) index() ([]byte, error) {
	type section struct {
		Page, Heading, Link, Text string
	}
	var all []section
	for _, p := range s.sorted() {
		for _, h := range p.headings {
			link := p.target
			if !h.isPage {
				link += "#" + h.ID
			}
			all = append(all, section{p.called(), h.Text, link, h.below})
		}
	}
	text, err := json.Marshal(all)
	return append(append([]byte("const sections = "), text...), ";\n"...), err
}
