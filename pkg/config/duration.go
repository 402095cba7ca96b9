package config

import (
	"fmt"
	"strings"
	"time"
)

// Duration is a time span that is not negative. In text it is a Go duration
// ("5s", "1m30s") or a bare number of seconds ("5"), which is what the
// annotations of the same names take.
type Duration struct{ time.Duration }

// UnmarshalText reads the forms that Duration describes. It refuses negative
// spans and text in any other form.
func (d *Duration) UnmarshalText(text []byte) error {
	value := strings.TrimSpace(string(text))
	if isNumber(value) {
		value += "s"
	}
	span, err := time.ParseDuration(value)
	if err != nil {
		return fmt.Errorf("reading duration: %w", err)
	}
	if span < 0 {
		return fmt.Errorf("duration %s is negative", span)
	}
	d.Duration = span
	return nil
}

// MarshalText writes the Go form, which UnmarshalText reads back.
func (d Duration) MarshalText() ([]byte, error) {
	return []byte(d.String()), nil
}

// isNumber says whether the text is only digits with at most one point, and
// perhaps a sign before them.
func isNumber(text string) bool {
	digits := strings.Replace(strings.TrimLeft(text, "+-"), ".", "", 1)
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}
