package apierror

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfter returns the time that the service asked to wait before the next try, 0
// when it did not ask.
func RetryAfter(err error) time.Duration {
	resp := response(err)
	if resp == nil {
		return 0
	}
	// Against the service's own clock; with no Date, a Retry-After that is a date
	// does not name a duration.
	now, dateErr := http.ParseTime(resp.ResponseHeader.Get("Date"))
	after, ok := RetryAfterHeader(resp.ResponseHeader, now)
	if !ok || dateErr != nil && after > 24*time.Hour {
		return 0
	}
	return after
}

// RetryAfterHeader reads the header of that name, in its forms of seconds and of a
// date (RFC 9110, 10.2.3), a year at the longest. It returns false when there is none that can
// be read.
func RetryAfterHeader(header http.Header, now time.Time) (time.Duration, bool) {
	const year = 365 * 24 * time.Hour
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, int(year/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return min(max(0, at.Sub(now)), year), true
}
