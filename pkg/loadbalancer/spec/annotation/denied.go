package annotation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// Denied returns the annotations of a comma-separated list of names, such as deny-annotations of
// cloud.conf. A name may be without its prefix. It returns an error for an unknown name, because a
// typing error must not leave an annotation allowed, and for one that the controller writes.
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
			return nil, fmt.Errorf("%q is written by the controller itself: use shared-lb-scope to restrict the sharing of load balancers", name)
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

// shortName returns the name of an annotation without its prefix.
func shortName(name string) string { return name[strings.LastIndex(name, "/")+1:] }
