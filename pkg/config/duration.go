package config

import (
	"fmt"
	"strings"
	"time"
)

// Duration is a time span that is not negative. Its text is a Go duration ("5s", "1m30s") or a
// number of seconds ("5"), as in the annotations of the same names.
type Duration struct{ time.Duration }

// UnmarshalText parses the texts that Duration describes. It returns an error for negative spans
// and all other texts.
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

// MarshalText returns the Go form, which UnmarshalText parses.
func (d Duration) MarshalText() ([]byte, error) {
	return []byte(d.String()), nil
}

// isNumber reports whether the text is digits with at most one point and an optional sign.
func isNumber(text string) bool {
	digits := strings.Replace(strings.TrimLeft(text, "+-"), ".", "", 1)
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}
