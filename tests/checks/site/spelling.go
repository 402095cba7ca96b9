package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/golangci/misspell"
)

// newDictionary returns the common misspellings, and what American English spells otherwise.
func newDictionary() *misspell.Replacer {
	r := &misspell.Replacer{Replacements: slices.Concat(misspell.DictMain, misspell.DictAmerican)}
	r.Compile()
	return r
}

// quoted is what people may misspell: the output of programs, which pages quote in blocks.
var quoted = regexp.MustCompile(`(?m)^(    .*|  (error|warning)  .*)$`)

// spelled returns an error for each word of a page that is misspelled.
func spelled(p *page, dictionary *misspell.Replacer) error {
	var wrong []error
	_, found := dictionary.Replace(quoted.ReplaceAllString(string(p.content), ""))
	for _, word := range found {
		wrong = append(wrong, fmt.Errorf("%s:%d: %q is spelled %q", p.source, word.Line, word.Original, word.Corrected))
	}
	return errors.Join(wrong...)
}
