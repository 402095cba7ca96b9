package config

import (
	"strings"
	"testing"
	"time"
)

func TestDuration_AcceptsSecondsAndGoSyntax(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Second, "0": 0, "5s": 5 * time.Second, " 5 ": 5 * time.Second, "1.5": 1500 * time.Millisecond,
		"1m30s": 90 * time.Second, "200ms": 200 * time.Millisecond, ".5": 500 * time.Millisecond, "1h": time.Hour,
	} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.Duration != want {
			t.Errorf("%q is %v, error %v, want %v", text, d, err, want)
		}
	}
}

func TestDuration_RefusesOtherText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "-1", "-1s", "5 s", "s", ".", "five", "1e3", "5d", "1:30", "99999999999", "99999999999s", "0x5", "٥"} {
		d := Duration{time.Minute}
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, d)
		}
		if d.Duration != time.Minute {
			t.Errorf("%q changed the value in spite of the error", text)
		}
	}
}

// FuzzDuration looks for text that makes a negative span or does not survive
// being written and read again.
func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"5", "5s", "1m30s", "-1", "1.5", "", "9223372036", "1e9", "00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var first, second Duration
		if err := first.UnmarshalText([]byte(text)); err != nil {
			return
		}
		if first.Duration < 0 {
			t.Errorf("%q is negative: %v", text, first)
		}
		written, err := first.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := second.UnmarshalText(written); err != nil || first != second {
			t.Errorf("%q is %v, written %q, read again %v, error %v", text, first, written, second, err)
		}
		if strings.TrimSpace(text) == "" {
			t.Errorf("empty text is %v", first)
		}
	})
}
