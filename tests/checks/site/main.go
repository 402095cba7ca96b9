// Command site renders the documentation, which is in docs/ and in the root, as static pages with
// navigation and search. It fails if a link, an anchor or an image does not exist, a page is not in
// the navigation, or a word is misspelled.
//
// The pages need no server and load nothing from other sites.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the checkout")
	out := flag.String("out", "out/site", "where the pages are written to")
	flag.Parse()
	if err := run(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root, out string) error {
	s, err := read(os.DirFS(root), newDictionary())
	if err != nil {
		return err
	}
	if err := s.write(out); err != nil {
		return err
	}
	fmt.Printf("%d pages: %s/index.html\n", len(s.pages), out)
	return nil
}
