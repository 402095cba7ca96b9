package annotation

import (
	"fmt"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/spelling"
)

// unknown says that there is no such annotation, and which one was perhaps meant.
func unknown(name string, table []Annotation) string {
	var known []string
	for _, a := range table {
		if short, ok := strings.CutPrefix(a.Name, Prefix); ok {
			known = append(known, short)
		}
	}
	if nearest, ok := spelling.Nearest(bounded(strings.TrimPrefix(name, Prefix)), known); ok {
		return fmt.Sprintf("there is no such annotation: did you mean %q?", Prefix+nearest)
	}
	return "there is no such annotation"
}
