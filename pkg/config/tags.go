package config

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	// maxTags is the maximum number of user-defined tags. Octavia documents no limit, and returns
	// all tags with each part of each load balancer.
	maxTags = 20
	// maxTagLength is the maximum length of a tag in bytes; Octavia counts characters.
	maxTagLength = 255
	// reservedTags is the prefix of the tags that identify load balancers of this controller and of
	// cloud-provider-openstack.
	reservedTags = "kube_"
)

// TagsAllowed describes the texts that ParseTags accepts.
const TagsAllowed = "tags separated by commas: at most 20, of at most 255 bytes, each once, none that begins with kube_"

// ParseTags parses tags for parts of load balancers. An empty text has none, and empty items are
// ignored, as in all lists. Tags that differ only in case are duplicates: with its usual collation,
// Octavia's database does not distinguish them, and Octavia answers 409.
func ParseTags(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var tags []string
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		tag := strings.TrimSpace(part)
		key := strings.ToLower(tag)
		switch {
		case tag == "": // empty items are ignored
			continue
		case len(tag) > maxTagLength:
			return nil, fmt.Errorf("a tag has %d bytes", len(tag))
		case strings.ContainsFunc(tag, unicode.IsControl):
			return nil, fmt.Errorf("tag %q has a control character", tag)
		case strings.HasPrefix(key, reservedTags):
			return nil, fmt.Errorf("tag %q begins with %s", tag, reservedTags)
		case seen[key]:
			return nil, fmt.Errorf("tag %q is given twice", tag)
		}
		seen[key] = true
		tags = append(tags, tag)
	}
	if len(tags) > maxTags {
		return nil, fmt.Errorf("it has %d tags", len(tags))
	}
	return tags, nil
}

func checkTags(text string) error {
	_, err := ParseTags(text)
	return err
}
