package annotation

import (
	"strings"

	"github.com/google/uuid"
)

// ids reads so many IDs of OpenStack at most, separated by commas, or "none". Empty
// ones are the same as no annotation.
func ids(allowed string, most int, at func(*Values) **string) Value {
	return Value{"list", allowed, func(v *Values, value string) bool {
		if value == "" {
			return true
		}
		parts := strings.Split(value, ",")
		for _, part := range parts {
			if !isID(strings.TrimSpace(part)) && value != "none" {
				return false
			}
		}
		*at(v) = &value
		return len(parts) <= most
	}}
}

// isID tells whether a text is an ID as OpenStack writes them.
func isID(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil }
