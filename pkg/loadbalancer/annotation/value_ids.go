package annotation

import (
	"strings"

	"github.com/google/uuid"
)

// ids reads so many IDs of OpenStack at most, separated by commas, or "none".
func ids(allowed string, most int, at func(*Values) **string) Value {
	return value("list", allowed, ruleOfIDs(most), func(v *Values, value string) bool {
		parts := strings.Split(value, ",")
		for _, part := range parts {
			if !isID(strings.TrimSpace(part)) && value != "none" {
				return false
			}
		}
		*at(v) = &value
		return len(parts) <= most
	})
}

// isID reports whether a text is an ID as OpenStack writes them.
func isID(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil }
