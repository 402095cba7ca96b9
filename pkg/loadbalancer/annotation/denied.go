package annotation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// Denied returns the annotations that a list of names, such as deny-annotations of
// cloud.conf, means: comma-separated, each whole or without what is before its "/". An
// error names one that there is not, so that nothing stays allowed by a typing error,
// or that the controller itself writes.
func Denied(list string) ([]string, error) {
	var denied []string
	table := Table()
	for part := range strings.SplitSeq(list, ",") {
		name := strings.TrimSpace(part)
		if name == "" {
			continue
		}
		at := slices.IndexFunc(table, func(a Annotation) bool { return a.Name == name || shortName(a.Name) == name })
		switch {
		case at < 0:
			nearest, ok := config.Nearest(shortName(name), shortNames(table))
			if ok {
				nearest = fmt.Sprintf(": did you mean %q?", nearest)
			}
			return nil, fmt.Errorf("%q is not an annotation of Services%s", name, nearest)
		case table[at].Change == Written || table[at].Name == LoadBalancerID:
			return nil, fmt.Errorf("%q is written by the controller itself: whom load balancers are shared with is said by shared-lb-scope", name)
		}
		denied = append(denied, table[at].Name)
	}
	return denied, nil
}

func shortNames(table []Annotation) []string {
	var names []string
	for _, a := range table {
		names = append(names, shortName(a.Name))
	}
	return names
}

// shortName returns the name of an annotation without what is before its "/".
func shortName(name string) string { return name[strings.LastIndex(name, "/")+1:] }
