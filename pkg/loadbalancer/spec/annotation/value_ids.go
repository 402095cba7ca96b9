package annotation

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// ids parses up to a number of comma-separated IDs of OpenStack, or "none".
func ids(allowed string, most int, at func(*Values) **string) Value {
	return value("list", allowed, ruleOfIDs(most), func(v *Values, value string) bool {
		parts := listed(value)
		for _, part := range parts {
			if !isID(part) && value != "none" {
				return false
			}
		}
		joined := strings.Join(parts, ",")
		*at(v) = &joined
		return len(parts) > 0 && len(parts) <= most
	})
}

// subnets parses one up to a number of comma-separated IDs of subnets, each once.
func subnets(allowed string, most int, at func(*Values) **string) Value {
	return value("list", allowed, ruleOfSubnets(most), func(v *Values, value string) bool {
		parts := listed(strings.ToLower(value))
		joined := strings.Join(parts, ",")
		*at(v) = &joined
		return len(parts) > 0 && len(parts) <= most && !slices.ContainsFunc(parts, func(part string) bool { return !isID(part) })
	})
}

// listed returns the items of a comma-separated list. Superfluous commas are ignored in all lists,
// as in cloud-provider-openstack.
func listed(list string) []string {
	var parts []string
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// isID reports whether a text is an ID in OpenStack's format.
func isID(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil }
