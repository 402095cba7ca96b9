package status

import (
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// quiet is the time after which an error that was not repeated is over: every failure is retried
// within five minutes, except those that Octavia shows as ERROR.
const quiet = 10 * time.Minute

// failures returns the reasons of events that report that a Service could not be served: the
// service controller's, and that of a change of nodes.
func failures() []string {
	return []string{"SyncLoadBalancerFailed", "UpdateLoadBalancerFailed", "DeleteLoadBalancerFailed"}
}

// successes returns the reasons of events that end earlier failures.
func successes() []string {
	return []string{"EnsuredLoadBalancer", string(reason.Updated), string(reason.Ready)}
}

// reportedOnce returns the reasons of events that report a repeated failure once.
func reportedOnce() []string {
	return []string{string(reason.InError), string(reason.Pending), string(reason.QuotaExceeded)}
}

// requestID finds the ID of OpenStack's refused request in an error.
var requestID = regexp.MustCompile(`\(request ([^\s()]+)\)`)

// lastError returns the newest error of a Service, nil without a recent one, and the newest warning
// of each other reason, newest first; that rollouts lose connections is one. It ignores the error of a Service being created, which
// another version may have emitted.
func lastError(all []v1.Event, now time.Time) (failure *Event, warnings []Event) {
	newest := map[string]Event{}
	success := served(all)
	for _, e := range all {
		read := eventOf(e)
		switch {
		case e.Type != v1.EventTypeWarning && read.Reason != string(reason.RolloutLoses) || strings.Contains(e.Message, reason.GoesOn) || slices.Contains(reportedOnce(), e.Reason):
		case slices.Contains(failures(), e.Reason):
			if failure == nil || read.Last.After(failure.Last) {
				failure = &read
			}
		case newest[e.Reason].Last.Before(read.Last):
			newest[e.Reason] = read
		}
	}
	if failure != nil {
		failure.Over = !failure.Last.After(success) || now.Sub(failure.Last) > quiet
	}
	for _, warning := range newest {
		warnings = append(warnings, warning)
	}
	slices.SortFunc(warnings, func(a, b Event) int {
		if byTime := b.Last.Compare(a.Last); byTime != 0 {
			return byTime
		}
		return strings.Compare(a.Reason, b.Reason)
	})
	return failure, warnings
}

// served returns the time at which a Service last had its desired state according to events; zero
// if there is none.
func served(all []v1.Event) time.Time {
	var last time.Time
	for _, e := range all {
		if slices.Contains(successes(), e.Reason) {
			last = later(last, eventOf(e).Last)
		}
	}
	return last
}

// preamble is the prefix of errors of the service controller, and of a change of nodes.
var preamble = regexp.MustCompile(`^Error (syncing|updating|deleting) load balancer( with new hosts .*?, error)?: (failed to ensure load balancer: )?`)

// text returns the message without the prefix that repeats its reason.
func (e Event) text() string { return strings.TrimPrefix(e.Message, preamble.FindString(e.Message)) }

// unsaid returns the part of an error's text that is in none of the problems, and whether one has
// its beginning. Each attempt has another request ID, and another end.
func unsaid(problems []Problem, text string) (rest string, said bool) {
	const separator = "; "
	parts := strings.Split(text, separator)
	most := 0
	for _, p := range problems {
		known := append(strings.Split(p.Text, separator), p.Kept)
		same := 0
		for same < min(len(parts), len(known)) && anonymous(parts[same]) == anonymous(known[same]) {
			same++
		}
		most = max(most, same)
	}
	return strings.Join(parts[most:], separator), most > 0
}

func anonymous(text string) string { return requestID.ReplaceAllString(text, "") }

// eventOf converts an event with either kind of count.
func eventOf(e v1.Event) Event {
	read := Event{Reason: e.Reason, Message: e.Message, First: e.FirstTimestamp.Time, Last: e.LastTimestamp.Time, Count: int(max(e.Count, 1))}
	if match := requestID.FindStringSubmatch(e.Message); match != nil {
		read.RequestID = match[1]
	}
	read.Last = later(read.Last, e.EventTime.Time)
	if e.Series != nil {
		read.Last, read.Count = later(read.Last, e.Series.LastObservedTime.Time), int(e.Series.Count)
	}
	if read.Last.IsZero() {
		read.Last = e.CreationTimestamp.Time
	}
	if read.First.IsZero() {
		read.First = e.CreationTimestamp.Time
	}
	read.First, read.Last = read.First.UTC(), read.Last.UTC()
	return read
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// refused finds in an error a field with a value that a Service cannot have.
var refused = regexp.MustCompile(`(metadata\.annotations\[[^\]]+\]|\bspec(\.\w+(\[\d+\])?)+): (Invalid value|Unsupported value|Not found|Duplicate value|Required value|Forbidden|Too long|Too many)`)

// stateOf returns the Service's state for a current error.
func (e Event) stateOf() State {
	switch {
	case refused.MatchString(e.Message):
		return Refused
	case strings.Contains(e.Message, "is used up"):
		return Refused
	}
	return Degraded
}
