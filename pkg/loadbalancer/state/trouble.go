package state

import "time"

// Trouble is an obstacle in the cloud that consecutive rounds of a Service have met. The zero value
// is none.
type Trouble struct {
	// Key identifies the trouble.
	Key string
	// Times is the number of these rounds in this process.
	Times int
	// Text is the report of the first round, with its request ID, so that repeated events are
	// equal.
	Text string
}

// Meet records the trouble of a round at a time. Text returns the report of a new one.
func (t *Trouble) Meet(key string, now time.Time, text func(since time.Time) string) {
	if t.Key != key {
		*t = Trouble{Key: key, Text: text(now)}
	}
	t.Times++
}
