package screen

import (
	"encoding/json"
	"io"
)

// WriteJSON writes a value as JSON for programs: indented, as people read it too, and without the
// escapes that only HTML needs.
func WriteJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
