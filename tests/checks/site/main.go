// Command site makes the documentation a site of static pages: those of docs/ and the pages
// beside the Makefile, with navigation and search. It fails where a link or an anchor leads
// nowhere, an image is missing, a page is not in the navigation, or a word is misspelled.
//
// The pages need no server and load nothing from elsewhere.
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
