package apierror

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"
)

// NoAnswerError reports a request without an answer. errors.As finds it in the errors of net/http
// and gophercloud.
type NoAnswerError struct {
	// Service is the name of the service.
	Service string
	// Method is the method of the request.
	Method string
	// Sent reports whether an attempt may have reached the service.
	Sent bool
	// Attempts is the number of attempts; 0 if the context ended before the first one.
	Attempts int
	// Err is the error of the last attempt.
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

// Unwrap returns the error of the last attempt.
func (e *NoAnswerError) Unwrap() error { return e.Err }

// TimeoutError reports an attempt without a complete answer in time.
type TimeoutError struct {
	// After is the time limit of the attempt.
	After time.Duration
}

func (e *TimeoutError) Error() string { return fmt.Sprintf("no answer within %s", e.After) }

// Timeout marks the error as a timeout, as package net does.
func (e *TimeoutError) Timeout() bool { return true }

// TooLargeError reports an answer that exceeds the size limit.
type TooLargeError struct {
	// Limit is in bytes.
	Limit int64
}

func (e *TooLargeError) Error() string { return fmt.Sprintf("answer longer than %d bytes", e.Limit) }

// IsPermanent reports whether an attempt without an answer failed for a local reason, so that the
// next one would fail too: an oversized answer, or an untrusted certificate.
func IsPermanent(err error) bool {
	var tooLarge *TooLargeError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &tooLarge) || errors.As(err, &certificate)
}
