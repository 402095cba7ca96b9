package features

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Break is a change of the source that removes a feature. The tests of its row must detect it.
type Break struct {
	Row int
	// What describes the broken program, in a sentence without a capital and a full stop that can
	// be understood without the row.
	What string
	// File, a path from the root, contains Old exactly once. New replaces it. Old is best one short
	// expression that implements the feature.
	File, Old, New string
	// Tests are tests of the row that must fail with the break.
	Tests []string
}

// Breaks returns all breaks.
func Breaks() []Break {
	return slices.Concat(listenerBreaks(), addressBreaks(), settingBreaks(), memberBreaks(),
		sharingBreaks(), groupBreaks(), faultBreaks(), errorBreaks(), driftBreaks(), conditionBreaks(), garbageBreaks(), dryRunBreaks(), planBreaks(), operatorBreaks(), clusterBreaks(), metricsBreaks(), routerBreaks(), forwardingBreaks())
}

// Apply returns the text of the break's file with the break in it.
func (b Break) Apply(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, b.File))
	if err != nil {
		return "", fmt.Errorf("break of row %d: %w", b.Row, err)
	}
	if n := strings.Count(string(text), b.Old); n != 1 || b.Old == b.New {
		return "", fmt.Errorf("break of row %d does not apply: %s contains the old text %d times, want once and a different new text:\n%s", b.Row, b.File, n, b.Old)
	}
	return strings.Replace(string(text), b.Old, b.New, 1), nil
}

// tests returns the tests of the break, all of which must prove its row.
func (b Break) tests(proofs []Proof) ([]Test, error) {
	var found []Test
	for _, test := range testsOf(b.Row, proofs) {
		if slices.Contains(b.Tests, test.Name) {
			found = append(found, test)
		}
	}
	if len(found) != len(b.Tests) || len(found) == 0 {
		return nil, fmt.Errorf("break of row %d: %d of its tests (%s) prove the row, want all, and at least one",
			b.Row, len(found), strings.Join(b.Tests, ", "))
	}
	return found, nil
}

// CheckBreaks returns an error for each break that no longer applies or names tests that do not
// prove its row, and for each kept row without a break.
func CheckBreaks(root string, breaks []Break, proofs []Proof, kept map[int]bool) error {
	var errs []error
	broken := map[int]bool{}
	for _, b := range breaks {
		broken[b.Row] = true
		_, err := b.Apply(root)
		_, inTests := b.tests(proofs)
		errs = append(errs, err, inTests)
	}
	for _, n := range slices.Sorted(maps.Keys(kept)) {
		if !broken[n] {
			errs = append(errs, fmt.Errorf("%s has \"yes\" in row %d, but no break shows that its tests fail without the feature (tests/checks/features/breaks.go)", Page, n))
		}
	}
	return errors.Join(errs...)
}
