package datapath

// verdict is what the probes of a member have shown so far.
type verdict int

const (
	unknown verdict = iota
	healthy
	failing
)

// health counts probe results. The first result of a member decides, as haproxy begins a
// check one failure away from "down"; after that
//
//	verdict   changes after
//	healthy   MaxRetriesDown failures in a row
//	failing   MaxRetries successes in a row
type health struct {
	verdict verdict
	// against counts the results in a row that speak against the verdict.
	against int
}

func (h *health) count(passed bool, monitor Monitor) {
	found := failing
	needed := monitor.MaxRetriesDown
	if passed {
		found, needed = healthy, monitor.MaxRetries
	}
	if h.verdict == found {
		h.against = 0
		return
	}
	if h.against++; h.verdict == unknown || h.against >= needed {
		*h = health{verdict: found}
	}
}

// status is the member's operating status. A member of weight 0 that passes its probes is
// DRAINING, as haproxy reports it.
func (h *health) status(draining bool) string {
	switch {
	case h.verdict == failing:
		return StatusError
	case draining:
		return StatusDraining
	default:
		return StatusOnline
	}
}
