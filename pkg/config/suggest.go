package config

import "strings"

// Nearest gives the known word that is nearest to a word, whatever the case of its
// letters, if it is near enough to be meant: at most a third of its
// letters differ. Of two that are as near it is the first.
func Nearest(word string, known []string) (string, bool) {
	best, least := "", len(word)/3+1
	for _, candidate := range known {
		if candidate == word && word != "" {
			return word, true // also where lower case would make one of two that are not UTF-8
		}
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best, best != ""
}

// distance counts the letters to insert, delete or replace to make one word of
// another (Levenshtein).
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, c := range to {
			cost := diagonal
			if r != c {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
