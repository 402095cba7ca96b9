// Package spelling finds the word that was perhaps meant.
package spelling

// Nearest gives the known word that is nearest to a word, if it is near enough to
// be meant: at most a third of its letters differ.
func Nearest(word string, known []string) (string, bool) {
	best, least := "", len(word)/3+1
	for _, candidate := range known {
		if d := distance(word, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best, best != ""
}

// distance counts the letters to insert, delete or replace to make one word of
// another (Levenshtein).
func distance(a, b string) int {
	previous := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		current := make([]int, len(b)+1)
		current[0] = i + 1
		for j := range len(b) {
			replaced := previous[j]
			if a[i] != b[j] {
				replaced++
			}
			current[j+1] = min(replaced, previous[j+1]+1, current[j]+1)
		}
		previous = current
	}
	return previous[len(b)]
}
