package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// SelectorAllowed describes the texts that ParseSelector accepts.
const SelectorAllowed = "node labels as key=value or key, separated by commas; also zone in (a,b), zone notin (a,b), zone!=a and !key"

// ParseSelector parses a node selector: labels that a node must have, separated by commas. It
// interprets the text as cloud-provider-openstack does (StringToMap and matchNodeLabels, v1.36). A
// text that could never match there is parsed as a Kubernetes selector:
//
//	text                       nodes
//	nothing, or commas alone   all
//	key, key=                  those that have the label, with any value
//	key=value                  those with that value
//	a=b,a=c                    the last one applies: a=c
//	zone in (a,b), !key, …     as Kubernetes selects
//
// It returns an error if no node could ever have such a label.
func ParseSelector(text string) (labels.Selector, error) {
	wanted, err := parseLabels(text)
	if err == nil {
		return selectorOf(wanted), nil
	}
	if !strings.ContainsAny(text, "!()") && !strings.Contains(text, "==") {
		return nil, err
	}
	parsed, err := labels.Parse(strings.Trim(text, ", \t\r\n"))
	if err != nil {
		return nil, fmt.Errorf("%q is not a Kubernetes selector", text)
	}
	return keysAlone(parsed), nil
}

// parseLabels parses labels, by key.
func parseLabels(text string) (map[string]string, error) {
	wanted := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case key == "":
			return nil, errors.New("a label without a key")
		case !isLabelKey(key):
			return nil, fmt.Errorf("%q is not the key of a label", key)
		case value != "" && !isLabelName(value):
			return nil, fmt.Errorf("%q is not the value of a label", value)
		}
		wanted[key] = value
	}
	return wanted, nil
}

// selectorOf selects nodes that have all of these labels; an empty value matches any.
func selectorOf(wanted map[string]string) labels.Selector {
	selector := labels.NewSelector()
	for key, value := range wanted {
		operator, values := selection.Equals, []string{value}
		if value == "" {
			operator, values = selection.Exists, nil
		}
		if r, err := labels.NewRequirement(key, operator, values); err == nil { // both were checked
			selector = selector.Add(*r)
		}
	}
	return selector
}

// keysAlone gives "key=" in a Kubernetes selector the meaning that it has in a list of labels.
func keysAlone(selector labels.Selector) labels.Selector {
	all, _ := selector.Requirements()
	made := labels.NewSelector()
	for _, r := range all {
		if r.Operator() == selection.Equals && slices.Equal(r.ValuesUnsorted(), []string{""}) {
			if has, err := labels.NewRequirement(r.Key(), selection.Exists, nil); err == nil {
				r = *has
			}
		}
		made = made.Add(r)
	}
	return made
}

// isLabelKey reports whether a text is a name, or a DNS name, a slash and a name.
func isLabelKey(text string) bool {
	prefix, name, found := strings.Cut(text, "/")
	if !found {
		return isLabelName(text)
	}
	return checkDomain(prefix) == nil && isLabelName(name)
}

// isLabelName reports whether Kubernetes accepts a text as the value of a label or as the name part
// of its key: at most 63 characters, alphanumeric at both ends.
func isLabelName(text string) bool { return labelName.MatchString(text) }

var labelName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
