package status

import (
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// State is the state of a Service.
type State string

// The states, the best first.
const (
	// Good: the Service has its desired state, and traffic can pass.
	Good State = "good"
	// Pending: something is being created, changed or removed.
	Pending State = "pending"
	// Degraded: some members do not answer, a setting has no effect, or the last change failed and
	// is retried.
	Degraded State = "degraded"
	// Failed: something is in ERROR.
	Failed State = "error"
	// Refused: the controller refuses the Service, and keeps its existing load balancer.
	Refused State = "refused"
	// Unknown: the Service's objects could not be read.
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
	// ExitError: the status of at least one Service could not be read.
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
	// Notes are about missing read permissions.
	Notes []string `json:"notes,omitempty"`
	// detailed reports have the tree of each Service.
	detailed bool
}

// Service is the status of a Service.
type Service struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	// Problems are the reasons why it is not good, the worst first.
	Problems []Problem `json:"problems,omitempty"`
	// Pods is set if pods are the members, and not NodePorts of nodes.
	Pods bool `json:"membersArePods,omitempty"`
	// Local is set if only nodes with endpoints must answer: externalTrafficPolicy Local, and pods are not the members.
	Local bool `json:"externalTrafficPolicyLocal,omitempty"`
	// Addresses are the published ones, IP addresses or host names.
	Addresses      []string        `json:"addresses,omitempty"`
	LoadBalancer   *LoadBalancer   `json:"loadBalancer,omitempty"`
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
	// Conditions are the controller's, true or not.
	Conditions []Condition `json:"conditions,omitempty"`
	// LastError is the newest reported error, over or not.
	LastError *Event `json:"lastError,omitempty"`
	// Warnings are the newest ones of each other reason.
	Warnings []Event `json:"warnings,omitempty"`
}

// Problem is a problem of a Service.
type Problem struct {
	State State `json:"state"`
	// Reason is that of the condition that reports it, "" for none.
	Reason reason.Reason `json:"reason,omitempty"`
	Text   string        `json:"text"`
	// Kept is the existing load balancer of a refused Service, from the condition; "" for none.
	Kept string `json:"kept,omitempty"`
	// Since is nil if it is unknown.
	Since *time.Time `json:"since,omitempty"`
	// ServiceChanged is that of the condition.
	ServiceChanged *time.Time `json:"serviceChanged,omitempty"`
}

// Event is one that was emitted on a Service.
type Event struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// RequestID is OpenStack's ID of the failed request, "" if the message has none.
	RequestID string `json:"requestID,omitempty"`
	// First and Last are the times of its first and last occurrence, Count the number.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Count int       `json:"count"`
	// Over is set if a success followed, or the error was not repeated.
	Over bool `json:"over"`
}

// Quota is the limit and the use of a resource in the project.
type Quota struct {
	Of    string `json:"of"`
	Limit int    `json:"limit"`
	Used  int    `json:"used"`
}

// Left returns the number of further ones.
func (q Quota) Left() int { return max(q.Limit-q.Used, 0) }

func stateOf(s Service) State { return s.State }

// Kind implements cli.Report.
func (r *Report) Kind() string { return "Status" }

// ExitCode implements cli.Report.
func (r *Report) ExitCode() int { return screen.Worst(scale(), r.Services, stateOf).ExitCode }
