package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Requirement is one label that a node must have. Without HasValue any value
// of the label will do.
type Requirement struct {
	Key, Value string
	HasValue   bool
}

// ParseSelector reads a node selector: labels as key=value or key, separated
// by commas, all of which a node must have. Keys and values have the syntax of
// Kubernetes labels. The empty text has no requirements. A key that appears
// twice is refused, for no node can satisfy it or one of the two is idle.
func ParseSelector(text string) ([]Requirement, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var all []Requirement
	seen := map[string]bool{}
	for _, part := range strings.Split(text, ",") {
		r, err := parseRequirement(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if seen[r.Key] {
			return nil, fmt.Errorf("label %q is given twice", r.Key)
		}
		seen[r.Key] = true
		all = append(all, r)
	}
	return all, nil
}

func parseRequirement(text string) (Requirement, error) {
	key, value, hasValue := strings.Cut(text, "=")
	r := Requirement{Key: strings.TrimSpace(key), Value: strings.TrimSpace(value), HasValue: hasValue}
	if r.Key == "" {
		return Requirement{}, errors.New("a label without a key")
	}
	if !isLabelKey(r.Key) {
		return Requirement{}, fmt.Errorf("%q is not the key of a label", r.Key)
	}
	if r.Value != "" && !isLabelName(r.Value) {
		return Requirement{}, fmt.Errorf("%q is not the value of a label", r.Value)
	}
	return r, nil
}

// isLabelKey accepts a name, or a DNS name, a slash and a name.
func isLabelKey(text string) bool {
	prefix, name, found := strings.Cut(text, "/")
	if !found {
		return isLabelName(text)
	}
	return checkDomain(prefix) == nil && isLabelName(name)
}

// isLabelName accepts what Kubernetes takes as the name part of a label's key
// and as its value: 63 characters at most, alphanumeric at both ends.
func isLabelName(text string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`).MatchString(text)
}
