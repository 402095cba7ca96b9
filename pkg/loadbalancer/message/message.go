// Package message keeps short what users and logs are told. Whoever may write a Service
// decides on the texts that errors and events quote, and on how many there are: each of
// them is kept by the API server, and written again with each retry.
package message

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The bounds, in bytes, so that they hold for characters too.
const (
	// MaxEvent is the longest message of an event: what events.k8s.io/v1 takes.
	MaxEvent = 1024
	// MaxError is the longest text of an error, which upstream puts into events behind
	// some words of its own.
	MaxError = 960
	// MaxRouteError is that of an error of a route: upstream's words are then the names of
	// the Node and of the route as well.
	MaxRouteError = 600
	// MaxReasons is how many reasons of one error are told.
	MaxReasons = 10
	// maxReason is the longest of them, where there are more, and maxValue the longest
	// value that one quotes.
	maxReason = 300
	maxValue  = 100
)

const ellipsis = "…"

// Cut gives a text of so many bytes at most, of whole characters; where something is
// left out it ends in "…". What is no UTF-8 becomes "?".
func Cut(text string, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(text, "?")
	}
	end := most - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.ToValidUTF8(text[:end], "?") + ellipsis
}

// Value gives a value that a user wrote as an error quotes it.
func Value(text string) string { return Cut(text, maxValue) }

// Join gives the reasons one after the other, as long as there are ten at most and
// they fit into so many bytes, and then how many more there are.
func Join(reasons []string, separator string, most int) string {
	if len(reasons) == 1 {
		return Cut(reasons[0], most)
	}
	const reserve = len("and 1000000 more")
	var text strings.Builder
	for i, reason := range reasons {
		reason = Cut(reason, maxReason)
		last := i == len(reasons)-1
		if i == MaxReasons || text.Len()+len(reason)+len(separator) > most-reserve && !(last && text.Len()+len(reason) <= most) {
			fmt.Fprintf(&text, "and %d more", len(reasons)-i)
			break
		}
		text.WriteString(reason)
		if !last {
			text.WriteString(separator)
		}
	}
	return text.String()
}

// InvalidError tells what of a Service is refused: each reason with its field, the
// value and what is allowed.
type InvalidError struct {
	// Reasons are the first ten.
	Reasons field.ErrorList
	text    string
}

// Error implements error.
func (e *InvalidError) Error() string { return e.text }

// Unwrap gives the reasons.
func (e *InvalidError) Unwrap() []error {
	all := make([]error, 0, len(e.Reasons))
	for _, reason := range e.Reasons {
		all = append(all, reason)
	}
	return all
}

// Invalid makes one error of many, an *InvalidError whose text has MaxError bytes at
// most; nil if there are none.
func Invalid(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	e := &InvalidError{}
	texts := make([]string, len(errs))
	for i, err := range errs[:min(MaxReasons, len(errs))] {
		short := *err
		if value, ok := err.BadValue.(string); ok {
			short.BadValue = Value(value)
		}
		e.Reasons = append(e.Reasons, &short)
		texts[i] = short.Error()
	}
	e.text = Join(texts, "; ", MaxError)
	return e
}

// Error gives an error whose text has MaxError bytes at most, and which wraps err; nil
// stays nil, and what is short enough stays as it is.
func Error(err error) error { return Within(err, MaxError) }

// Within is Error for a text of so many bytes at most.
func Within(err error, most int) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if short := Cut(text, most); short != text {
		return &cutError{err, short}
	}
	return err
}

type cutError struct {
	error
	text string
}

func (e *cutError) Error() string { return e.text }
func (e *cutError) Unwrap() error { return e.error }
