package control

import (
	"net/http"
	"path"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/faults"
)

// fault is the body of POST faults; see faults.Rule.
type fault struct {
	Method string `json:"method"`
	Route  string `json:"route"`
	From   int    `json:"from"`
	Count  int    `json:"count"`
	// Delay is a duration such as "500ms".
	Delay     string            `json:"delay"`
	AfterWork bool              `json:"after_work"`
	Drop      bool              `json:"drop"`
	Status    int               `json:"status"`
	Body      string            `json:"body"`
	Header    map[string]string `json:"header"`
}

// rule translates a fault, or says what is wrong with it.
func (f fault) rule() (faults.Rule, error) {
	rule := faults.Rule{
		Method: f.Method, Route: f.Route, From: f.From, Count: f.Count,
		AfterWork: f.AfterWork, Drop: f.Drop, Status: f.Status, Body: f.Body, Header: http.Header{},
	}
	for key, value := range f.Header {
		rule.Header.Set(key, value)
	}
	if f.Delay != "" {
		delay, err := time.ParseDuration(f.Delay)
		if err != nil || delay < 0 {
			return rule, refuse(http.StatusBadRequest, "delay %q is no duration such as 500ms", f.Delay)
		}
		rule.Delay = delay
	}
	if _, err := path.Match(f.Route, ""); err != nil {
		return rule, refuse(http.StatusBadRequest, "route %q is no pattern: %v", f.Route, err)
	}
	if f.From < 0 || f.Count < 0 {
		return rule, refuse(http.StatusBadRequest, "from and count must be 0 or more")
	}
	if f.Status != 0 && (f.Status < 200 || f.Status > 599) {
		return rule, refuse(http.StatusBadRequest, "status %d is no status from 200 to 599", f.Status)
	}
	if f.Status == 0 && !f.Drop && rule.Delay == 0 {
		return rule, refuse(http.StatusBadRequest, "a fault needs a status, drop or a delay")
	}
	return rule, nil
}

// addFault takes one fault and puts it in force, after those that are there.
func (c *control) addFault(r *http.Request) (answer, error) {
	var wanted fault
	if err := read(r, &wanted); err != nil {
		return answer{}, err
	}
	rule, err := wanted.rule()
	if err != nil {
		return answer{}, err
	}
	c.parts.Faults.Add(rule)
	return answer{status: http.StatusNoContent}, nil
}

// showFaults tells how many requests the faults in force have hit.
func (c *control) showFaults(*http.Request) (answer, error) {
	return answer{http.StatusOK, map[string]int{"hits": c.parts.Faults.Hits()}}, nil
}

func (c *control) clearFaults(*http.Request) (answer, error) {
	c.parts.Faults.Clear()
	return answer{status: http.StatusNoContent}, nil
}
