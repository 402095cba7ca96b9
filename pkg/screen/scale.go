package screen

// Grade is one verdict of a report: its color, and the exit code of a report without a worse one.
type Grade[V comparable] struct {
	Verdict  V
	Color    Color
	ExitCode int
}

// Scale lists all verdicts of a kind of report, the best first.
type Scale[V comparable] []Grade[V]

// Rank returns the place of a verdict on the scale, -1 for none.
func (s Scale[V]) Rank(verdict V) int {
	for i, grade := range s {
		if grade.Verdict == verdict {
			return i
		}
	}
	return -1
}

// Color returns the color of a verdict.
func (s Scale[V]) Color(verdict V) Color { return s[s.Rank(verdict)].Color }

// Count returns the number of items with each verdict.
func Count[T any, V comparable](items []T, verdict func(T) V) map[V]int {
	counts := map[V]int{}
	for _, item := range items {
		counts[verdict(item)]++
	}
	return counts
}

// Worst returns the worst grade of all items, the best of the scale if there are none.
func Worst[T any, V comparable](scale Scale[V], items []T, verdict func(T) V) Grade[V] {
	worst := 0
	for _, item := range items {
		worst = max(worst, scale.Rank(verdict(item)))
	}
	return scale[worst]
}
