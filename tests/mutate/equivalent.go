package main

import "slices"

// equal is a mutant that nobody can tell from the original, and why.
type equal struct{ file, function, from, to, why string }

// equivalent returns the mutants that are not sampled because they change nothing that
// anybody can observe.
func equivalent() []equal {
	return nil
}

func withoutEquivalent(all []*mutant) []*mutant {
	return slices.DeleteFunc(all, func(m *mutant) bool {
		return slices.ContainsFunc(equivalent(), func(e equal) bool {
			return e.file == m.file.name && e.function == m.function && e.from == m.from && e.to == m.to
		})
	})
}
