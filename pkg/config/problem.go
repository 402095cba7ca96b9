package config

import (
	"fmt"
	"strings"
)

// redacted replaces a secret in all texts.
const redacted = "(redacted)"

// place is the location of a value: a key of cloud.conf, an environment variable or an entry of
// clouds.yaml.
type place string

// confPlace returns the place of a key in cloud.conf. name is the name of the section, or "".
func confPlace(section, name, key string) place {
	if name != "" {
		section = fmt.Sprintf("%s %q", section, name)
	}
	return place(strings.TrimSpace(fmt.Sprintf("cloud.conf [%s] %s", section, key)))
}

// ValueError reports a value that is not valid. Its text contains the place, the value unless it is
// secret, the reason and the allowed values.
type ValueError struct {
	// Place is the location of the value, such as "cloud.conf [LoadBalancer] lb-method".
	Place string
	// Value is the invalid text, or "(redacted)".
	Value string
	// Allowed describes valid values.
	Allowed string
	// Err is the reason, nil if Allowed explains enough.
	Err error
}

// Error returns all fields in one line.
func (e *ValueError) Error() string {
	text := fmt.Sprintf("%s %q", e.Place, e.Value)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text + ": allowed is " + e.Allowed
}

// Unwrap returns the reason.
func (e *ValueError) Unwrap() error { return e.Err }

// MissingError reports required settings that are not given.
type MissingError struct {
	// What is the incomplete subject with its verb, such as "sign-in by password is".
	What string
	// Settings are the missing settings, each as the keys that can provide it, such as "tenant-id
	// or tenant-name".
	Settings []string
	// Source is where they can be given: "cloud.conf [Global]" or "environment".
	Source string
}

// Error returns all fields in one line.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: %s incomplete: missing %s", e.Source, e.What, strings.Join(e.Settings, "; "))
}

// Warning reports a setting without effect, or with a surprising one. It is not an error.
type Warning struct {
	// Text is the complete message. It contains no secrets.
	Text string
	// Place is the location, as in a ValueError; "" if there is more than one.
	Place string
}

// warning returns a Warning without a place.
func warning(format string, args ...any) Warning { return Warning{Text: fmt.Sprintf(format, args...)} }

// warningAt returns a Warning that begins with its place.
func warningAt(at place, format string, args ...any) Warning {
	return Warning{Text: string(at) + " " + fmt.Sprintf(format, args...), Place: string(at)}
}

// String returns the text.
func (w Warning) String() string { return w.Text }
