package check

import (
	"context"
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
	// Good: the check passed.
	Good Verdict = "ok"
	// Unchecked: the fact is not available, with the reason.
	Unchecked Verdict = "not-checked"
	// Warning: a setting has no effect, or an unexpected one.
	Warning Verdict = "warning"
	// Wrong: nodes, load balancers or routes would not be served.
	Wrong Verdict = "wrong"
)

// Topic is a group of findings.
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

func topics() []Topic {
	return []Topic{Configuration, Certificates, SignIn, Services, LoadBalancers, Nodes, Quotas, Rights, Times}
}

// Finding is the result of one check.
type Finding struct {
	Topic   Topic   `json:"topic"`
	Verdict Verdict `json:"verdict"`
	// Subject names the checked thing, Text is the finding.
	Subject string `json:"subject"`
	Text    string `json:"text"`
	// Source is the place in cloud.conf, "" for a finding about no setting.
	Source string `json:"source,omitempty"`
	// Rules are the names in the service's policy that a right needs.
	Rules []string `json:"rules,omitempty"`
}

// Report is the result of all checks.
type Report struct {
	// File is the path of cloud.conf, "" if only the environment was read.
	File string `json:"file"`
	// Offline is set if no requests were sent to the cloud.
	Offline  bool             `json:"offline"`
	Settings []config.Setting `json:"settings"`
	Findings []Finding        `json:"findings"`
	// ShowsSettings adds all settings to the text.
	ShowsSettings bool `json:"-"`
}

// Exit codes of the command.
const (
	// ExitGood: all settings of cloud.conf take effect.
	ExitGood = 0
	// ExitWrong: nodes, load balancers or routes would not be served, or the check failed.
	ExitWrong = 1
	// ExitWarning: the controller runs, but a setting has no effect.
	ExitWarning = 2
)

func scale() screen.Scale[Verdict] {
	return screen.Scale[Verdict]{
		{Verdict: Good, Color: screen.Green, ExitCode: ExitGood},
		{Verdict: Unchecked, Color: screen.Dim, ExitCode: ExitGood},
		{Verdict: Warning, Color: screen.Yellow, ExitCode: ExitWarning},
		{Verdict: Wrong, Color: screen.Red, ExitCode: ExitWrong},
	}
}

func verdictOf(f Finding) Verdict { return f.Verdict }

// Kind implements cli.Report.
func (r *Report) Kind() string { return "Check" }

// ExitCode implements cli.Report.
func (r *Report) ExitCode() int { return screen.Worst(scale(), r.Findings, verdictOf).ExitCode }

// Options are the arguments of Run.
type Options struct {
	// Path is that of cloud.conf, "" for the environment alone.
	Path string
	Env  config.Environment
	// Offline sends no requests to the cloud; ReadOnly sends no writes, not even ones that must be
	// refused.
	Offline, ReadOnly bool
	// UserAgent is sent to OpenStack.
	UserAgent string
	// Timeout is that of all requests together, Retry the repetition of each.
	Timeout time.Duration
	Retry   transport.RetryPolicy
	Clock   clock.PassiveClock
}

// Run reads a configuration, checks its cloud, and returns the findings.
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

// signsIn reports whether the configuration suffices to sign in: only settings of load balancers
// are wrong.
func signsIn(i *config.Inspection) bool {
	balancers := len(i.Config.Refused.LoadBalancers)
	for _, errs := range i.Config.Refused.Classes {
		balancers += len(errs)
	}
	return len(i.Problems) <= balancers
}
