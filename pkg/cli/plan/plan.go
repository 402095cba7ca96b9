// Package plan previews the changes that the controller would make for Services, for the verb plan.
// The engine of the controller goes through a round for each Service without a write.
package plan

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// Verdict is what would become of a Service.
type Verdict string

// The verdicts.
const (
	// NoChange: all is as the Service asks for.
	NoChange Verdict = "no-change"
	// TakenOver: the same, and another controller has made it.
	TakenOver Verdict = "taken-over"
	// Change: something would be made, changed or removed.
	Change Verdict = "change"
	// Refused: the Service is not given what it asks for; what it has goes on.
	Refused Verdict = "refused"
	// Unknown: it could not be found out.
	Unknown Verdict = "unknown"
	// NotOurs: the Service asks for no load balancer of this controller, and has none.
	NotOurs Verdict = "not-ours"
)

// Service is what would be done for one Service.
type Service struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Verdict   Verdict `json:"verdict"`
	// TakenOver is set where another controller has made the load balancer; Deletes where all
	// that was made for the Service is removed.
	TakenOver bool                       `json:"takenOver,omitempty"`
	Deletes   bool                       `json:"deletes,omitempty"`
	Steps     []loadbalancer.PreviewStep `json:"steps"`
	Notes     []loadbalancer.PreviewNote `json:"notes,omitempty"`
	Refusal   *loadbalancer.Refusal      `json:"refusal,omitempty"`
	Address   Address                    `json:"address"`
	Cost      Cost                       `json:"cost"`
	// Error is why the verdict is Unknown.
	Error string `json:"error,omitempty"`
}

// ReasonManifest is the reason of a Refusal where kubectl or the API server refuses the manifest,
// so that the Service stays as it is.
const ReasonManifest = "manifest"

// Address is what becomes of the published address or host name; "" is one that is not known
// before.
type Address struct {
	Change loadbalancer.AddressChange `json:"change"`
	Before string                     `json:"before,omitempty"`
	After  string                     `json:"after,omitempty"`
}

// Cost is what the steps take: requests that write, at least, and changes of load balancers,
// each of which is a cycle through a PENDING state.
type Cost struct {
	Writes              int `json:"writes"`
	LoadBalancerChanges int `json:"loadBalancerChanges"`
}

// Report is what would be done.
type Report struct {
	Services []Service `json:"services"`
}

// Exit codes of the command.
const (
	ExitNothing = 0
	// ExitUnknown: it could not be found out, for one Service at least.
	ExitUnknown = 1
	ExitChanges = 2
	ExitRefused = 3
)

// scale returns the verdicts. Unknown counts most, as an exit code of its own.
func scale() screen.Scale[Verdict] {
	return screen.Scale[Verdict]{
		{Verdict: NotOurs, Color: screen.Dim, ExitCode: ExitNothing},
		{Verdict: TakenOver, Color: screen.Green, ExitCode: ExitNothing},
		{Verdict: NoChange, Color: screen.Green, ExitCode: ExitNothing},
		{Verdict: Change, Color: screen.Yellow, ExitCode: ExitChanges},
		{Verdict: Refused, Color: screen.Red, ExitCode: ExitRefused},
		{Verdict: Unknown, Color: screen.Red, ExitCode: ExitUnknown},
	}
}

func verdictOf(s Service) Verdict { return s.Verdict }

// Kind implements cli.Report.
func (r *Report) Kind() string { return "Plan" }

// ExitCode implements cli.Report.
func (r *Report) ExitCode() int { return screen.Worst(scale(), r.Services, verdictOf).ExitCode }

// Engine foretells rounds. *loadbalancer.Reconciler implements it.
type Engine interface {
	Preview(ctx context.Context, svc *v1.Service, nodes []*v1.Node) (loadbalancer.Preview, error)
}

// Options are what Run needs.
type Options struct {
	Client kubernetes.Interface
	Engine Engine
	Query  Query
	Nodes  NodeChange
	// Patience bounds what is waited for with one Service, as for a load balancer that is
	// PENDING.
	Patience time.Duration
	// AtATime is how many Services are looked at at a time.
	AtATime int
}

// Run reads Services and nodes, and returns what would be done for each Service now. It writes
// nothing. The error is one of Kubernetes, or of the query: nothing is known then.
func Run(ctx context.Context, options Options) (*Report, error) {
	ctx = klog.NewContext(ctx, klog.Logger{}) // the report has all of it
	services, err := options.Query.services(ctx, options.Client)
	if err != nil {
		return nil, err
	}
	nodes, err := options.Nodes.nodes(ctx, options.Client)
	if err != nil {
		return nil, err
	}
	report := &Report{Services: make([]Service, len(services))}
	var all errgroup.Group
	all.SetLimit(max(options.AtATime, 1))
	for i, svc := range services {
		all.Go(func() error {
			report.Services[i] = options.preview(ctx, svc, nodes)
			return nil
		})
	}
	_ = all.Wait() // they return none
	slices.SortStableFunc(report.Services, func(a, b Service) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return report, nil
}

// preview returns what would be done for one Service.
func (o Options) preview(ctx context.Context, svc asked, nodes []*v1.Node) Service {
	s := Service{Namespace: svc.Namespace, Name: svc.Name, Verdict: NotOurs, Steps: []loadbalancer.PreviewStep{}, Address: Address{Change: loadbalancer.AddressNone}}
	if svc.invalid != "" {
		s.Verdict = Refused
		s.Refusal = &loadbalancer.Refusal{Reason: ReasonManifest, Text: svc.invalid, Kept: svc.live != nil && dispatch.Wanted(svc.live)}
		return s
	}
	if !served(svc.Service) {
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	p, err := o.Engine.Preview(ctx, svc.Service, nodes)
	if err != nil {
		s.Verdict, s.Error = Unknown, err.Error()
		return s
	}
	s.fill(p)
	for _, text := range svc.notes {
		s.Notes = append(s.Notes, loadbalancer.PreviewNote{Text: text})
	}
	return s
}

// fill sets the fields that a preview has.
func (s *Service) fill(p loadbalancer.Preview) {
	s.Steps, s.Notes = append(s.Steps, p.Steps...), append(s.Notes, p.Notes...)
	s.TakenOver, s.Deletes, s.Refusal = p.TakenOver, p.Deletes, p.Refusal
	s.Address = Address{Change: p.Address, Before: p.Before, After: p.After}
	s.Cost = Cost{Writes: p.Writes(), LoadBalancerChanges: p.LoadBalancerChanges()}
	switch {
	case p.Refusal != nil:
		s.Verdict = Refused
	case len(p.Steps) > 0:
		s.Verdict = Change
	case p.TakenOver:
		s.Verdict = TakenOver
	default:
		s.Verdict = NoChange
	}
}
