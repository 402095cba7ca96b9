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

// Break is a change of the source that takes a feature away, to see whether the
// tests of its row notice.
type Break struct {
	Row int
	// What goes wrong then.
	What string
	// File, from the root, has Old exactly once; New takes its place. Old is best
	// one short expression that is the feature.
	File, Old, New string
	// Tests of the row that must fail by it.
	Tests []string
}

// Breaks gives all of them.
func Breaks() []Break {
	return slices.Concat(listenerBreaks(), addressBreaks(), settingBreaks(), memberBreaks(),
		sharingBreaks(), groupBreaks(), faultBreaks(), errorBreaks(), driftBreaks(), conditionBreaks(), garbageBreaks(), dryRunBreaks(), planBreaks(), operatorBreaks(), clusterBreaks(), metricsBreaks())
}

// Apply returns the text of the break's file with the break in it.
func (b Break) Apply(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, b.File))
	if err != nil {
		return "", fmt.Errorf("break of row %d: %w", b.Row, err)
	}
	if n := strings.Count(string(text), b.Old); n != 1 || b.Old == b.New {
		return "", fmt.Errorf("break of row %d does not apply: %s has %d times, want once and something else instead:\n%s", b.Row, b.File, n, b.Old)
	}
	return strings.Replace(string(text), b.Old, b.New, 1), nil
}

// tests finds the break's tests among those that prove its row.
func (b Break) tests(proofs []Proof) ([]Test, error) {
	var found []Test
	for _, test := range testsOf(b.Row, proofs) {
		if slices.Contains(b.Tests, test.Name) {
			found = append(found, test)
		}
	}
	if len(found) != len(b.Tests) || len(found) == 0 {
		return nil, fmt.Errorf("break of row %d: %d of its tests (%s) prove the row, want all and one at least",
			b.Row, len(found), strings.Join(b.Tests, ", "))
	}
	return found, nil
}

// CheckBreaks says which breaks do not apply any more, or name tests that do not
// prove their row, and which kept rows have none.
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
			errs = append(errs, fmt.Errorf("%s says yes of row %d, and no break shows that its tests would see the feature go (tests/checks/features/breaks.go)", Page, n))
		}
	}
	return errors.Join(errs...)
}
