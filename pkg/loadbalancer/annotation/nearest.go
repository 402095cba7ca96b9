package annotation

import (
	"fmt"
	"strings"
)

// unknown says that there is no such annotation, and which one was perhaps meant.
func unknown(name string, table []Annotation) string {
	best, distance := "", len(name)
	for _, a := range table {
		if !strings.HasPrefix(a.Name, Prefix) {
			continue
		}
		if d := editDistance(strings.TrimPrefix(bounded(name), Prefix), strings.TrimPrefix(a.Name, Prefix)); d < distance {
			best, distance = a.Name, d
		}
	}
	if best == "" || distance > len(strings.TrimPrefix(best, Prefix))/2 {
		return "there is no such annotation"
	}
	return fmt.Sprintf("there is no such annotation: did you mean %q?", best)
}
