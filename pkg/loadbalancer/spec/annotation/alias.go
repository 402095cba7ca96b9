package annotation

import (
	"fmt"
	"slices"
	"strings"
)

// Aliases returns the annotation for each name that users write instead: with Prefix, as the keys of
// cloud.conf, and of other clouds and controllers.
func Aliases() map[string]string {
	all, table := aliases(), Table()
	for _, a := range table {
		name := Prefix + a.Key
		if a.Key != "" && !slices.ContainsFunc(table, func(other Annotation) bool { return other.Name == name }) {
			all[name] = a.Name
		}
	}
	return all
}

// instead returns the annotation for an alias or a key of cloud.conf.
func instead(name string, table []Annotation) (string, bool) {
	if known, ok := aliases()[name]; ok {
		return known, true
	}
	key, ours := strings.CutPrefix(name, Prefix)
	at := slices.IndexFunc(table, func(a Annotation) bool { return a.Key == key })
	if !ours || key == "" || at < 0 {
		return "", false
	}
	return table[at].Name, true
}

// foreign returns the text for an annotation of another cloud or controller that has an equivalent
// here. A Service that has both is for several clouds.
func foreign(name string, given map[string]string) (text string, reported bool) {
	known, ok := aliases()[name]
	if _, has := given[known]; !ok || has {
		return "", false
	}
	return fmt.Sprintf("has no effect on OpenStack: did you mean %q?", known), true
}
