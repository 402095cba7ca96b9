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

// Verdict is the result for a Service.
type Verdict string

// The verdicts.
const (
	// NoChange: the Service has its desired state.
	NoChange Verdict = "no-change"
	// TakenOver: the same, on a load balancer of another controller.
	TakenOver Verdict = "taken-over"
	// Change: something would be created, changed or removed.
	Change Verdict = "change"
	// Refused: the controller would refuse the Service, and keep its load balancer.
	Refused Verdict = "refused"
	// Unknown: the preview failed.
	Unknown Verdict = "unknown"
	// NotOurs: the Service needs no load balancer of this controller, and has none.
	NotOurs Verdict = "not-ours"
)

// Service is the preview for one Service.
type Service struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Verdict   Verdict `json:"verdict"`
	// TakenOver is set if another controller created the load balancer; Deletes if all objects of
	// the Service are removed.
	TakenOver bool                       `json:"takenOver,omitempty"`
	Deletes   bool                       `json:"deletes,omitempty"`
	Steps     []loadbalancer.PreviewStep `json:"steps"`
	Notes     []loadbalancer.PreviewNote `json:"notes,omitempty"`
	Refusal   *loadbalancer.Refusal      `json:"refusal,omitempty"`
	Address   Address                    `json:"address"`
	Cost      Cost                       `json:"cost"`
	// Error is the reason for the verdict Unknown.
	Error string `json:"error,omitempty"`
}

// ReasonManifest is the reason of a Refusal if kubectl or the API server refuses the manifest, so
// that the Service does not change.
const ReasonManifest = "manifest"

// Address is the change of the published address or host name; "" is one that cannot be predicted.
type Address struct {
	Change loadbalancer.AddressChange `json:"change"`
	Before string                     `json:"before,omitempty"`
	After  string                     `json:"after,omitempty"`
}

// Cost is the cost of the steps: the minimum number of writes, and the changes of load balancers,
// each of which is a cycle through a PENDING state.
type Cost struct {
	Writes              int `json:"writes"`
	LoadBalancerChanges int `json:"loadBalancerChanges"`
}

// Report is the preview for all Services.
type Report struct {
	Services []Service `json:"services"`
}

// Exit codes of the command.
const (
	ExitNothing = 0
	// ExitUnknown: the preview of at least one Service failed.
	ExitUnknown = 1
	ExitChanges = 2
	ExitRefused = 3
)

// scale returns the verdicts. Unknown is the worst, and has its own exit code.
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

// Engine previews rounds. *loadbalancer.Reconciler implements it.
type Engine interface {
	Preview(ctx context.Context, svc *v1.Service, nodes []*v1.Node) (loadbalancer.Preview, error)
}

// Options are the arguments of Run.
type Options struct {
	Client kubernetes.Interface
	Engine Engine
	Query  Query
	Nodes  NodeChange
	// Patience bounds the waits for one Service, such as for a load balancer that is PENDING.
	Patience time.Duration
	// AtATime is the number of concurrent previews.
	AtATime int
}

// Run reads Services and nodes, and returns the preview for each Service. It writes nothing. The
// error is one of Kubernetes, or of the query: then nothing is known.
func Run(ctx context.Context, options Options) (*Report, error) {
	ctx = klog.NewContext(ctx, klog.Logger{}) // the report includes it
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
