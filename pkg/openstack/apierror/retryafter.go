package apierror

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfter returns the delay that the service requested, 0 if there is none.
func RetryAfter(err error) time.Duration {
	resp := response(err)
	if resp == nil {
		return 0
	}
	// A date is compared with the service's own clock. Without a Date header it defines no delay.
	now, dateErr := http.ParseTime(resp.ResponseHeader.Get("Date"))
	after, ok := RetryAfterHeader(resp.ResponseHeader, now)
	if !ok || dateErr != nil && after > 24*time.Hour {
		return 0
	}
	return after
}

// RetryAfterHeader parses the header, as seconds or as a date (RFC 9110, 10.2.3), and limits it to
// one year. It returns false if the header is missing or malformed.
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
