package apierror

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"
)

// NoAnswerError is a request that got no answer. errors.As finds it below the
// errors of net/http and gophercloud.
type NoAnswerError struct {
	// Service is the name of the service that was asked.
	Service string
	// Method is the request's.
	Method string
	// Sent reports whether an attempt may have reached the service.
	Sent bool
	// Attempts is how often it was tried; 0 when its context ended before it was
	// its turn.
	Attempts int
	// Err is what happened to the last attempt.
	Err error
}

func (e *NoAnswerError) Error() string {
	text := "no answer from " + e.Service
	switch {
	case !e.Sent && e.Attempts == 0:
		text = "not sent to " + e.Service
	case !e.Sent:
		text = "no connection to " + e.Service
	}
	text += ": " + e.Err.Error()
	if e.Attempts > 1 {
		text += fmt.Sprintf(" (%d attempts)", e.Attempts)
	}
	return text
}

// Unwrap returns what happened to the last attempt.
func (e *NoAnswerError) Unwrap() error { return e.Err }

// TimeoutError is one attempt at a request that had no complete answer in time.
type TimeoutError struct {
	// After is the time that the attempt was given.
	After time.Duration
}

func (e *TimeoutError) Error() string { return fmt.Sprintf("no answer within %s", e.After) }

// Timeout marks the error as a timeout, as package net does.
func (e *TimeoutError) Timeout() bool { return true }

// TooLargeError is an answer that is longer than we are willing to read.
type TooLargeError struct {
	// Limit is in bytes.
	Limit int64
}

func (e *TooLargeError) Error() string { return fmt.Sprintf("answer longer than %d bytes", e.Limit) }

// IsPermanent reports whether an attempt without an answer failed for a reason of our
// own, so that the next one would fail as well: an answer that is too long, a
// certificate that is not trusted.
func IsPermanent(err error) bool {
	var tooLarge *TooLargeError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &tooLarge) || errors.As(err, &certificate)
}
