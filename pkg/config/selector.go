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

// SelectorAllowed says what a node selector can be.
const SelectorAllowed = "node labels as key=value or key, separated by commas; also zone in (a,b), zone notin (a,b), zone!=a and !key"

// ParseSelector reads a node selector: labels that a node must have, separated by
// commas. It is read as cloud-provider-openstack reads it (StringToMap and
// matchNodeLabels, v1.36), and what that can never match is read as a selector of
// Kubernetes:
//
//	text                       nodes
//	nothing, or commas alone   all
//	key, key=                  those that have the label, whatever its value
//	key=value                  those with that value
//	a=b,a=c                    the last one counts: a=c
//	zone in (a,b), !key, …     as Kubernetes selects
//
// It is an error if no node could ever have such a label.
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
		return nil, fmt.Errorf("%q is no selector of Kubernetes", text)
	}
	return keysAlone(parsed), nil
}

// parseLabels reads labels, by key.
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

// selectorOf selects nodes that have all of these labels; an empty value is any.
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

// keysAlone gives "key=" within a selector of Kubernetes the meaning that it has in a
// list of labels.
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
func isLabelName(text string) bool { return labelName.MatchString(text) }

var labelName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
