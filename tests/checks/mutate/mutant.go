package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// mutant is one small change of the code.
type mutant struct {
	number int
	pkg    *pkg
	file   *file
	line   int
	// function, operator, from and to describe the change.
	function, operator, from, to string
	// nth counts mutants of one function that would read alike.
	nth int
	// start and end are where the changed code is in the file, as offsets.
	start, end int
	// render returns the code with a branch that is taken when the mutant is on. text
	// returns parts of the original, whole all of it, both with the branches of others.
	render func(on string, text func(start, end int) string, whole string) string
}

// String returns the place and the change.
func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s: %s => %s", m.file.name, m.line, m.function, m.operator, m.from, m.to)
}

// rank returns where a mutant is in the order of a seed. It does not depend on other
// functions, so that a sample stays much the same as the code changes.
func (m *mutant) rank(seed uint64) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s %s %s %s %d", seed, m.file.name, m.function, m.operator, m.from, m.to, m.nth))
	return binary.BigEndian.Uint64(sum[:])
}

// count numbers the mutants that read alike, in the order of the source.
func count(all []*mutant) {
	slices.SortStableFunc(all, func(a, b *mutant) int {
		return cmp.Or(cmp.Compare(a.file.name, b.file.name), cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	alike := map[string]int{}
	for _, m := range all {
		key := fmt.Sprint(m.file.name, m.function, m.operator, m.from, m.to)
		m.nth = alike[key]
		alike[key]++
	}
}

// sample returns as many mutants as wanted, in the order of the source. The same seed
// always takes the same.
func sample(all []*mutant, seed uint64, wanted int) []*mutant {
	chosen := slices.SortedFunc(slices.Values(all), func(a, b *mutant) int {
		return cmp.Compare(a.rank(seed), b.rank(seed))
	})
	chosen = chosen[:min(wanted, len(chosen))]
	slices.SortFunc(chosen, func(a, b *mutant) int {
		return cmp.Or(cmp.Compare(a.file.name, b.file.name), cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.operator, b.operator))
	})
	for i, m := range chosen {
		m.number = i + 1
	}
	return chosen
}

func matching(all []*mutant, only *regexp.Regexp) []*mutant {
	return slices.DeleteFunc(all, func(m *mutant) bool { return !only.MatchString(m.String()) })
}

// short returns code in one line, cut where it is long.
func short(code string) string {
	code = strings.Join(strings.Fields(code), " ")
	if runes := []rune(code); len(runes) > 90 {
		return string(runes[:89]) + "…"
	}
	return code
}
