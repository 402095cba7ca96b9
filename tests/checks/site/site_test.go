package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const checkout = "../../.."

// The documentation has no link, anchor or image that leads nowhere, no page that cannot be
// found, and no misspelled word.
func TestSite_IsMadeOfThePagesThatThereAre(t *testing.T) {
	t.Parallel()
	s, err := read(os.DirFS(checkout), newDictionary())
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := s.write(out); err != nil {
		t.Fatal(err)
	}
	if len(s.pages) < 60 || len(s.groups) != 5 {
		t.Errorf("%d pages in %d groups", len(s.pages), len(s.groups))
	}
	built := os.DirFS(out)
	ids := map[string]map[string]bool{}
	err = fs.WalkDir(built, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			ids[name] = identified(t, built, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range ids {
		if strings.HasSuffix(name, ".html") {
			assertLinks(t, built, name, ids)
		}
	}
	index, err := fs.ReadFile(built, "search-index.js")
	if err != nil || !strings.Contains(string(index), `"Link":"services.html#health-monitors"`) {
		t.Errorf("the index of the search lacks a heading: %v", err)
	}
}

// A section has the words that operators search for, even where the pages use another one.
func TestSearch_FindsWordsOfOperators(t *testing.T) {
	t.Parallel()
	s, err := read(os.DirFS(checkout), newDictionary())
	if err != nil {
		t.Fatal(err)
	}
	for word, place := range map[string]string{
		"rollback": "docs/migration.md#going-back", "uninstall": "docs/uninstall.md#uninstall", "orphaned": "docs/cleanup.md#orphaned-objects",
		"preflight": "docs/commands.md#check", "quick start": "docs/tutorial.md#five-minutes-on-the-simulator",
		"pending": "docs/troubleshooting.md#a-service-has-no-address-pending", "dry run": "docs/commands.md#plan",
	} {
		source, id, _ := strings.Cut(place, "#")
		found := slices.ContainsFunc(s.pages[source].headings, func(h heading) bool {
			return h.ID == id && strings.Contains(strings.ToLower(h.Text+" "+h.below), word)
		})
		if !found {
			t.Errorf("%s does not have the words %q", place, word)
		}
	}
}

// identified are the places of a page that links can lead to.
func identified(t *testing.T, built fs.FS, name string) map[string]bool {
	t.Helper()
	content, err := fs.ReadFile(built, name)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{"": true}
	for _, found := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(string(content), -1) {
		ids[found[1]] = true
	}
	return ids
}

// assertLinks fails where a link of a page leads nowhere, or something is loaded from elsewhere.
func assertLinks(t *testing.T, built fs.FS, name string, ids map[string]map[string]bool) {
	t.Helper()
	content, err := fs.ReadFile(built, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`<(\w+)[^>]* (?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(string(content), -1) {
		element, to := found[1], found[2]
		if strings.Contains(to, "://") {
			if element != "a" {
				t.Errorf("%s loads %s", name, to)
			}
			continue
		}
		file, id, _ := strings.Cut(to, "#")
		if file = path.Join(path.Dir(name), file); strings.HasPrefix(to, "#") {
			file = name
		}
		if places, is := ids[file]; !is || !places[id] {
			t.Errorf("%s leads to %s, which is not there", name, to)
		}
	}
}

func TestSite_RefusesWhatReadersWouldStumbleOver(t *testing.T) {
	t.Parallel()
	const readme = "# Start\n\n## Reference\n\n- [A](a.md)\n- [Project](../README.md)\n"
	dictionary := newDictionary()
	for want, change := range map[string]fstest.MapFS{
		"":                           {},
		"docs/a.md links to gone.md": {"docs/a.md": {Data: []byte("# A\n\n[b](gone.md)\n")}},
		"links to #gone, and docs/a.md has no such":      {"docs/a.md": {Data: []byte("# A\n\n[b](#gone)\n")}},
		"links to README.md#b, and docs/README.md":       {"docs/a.md": {Data: []byte("# A\n\n[b](README.md#b)\n")}},
		"docs/a.md links to gone.png":                    {"docs/a.md": {Data: []byte("# A\n\n![b](gone.png)\n")}},
		"README.md links to docs/gone.md":                {"README.md": {Data: []byte("# P\n\n[b](docs/gone.md)\n")}},
		"docs/b.md is not in the navigation":             {"docs/b.md": {Data: []byte("# B\n")}},
		"docs/a.md does not begin with a title":          {"docs/a.md": {Data: []byte("A\n")}},
		`docs/a.md:3: "behaviour" is spelled "behavior"`: {"docs/a.md": {Data: []byte("# A\n\nbehaviour\n")}},
	} {
		files := fstest.MapFS{"docs/README.md": {Data: []byte(readme)}, "docs/a.md": {Data: []byte("# A\n\n## A `b` & [c](README.md#reference)\n\n[to](#a-b--creadmemdreference)\n")}, "README.md": {Data: []byte("# P\n")}}
		for name, file := range change {
			files[name] = file
		}
		_, err := read(files, dictionary)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Links to files outside of the documentation lead to the repository, all others to pages of the
// site.
func TestSite_LeadsToWherePagesAndFilesAre(t *testing.T) {
	t.Parallel()
	page := "# A\n\n[x](b/README.md), [a.md](a.md), [y](b/c.yaml), [z](../Makefile) <br> ![i](i.svg)\n\n| a |\n|---|\n| `b/c` |\n"
	s, err := read(fstest.MapFS{
		"docs/README.md": {Data: []byte("# Start\n\n## Reference\n\n- [First](a.md)\n- [Below](b/README.md)\n")},
		"docs/a.md":      {Data: []byte(page)}, "docs/b/README.md": {Data: []byte("# B\n\n[c](c.md)\n")}, "docs/b/c.md": {Data: []byte("# C\n\n## D\n\n[a](../a.md)\n")},
		"docs/b/c.yaml": {Data: []byte("a: b\n")}, "docs/i.svg": {Data: []byte("<svg/>")}, "Makefile": {},
	}, newDictionary())
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := s.write(out); err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"a.html": {
			`href="b/index.html">x</a>`, `href="a.html">First</a>`, `href="b/c.yaml"`, repository + `Makefile"`, `<br>`, `src="i.svg"`,
			`<div class="table"`, `<td data-label="a"><code>b/<wbr>c</code>`, `aria-current="page">First</a>`,
		},
		"b/c.html":  {`href="../a.html">a</a>`, `href="../style.css"`, `id="d"`, `aria-current="page">C</a>`, `href="../b/index.html">Below</a>`},
		"b/c.yaml":  {"a: b"},
		"i.svg":     {"<svg/>"},
		"search.js": {"search-index.js"},
	} {
		content, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(content), want) {
				t.Errorf("%s lacks %s:\n%s", name, want, content)
			}
		}
	}
}
