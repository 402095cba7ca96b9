// Package status shows what Services of type LoadBalancer have in the cloud, from the address
// down to the members, and says what is wrong with it. It finds load balancers by the
// controller's own code, works without the controller, and only reads.
package status

import (
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// State is how well a Service is served.
type State string

// The states, the best first.
const (
	// Good: the Service has what it asks for, and traffic can pass.
	Good State = "good"
	// Pending: something is being made, changed or removed.
	Pending State = "pending"
	// Degraded: some members do not answer, a setting has no effect, or the last change failed and
	// is tried again.
	Degraded State = "degraded"
	// Failed: something is in ERROR.
	Failed State = "error"
	// Refused: what the Service asks for cannot be; what it has stays in operation.
	Refused State = "refused"
	// Unknown: what the Service has could not be read.
	Unknown State = "unknown"
)

// scale returns the states, the best first.
func scale() screen.Scale[State] {
	return screen.Scale[State]{
		{Verdict: Good, Color: screen.Green, ExitCode: ExitGood},
		{Verdict: Pending, Color: screen.Yellow, ExitCode: ExitDegraded},
		{Verdict: Degraded, Color: screen.Yellow, ExitCode: ExitDegraded},
		{Verdict: Failed, Color: screen.Red, ExitCode: ExitFailed},
		{Verdict: Refused, Color: screen.Red, ExitCode: ExitFailed},
		{Verdict: Unknown, Color: screen.Red, ExitCode: ExitError},
	}
}

// worse reports whether s is worse than another state.
func (s State) worse(than State) bool { return scale().Rank(s) > scale().Rank(than) }

// Exit codes of the command.
const (
	// ExitGood: all Services are good.
	ExitGood = 0
	// ExitError: the status could not be read, of one Service at least.
	ExitError = 1
	// ExitDegraded: something is degraded or pending.
	ExitDegraded = 2
	// ExitFailed: something is in ERROR or refused.
	ExitFailed = 3
)

// Report is the status of Services at a time.
type Report struct {
	At       time.Time `json:"at"`
	Services []Service `json:"services"`
	Quotas   []Quota   `json:"quotas,omitempty"`
	// Notes are what could not be read, and what is missing for it.
	Notes []string `json:"notes,omitempty"`
	// detailed reports have the tree of each Service.
	detailed bool
}

// Service is the status of a Service.
type Service struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	// Problems are why it is not good, the worst first.
	Problems []Problem `json:"problems,omitempty"`
	// Local is set where only nodes with endpoints are to answer (externalTrafficPolicy: Local).
	Local bool `json:"externalTrafficPolicyLocal,omitempty"`
	// Addresses are the published ones, IP addresses or host names.
	Addresses      []string        `json:"addresses,omitempty"`
	LoadBalancer   *LoadBalancer   `json:"loadBalancer,omitempty"`
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
	// Conditions are what the controller says of it, true or not.
	Conditions []Condition `json:"conditions,omitempty"`
	// LastError is the newest error that was reported of it, be it over or not.
	LastError *Event `json:"lastError,omitempty"`
	// Warnings are the newest ones of each other reason.
	Warnings []Event `json:"warnings,omitempty"`
}

// Problem is something that is wrong with a Service.
type Problem struct {
	State State `json:"state"`
	// Reason is that of the condition that says it, "" where none does.
	Reason reason.Reason `json:"reason,omitempty"`
	Text   string        `json:"text"`
	// Kept is what a Service that is refused has meanwhile, as the condition says; "" where none does.
	Kept string `json:"kept,omitempty"`
	// Since is nil where nobody knows.
	Since *time.Time `json:"since,omitempty"`
	// ServiceChanged is that of the condition.
	ServiceChanged *time.Time `json:"serviceChanged,omitempty"`
}

// Event is one that was emitted on a Service.
type Event struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// RequestID is what OpenStack calls the request that failed, "" where the message names none.
	RequestID string `json:"requestID,omitempty"`
	// First and Last are when it came for the first and the last time, Count how often.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Count int       `json:"count"`
	// Over is set when things went well later, or the error did not come again.
	Over bool `json:"over"`
}

// Quota is how much of something the project may have.
type Quota struct {
	Of    string `json:"of"`
	Limit int    `json:"limit"`
	Used  int    `json:"used"`
}

// Left returns how many more there can be.
func (q Quota) Left() int { return max(q.Limit-q.Used, 0) }

func stateOf(s Service) State { return s.State }

// Kind implements cli.Report.
func (r *Report) Kind() string { return "Status" }

// ExitCode implements cli.Report.
func (r *Report) ExitCode() int { return screen.Worst(scale(), r.Services, stateOf).ExitCode }
