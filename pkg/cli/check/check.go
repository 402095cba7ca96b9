// Package check says of a cloud.conf what the controller would make of it, and whether the
// cloud that it names has what the controller needs. It needs no Kubernetes, and changes
// nothing.
package check

import (
	"context"
	"io"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// Verdict is what a finding means for the controller.
type Verdict string

// The verdicts.
const (
	// Good is what is as it has to be.
	Good Verdict = "ok"
	// Unchecked is what cannot be found out, with the reason.
	Unchecked Verdict = "not-checked"
	// Warning is what has no effect, or not the one that is expected.
	Warning Verdict = "warning"
	// Wrong is what keeps nodes, load balancers or routes from being served.
	Wrong Verdict = "wrong"
)

// Topic is what findings are about.
type Topic string

// The topics, in the order of a report.
const (
	Configuration Topic = "configuration"
	Certificates  Topic = "certificates"
	SignIn        Topic = "sign-in"
	Services      Topic = "services"
	LoadBalancers Topic = "load-balancers"
	Nodes         Topic = "nodes"
	Quotas        Topic = "quotas"
	Rights        Topic = "rights"
	Times         Topic = "time"
)

// topics returns all topics in the order of a report.
func topics() []Topic {
	return []Topic{Configuration, Certificates, SignIn, Services, LoadBalancers, Nodes, Quotas, Rights, Times}
}

// Finding is one thing that was looked at.
type Finding struct {
	Topic   Topic   `json:"topic"`
	Verdict Verdict `json:"verdict"`
	// Subject is what was looked at, and Text what there is to say of it.
	Subject string `json:"subject"`
	Text    string `json:"text"`
	// Source is where cloud.conf says it, "" where it is not about a setting.
	Source string `json:"source,omitempty"`
	// Rules are the names in the service's policy that a right needs.
	Rules []string `json:"rules,omitempty"`
}

// Report is what a check has found.
type Report struct {
	// File is the path of cloud.conf, "" where all comes from the environment.
	File string `json:"file"`
	// Offline is set where no cloud was asked.
	Offline  bool             `json:"offline"`
	Settings []config.Setting `json:"settings"`
	Findings []Finding        `json:"findings"`
}

// Exit codes of the command.
const (
	// ExitGood: the controller does all that cloud.conf says.
	ExitGood = 0
	// ExitWrong: nodes, load balancers or routes would not be served; or the check could not
	// be carried out.
	ExitWrong = 1
	// ExitWarning: the controller runs, and something has no effect.
	ExitWarning = 2
)

// ExitCode returns the exit code for the report.
func (r *Report) ExitCode() int {
	code := ExitGood
	for _, f := range r.Findings {
		switch f.Verdict {
		case Wrong:
			return ExitWrong
		case Warning:
			code = ExitWarning
		case Good, Unchecked:
		}
	}
	return code
}

// count returns how many findings have a verdict.
func (r *Report) count(v Verdict) int {
	n := 0
	for _, f := range r.Findings {
		if f.Verdict == v {
			n++
		}
	}
	return n
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(out io.Writer) error {
	return screen.WriteJSON(out, "Check", struct {
		*Report
		ExitCode int `json:"exitCode"`
	}{r, r.ExitCode()})
}

// Options are what Run needs.
type Options struct {
	// Path is that of cloud.conf, "" for the environment alone.
	Path string
	Env  config.Environment
	// Offline asks no cloud; ReadOnly sends it no request that could write, not even one that
	// has to be refused.
	Offline, ReadOnly bool
	// UserAgent is sent to OpenStack.
	UserAgent string
	// Timeout is for all requests together, Retry how each of them is repeated.
	Timeout time.Duration
	Retry   transport.RetryPolicy
	Clock   clock.PassiveClock
}

// Run reads a configuration, asks the cloud that it names, and returns what is found.
func Run(ctx context.Context, options Options) *Report {
	inspected := config.Inspect(options.Path, options.Env)
	now := options.Clock.Now()
	report := &Report{File: options.Path, Offline: options.Offline, Settings: inspected.Settings}
	report.Findings = configuration(inspected)
	if inspected.Config == nil {
		return report
	}
	files := certificatesOf(inspected.Config.Global)
	report.Findings = append(report.Findings, certificateFindings(files, now)...)
	if options.Offline || report.ExitCode() == ExitWrong && !signsIn(inspected) {
		return report
	}
	ctx, cancel := context.WithTimeout(klog.NewContext(ctx, klog.Logger{}), options.Timeout)
	defer cancel()
	return report.ask(ctx, inspected, options)
}

// signsIn reports whether the configuration is good enough to sign in with: what is wrong
// only concerns load balancers.
func signsIn(i *config.Inspection) bool {
	balancers := len(i.Config.Refused.LoadBalancers)
	for _, errs := range i.Config.Refused.Classes {
		balancers += len(errs)
	}
	return len(i.Problems) <= balancers
}
