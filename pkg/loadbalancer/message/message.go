// Package message bounds the length of events, errors and log lines. Whoever may write a
// Service decides on the texts that they quote, and on how many there are: each of them is
// stored by the API server, and written again with each retry.
package message

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The bounds, in bytes, so that they hold for characters too.
const (
	// MaxEvent is the longest message of an event: what events.k8s.io/v1 accepts.
	MaxEvent = 1024
	// MaxError is the longest text of an error, which the service controller puts into
	// events after some words of its own.
	MaxError = 960
	// MaxRouteError is the longest text of an error of a route: the words of the route
	// controller include the names of the Node and of the route.
	MaxRouteError = 600
	// MaxReasons is how many reasons one error lists.
	MaxReasons = 10
	// maxReason is the longest of several reasons, and maxValue the longest value that a
	// reason quotes.
	maxReason = 300
	maxValue  = 100
)

const ellipsis = "…"

// Truncate returns a text in one line, of most bytes at the longest, in whole characters; where
// something is left out it ends in "…". Bytes that are not UTF-8 become "?", and line breaks,
// control characters and those that cannot be seen become spaces: whoever writes the text
// writes no lines of the log, nor to the terminal of who reads it.
func Truncate(text string, most int) string {
	if len(text) <= most {
		return visible(text)
	}
	end := most - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return visible(text[:end]) + ellipsis
}

// visible returns a text with nothing but characters that can be seen. It gets no longer.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "?"))
}

// TruncateValue returns a value that a user wrote as errors quote it.
func TruncateValue(text string) string { return Truncate(text, maxValue) }

// At returns the text of an event with the load balancer and the address that it is about, as
// far as they are known and it does not name them already: MaxEvent bytes at most, of which
// these two are never what is left out.
func At(text, loadBalancerID, address string) string {
	var missing []string
	if loadBalancerID != "" && !strings.Contains(text, loadBalancerID) {
		missing = append(missing, "load balancer "+TruncateValue(loadBalancerID))
	}
	if address != "" && !strings.Contains(text, address) {
		missing = append(missing, TruncateValue(address))
	}
	if len(missing) == 0 {
		return Truncate(text, MaxEvent)
	}
	at := " [" + strings.Join(missing, ", ") + "]"
	return Truncate(text, MaxEvent-len(at)) + at
}

// Join returns the first reasons, MaxReasons and most bytes at the longest, and how many
// more there are.
func Join(reasons []string, separator string, most int) string {
	if len(reasons) == 1 {
		return Truncate(reasons[0], most)
	}
	const reserve = len("and 1000000 more")
	var text strings.Builder
	for i, reason := range reasons {
		reason = Truncate(reason, maxReason)
		last := i == len(reasons)-1
		if i == MaxReasons || text.Len()+len(reason)+len(separator) > most-reserve && (!last || text.Len()+len(reason) > most) {
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

// JoinLimited joins names: five at most, and then how many more there are.
func JoinLimited(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// InvalidError lists what of a Service is invalid: each reason with its field, the value
// and what is allowed.
type InvalidError struct {
	// Reasons are the first ones, MaxReasons at most.
	Reasons field.ErrorList
	text    string
}

// Error implements error.
func (e *InvalidError) Error() string { return e.text }

// Unwrap returns the reasons.
func (e *InvalidError) Unwrap() []error {
	all := make([]error, 0, len(e.Reasons))
	for _, reason := range e.Reasons {
		all = append(all, reason)
	}
	return all
}

// Invalid returns an *InvalidError whose text has MaxError bytes at most; nil where there
// are no errors.
func Invalid(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	e := &InvalidError{}
	texts := make([]string, len(errs))
	for i, err := range errs[:min(MaxReasons, len(errs))] {
		short := *err
		if value, ok := err.BadValue.(string); ok {
			short.BadValue = TruncateValue(value)
		}
		e.Reasons = append(e.Reasons, &short)
		texts[i] = short.Error()
	}
	e.text = Join(texts, "; ", MaxError)
	return e
}

// TruncateError returns an error whose text is as Truncate returns it, and which wraps err; err
// itself, which may be nil, where its text is like that already.
func TruncateError(err error, most int) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if short := Truncate(text, most); short != text {
		return &truncatedError{err, short}
	}
	return err
}

type truncatedError struct {
	error
	text string
}

func (e *truncatedError) Error() string { return e.text }
func (e *truncatedError) Unwrap() error { return e.error }
