package config

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	// maxTags is how many tags of the user's own a load balancer can have; Octavia
	// names no limit, and returns them all with each part of each load balancer.
	maxTags = 20
	// maxTagLength is how many bytes a tag can have; Octavia counts characters.
	maxTagLength = 255
	// reservedTags begins all tags by which load balancers are told to be ours, or
	// cloud-provider-openstack's.
	reservedTags = "kube_"
)

// TagsAllowed says what ParseTags takes.
const TagsAllowed = "tags separated by commas: at most 20, of at most 255 bytes, each once, none that begins with kube_"

// ParseTags reads tags for parts of load balancers; no text gives none, and superfluous commas
// are ignored, as in all lists. Letters' case
// makes no other tag: Octavia's database, as it is mostly set up, does not tell such
// tags apart, and Octavia answers 409 to one that it has.
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
		case tag == "": // superfluous commas are nothing
			continue
		case len(tag) > maxTagLength:
			return nil, fmt.Errorf("a tag has %d bytes", len(tag))
		case strings.ContainsFunc(tag, unicode.IsControl):
			return nil, fmt.Errorf("tag %q has a control character", tag)
		case strings.HasPrefix(key, reservedTags):
			return nil, fmt.Errorf("tag %q begins with %s", tag, reservedTags)
		case seen[key]:
			return nil, fmt.Errorf("tag %q is there twice", tag)
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
