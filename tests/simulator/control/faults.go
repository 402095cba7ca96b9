package control

import (
	"maps"
	"net/http"
	"path"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// fault is the body of POST faults; see faults.Rule.
type fault struct {
	// Kind is a predefined fault that the other keys change, see faults.Kinds.
	Kind        string  `json:"kind,omitempty"`
	Method      string  `json:"method,omitempty"`
	Route       string  `json:"route,omitempty"`
	From        int     `json:"from,omitempty"`
	Count       int     `json:"count,omitempty"`
	Probability float64 `json:"probability,omitempty"`
	Seed        uint64  `json:"seed,omitempty"`

	AfterWork  bool              `json:"after_work,omitempty"`
	DuringWork bool              `json:"during_work,omitempty"`
	Drop       bool              `json:"drop,omitempty"`
	Reset      bool              `json:"reset,omitempty"`
	Status     int               `json:"status,omitempty"`
	Body       string            `json:"body,omitempty"`
	Header     map[string]string `json:"header,omitempty"`
	Worded     bool              `json:"worded,omitempty"`

	Delay       duration `json:"delay,omitempty"`
	AnswerDelay duration `json:"answer_delay,omitempty"`
	BodyDelay   duration `json:"body_delay,omitempty"`
	CutAfter    int      `json:"cut_after,omitempty"`
	Lag         duration `json:"lag,omitempty"`
	Skew        duration `json:"skew,omitempty"`
}

// duration is a duration such as "500ms".
type duration string

// parse returns the duration; a negative one only if that is permitted.
func (d duration) parse(name string, negative bool) (time.Duration, error) {
	if d == "" {
		return 0, nil
	}
	parsed, err := time.ParseDuration(string(d))
	if err != nil || parsed < 0 && !negative {
		return 0, refuse(http.StatusBadRequest, "%s %q is no duration such as 500ms", name, string(d))
	}
	return parsed, nil
}

// rule returns the rule of a fault, or an error if the fault is invalid.
func (f fault) rule() (faults.Rule, error) {
	rule, known := faults.Kinds()[f.Kind]
	if !known && f.Kind != "" {
		return rule, refuse(http.StatusBadRequest, "kind %q is none of %q", f.Kind, slices.Sorted(maps.Keys(faults.Kinds())))
	}
	f.fill(&rule)
	if err := f.fillTimes(&rule); err != nil {
		return rule, err
	}
	return rule, f.check(rule)
}

// fill sets the given values in a rule; the others keep the values of the kind.
func (f fault) fill(rule *faults.Rule) {
	rule.Method, rule.Route, rule.From, rule.Count = f.Method, f.Route, f.From, f.Count
	rule.Probability, rule.Seed, rule.CutAfter = f.Probability, f.Seed, f.CutAfter
	rule.AfterWork, rule.DuringWork = rule.AfterWork || f.AfterWork, rule.DuringWork || f.DuringWork
	rule.Drop, rule.Reset, rule.Worded = rule.Drop || f.Drop, rule.Reset || f.Reset, rule.Worded || f.Worded
	if f.Status != 0 {
		rule.Status = f.Status
	}
	if f.Body != "" {
		rule.Body = f.Body
	}
	rule.Header = http.Header{}
	for key, value := range f.Header {
		rule.Header.Set(key, value)
	}
}

func (f fault) fillTimes(rule *faults.Rule) error {
	for _, field := range []struct {
		name     string
		given    duration
		into     *time.Duration
		negative bool
	}{
		{"delay", f.Delay, &rule.Delay, false}, {"answer_delay", f.AnswerDelay, &rule.AnswerDelay, false},
		{"body_delay", f.BodyDelay, &rule.BodyDelay, false}, {"lag", f.Lag, &rule.Lag, false}, {"skew", f.Skew, &rule.Skew, true},
	} {
		parsed, err := field.given.parse(field.name, field.negative)
		if err != nil {
			return err
		}
		*field.into = parsed
	}
	return nil
}

func (f fault) check(rule faults.Rule) error {
	if _, err := path.Match(f.Route, ""); err != nil {
		return refuse(http.StatusBadRequest, "route %q is no pattern: %v", f.Route, err)
	}
	if f.From < 0 || f.Count < 0 || f.CutAfter < 0 {
		return refuse(http.StatusBadRequest, "from, count and cut_after must be 0 or more")
	}
	if f.Probability < 0 || f.Probability > 1 {
		return refuse(http.StatusBadRequest, "probability %v is not from 0 to 1", f.Probability)
	}
	if rule.Status != 0 && (rule.Status < 200 || rule.Status > 599) {
		return refuse(http.StatusBadRequest, "status %d is no status from 200 to 599", rule.Status)
	}
	late := rule.Delay > 0 || rule.AnswerDelay > 0 || rule.BodyDelay > 0
	if rule.Status == 0 && !rule.Drop && !rule.Reset && !late && rule.CutAfter == 0 && rule.Lag == 0 && rule.Skew == 0 {
		return refuse(http.StatusBadRequest, "a fault needs a kind, a status, drop or a delay, or something else that spoils the answer")
	}
	return nil
}

// addFault adds one fault after the existing ones.
func (c *control) addFault(r *http.Request) (answer, error) {
	var wanted fault
	if err := read(r, &wanted); err != nil {
		return answer{}, err
	}
	rule, err := wanted.rule()
	if err != nil {
		return answer{}, err
	}
	return answer{http.StatusCreated, map[string]string{"id": c.parts.Faults.Plant(rule)}}, nil
}

// plantedView is a fault or condition in force.
type plantedView struct {
	ID        string `json:"id"`
	Condition string `json:"condition,omitempty"`
	Fault     *fault `json:"fault,omitempty"`
	Matches   int    `json:"matches"`
	Hits      int    `json:"hits"`
}

// showFaults returns the faults and conditions in force, and the number of requests that each has
// hit.
func (c *control) showFaults(*http.Request) (answer, error) {
	views := []plantedView{}
	for _, planted := range c.parts.Faults.List() {
		view := plantedView{ID: planted.ID, Condition: planted.Condition, Matches: planted.Matches, Hits: planted.Hits}
		if planted.Condition == "" {
			view.Fault = viewRule(planted.Rule)
		}
		views = append(views, view)
	}
	return answer{http.StatusOK, map[string]any{"hits": c.parts.Faults.Hits(), "faults": views}}, nil
}

func viewRule(rule faults.Rule) *fault {
	view := &fault{
		Method: rule.Method, Route: rule.Route, From: rule.From, Count: rule.Count, Probability: rule.Probability, Seed: rule.Seed,
		AfterWork: rule.AfterWork, DuringWork: rule.DuringWork, Drop: rule.Drop, Reset: rule.Reset, Status: rule.Status,
		Body: rule.Body, Worded: rule.Worded, CutAfter: rule.CutAfter, Delay: spell(rule.Delay),
		AnswerDelay: spell(rule.AnswerDelay), BodyDelay: spell(rule.BodyDelay), Lag: spell(rule.Lag), Skew: spell(rule.Skew),
	}
	for key := range rule.Header {
		if view.Header == nil {
			view.Header = map[string]string{}
		}
		view.Header[key] = rule.Header.Get(key)
	}
	return view
}

func spell(d time.Duration) duration {
	if d == 0 {
		return ""
	}
	return duration(d.String())
}

func (c *control) removeFault(r *http.Request) (answer, error) {
	if !c.parts.Faults.Remove(r.PathValue("id")) {
		return answer{}, refuse(http.StatusNotFound, "no fault %s is in force", r.PathValue("id"))
	}
	return answer{status: http.StatusNoContent}, nil
}

func (c *control) clearFaults(*http.Request) (answer, error) {
	c.parts.Faults.Clear()
	return answer{status: http.StatusNoContent}, nil
}
