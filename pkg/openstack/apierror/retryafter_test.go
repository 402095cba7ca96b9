package apierror

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfterHeader_ReadsSecondsAndDates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]struct {
		want time.Duration
		ok   bool
	}{
		"7":                             {7 * time.Second, true},
		"0":                             {0, true},
		"-1":                            {0, false},
		"":                              {0, false},
		"99999999999":                   {365 * 24 * time.Hour, true}, // as nanoseconds, too many for an int64
		"99999999999999999999":          {0, false},
		"Fri, 02 Jan 9999 03:04:25 GMT": {365 * 24 * time.Hour, true},
		"soon":                          {0, false},
		"Fri, 02 Jan 2026 03:04:25 GMT": {20 * time.Second, true},
		"Fri, 02 Jan 2026 03:04:00 GMT": {0, true},
	}
	for text, test := range tests {
		got, ok := RetryAfterHeader(http.Header{"Retry-After": {text}}, now)
		if got != test.want || ok != test.ok {
			t.Errorf("%q: %s, %t; want %s, %t", text, got, ok, test.want, test.ok)
		}
	}
}
