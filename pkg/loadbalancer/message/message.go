// Package message limits the length of events, errors and log lines. Users control the number and
// length of the texts that they quote, and the API server stores each of them again with each
// retry.
package message

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The limits, in bytes, so that they also hold for characters.
const (
	// MaxEvent is the maximum length of an event's message in events.k8s.io/v1.
	MaxEvent = 1024
	// MaxError is the maximum length of an error, to which the service controller adds a prefix in
	// events.
	MaxError = 960
	// MaxRouteError is the maximum length of a route's error: the route controller adds the names
	// of the Node and of the route.
	MaxRouteError = 600
	// MaxReasons is the maximum number of reasons in one error.
	MaxReasons = 10
	// maxReason is the maximum length of one of several reasons, maxValue that of a quoted value.
	maxReason = 300
	maxValue  = 100
)

const ellipsis = "…"

// Truncate returns a text in one line, of at most most bytes in whole characters; a shortened text
// ends in "…". Bytes that are not UTF-8 become "?"; line breaks, control characters and invisible
// ones become spaces, so that a text of a user can neither forge log lines nor control a terminal.
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

// visible replaces all invisible characters of a text. The result is not longer.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "?"))
}

// TruncateValue returns a user's value as errors quote it.
func TruncateValue(text string) string { return Truncate(text, maxValue) }

// At returns the text of an event with the load balancer and the address, if they are known and the
// text does not contain them. It has at most MaxEvent bytes, and is shortened before these two.
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

// Join joins the first reasons, at most MaxReasons and most bytes, and adds the number of the
// others.
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

// JoinLimited joins the first five names, and adds the number of the others.
func JoinLimited(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// InvalidError lists the invalid settings of a Service: each reason has its field, the value and
// the allowed values.
type InvalidError struct {
	// Reasons are the first ones, at most MaxReasons.
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

// Invalid returns an *InvalidError with a text of at most MaxError bytes; nil if there are no
// errors.
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

// TruncateError returns an error that wraps err with its text shortened by Truncate; err itself if
// its text is short enough, or if it is nil.
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
