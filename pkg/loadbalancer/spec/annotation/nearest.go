package annotation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

const (
	service       = "service.beta.kubernetes.io/"
	ourInService  = service + "openstack-"
	domainOfOurs  = "loadbalancer.openstack.org"
	othersDomains = "kubernetes.io"
)

// unknown returns a text that the annotation does not exist, with the nearest existing name. It
// returns false for names of other components:
//
//	name                                          ours
//	loadbalancer.openstack.org/…                  yes
//	a domain spelt like it/…                      yes
//	service.beta.kubernetes.io/openstack-…        yes
//	service.beta.kubernetes.io/ spelt like ours   yes
//	service.beta.kubernetes.io/ other             no: other clouds' (aws-…, azure-…)
//	other                                         no
//
// Other clouds' names with an equivalent among ours are reported too, unless the Service has that.
// With similar it searches for the nearest name, and for names that are spelled like ours. This is
// expensive, because a Service can have many annotations.
func unknown(name string, given map[string]string, table []Annotation, similar bool) (text string, reported bool) {
	ours := strings.HasPrefix(name, Prefix) || strings.HasPrefix(name, ourInService)
	if !similar {
		return none, ours
	}
	if !ours {
		if text, reported = foreign(name, given); reported {
			return text, true
		}
	} else if known, ok := instead(name, table); ok {
		return meant(known), true
	}
	domain, rest, _ := strings.Cut(name, "/")
	within := func(prefix string) (nearest string, ok bool) {
		var known []string
		for _, a := range table {
			if short, is := strings.CutPrefix(a.Name, prefix); is {
				known = append(known, short)
			}
		}
		if nearest, ok = otherEnding(rest, known); !ok {
			nearest, ok = config.Nearest(message.TruncateValue(rest), known)
		}
		return prefix + nearest, ok
	}
	switch {
	case domain == domainOfOurs:
		if nearest, ok := within(Prefix); ok {
			return meant(nearest), true
		}
		return none, true
	case domain+"/" == service:
		nearest, ok := within(service)
		if ok && sameStart(rest, strings.TrimPrefix(nearest, service)) {
			return meant(nearest), true
		}
		return none, strings.HasPrefix(name, ourInService)
	case strings.HasSuffix(domain, othersDomains):
		return "", false
	}
	if _, near := config.Nearest(message.TruncateValue(domain), []string{domainOfOurs}); !near {
		return "", false
	}
	if nearest, ok := within(Prefix); ok {
		return meant(nearest), true
	}
	return fmt.Sprintf("%s: annotations for load balancers begin with %q", none, Prefix), true
}

// otherEnding returns a known name that differs from a name only in the ending that tells an ID
// from a name.
func otherEnding(name string, known []string) (string, bool) {
	for _, by := range []struct {
		ending string
		knowns []string
	}{
		{"-name", []string{"", "-id"}}, {"-uuid", []string{"-id", ""}}, {"-id", []string{"", "-ids"}}, {"-ids", []string{"-id", ""}}, {"", []string{"-id", "-ids"}},
	} {
		head, ends := strings.CutSuffix(name, by.ending)
		for _, ending := range by.knowns {
			if ends && head != "" && slices.Contains(known, head+ending) {
				return head + ending, true
			}
		}
	}
	return "", false
}

const none = "there is no such annotation"

func meant(name string) string { return fmt.Sprintf("%s: did you mean %q?", none, name) }

// sameStart reports whether a name begins with the word that a known one begins with, or with one that is spelled
// similarly: other clouds begin theirs with their own. The hyphen after the word may be missing.
func sameStart(name, known string) bool {
	first, _, _ := strings.Cut(name, "-")
	word, _, _ := strings.Cut(known, "-")
	_, near := config.Nearest(first, []string{word})
	return near || strings.HasPrefix(first, word)
}
