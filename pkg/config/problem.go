package config

import (
	"fmt"
	"strings"
)

// redacted stands for a secret wherever one would be printed.
const redacted = "(redacted)"

// place is where a value was written: a key of cloud.conf, a variable of the
// environment or an entry of clouds.yaml.
type place string

// confPlace is the place of a key in cloud.conf; name is that of a section
// which may appear many times, else "".
func confPlace(section, name, key string) place {
	if name != "" {
		section = fmt.Sprintf("%s %q", section, name)
	}
	return place(strings.TrimSpace(fmt.Sprintf("cloud.conf [%s] %s", section, key)))
}

// ValueError is a value that a setting cannot have. Its text names the place,
// the value unless it is secret, what is wrong with it and what is allowed.
type ValueError struct {
	// Place is where the value was written, such as
	// "cloud.conf [LoadBalancer] lb-method".
	Place string
	// Value is the text that was refused, or "(redacted)".
	Value string
	// Allowed says what to write instead.
	Allowed string
	// Err is the reason, if there is more to say than what is allowed.
	Err error
}

// Error tells all fields in one line.
func (e *ValueError) Error() string {
	text := fmt.Sprintf("%s %q", e.Place, e.Value)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text + ": allowed is " + e.Allowed
}

// Unwrap returns the reason.
func (e *ValueError) Unwrap() error { return e.Err }

// MissingError is a setting that is needed and not given.
type MissingError struct {
	// What is not complete, with its verb, such as "sign-in by password is".
	What string
	// Settings that are missing, each as the places where it can be written,
	// such as "tenant-id or tenant-name".
	Settings []string
	// Source is where they were looked for: "cloud.conf [Global]" or
	// "environment".
	Source string
}

// Error tells all fields in one line.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: %s incomplete: missing %s", e.Source, e.What, strings.Join(e.Settings, "; "))
}

// Warning is something that is not wrong enough to stop, but that the
// operator should know: a setting without effect, or with a surprising one.
type Warning struct {
	// Text is the whole message. It never contains a secret.
	Text string
	// Place is what it is about, as in a ValueError; "" where that is no single place.
	Place string
}

// String returns the text.
func (w Warning) String() string { return w.Text }
