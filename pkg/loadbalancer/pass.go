package loadbalancer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// call says why a pass is made, and so what it may do.
type call struct {
	// mayCreate allows to make a load balancer where there is none.
	mayCreate func(context.Context) (bool, error)
	// tells makes a refusal an error also where what the Service has is kept alive.
	tells bool
	// quiet leaves settings without effect untold: they are not those that the Service
	// has now.
	quiet bool
	// drift is what somebody else changed, if anything was noticed.
	drift state.Drift
	// progress is called with how long what is left usually takes; nil: nobody asks.
	progress func(left time.Duration)
}

// pass is one way through the engine for one Service, whose lock it holds.
type pass struct {
	*Reconciler
	call
	svc *v1.Service
	id  ownership.Identity
	// as is who the Service is on the load balancer that was observed.
	as       ownership.Identity
	settings settings.Settings
	backends []members.Backend
	version  octavia.Version
	// observed is what the cloud has, nil before it is read; fresh tells that it
	// was read, or checked, in this pass.
	observed *model.Observed
	fresh    bool
	// wrote tells that the pass has changed something in the cloud.
	wrote bool
	// interfered tells that somebody else changed the load balancer during the pass.
	interfered bool
	// known are the facts of the last plan.
	known desire.Facts
	// holder has the lock of the load balancer, before names those that the Service
	// had, and began is what was observed before the first change.
	holder holder
	before []string
	began  *model.LoadBalancer
	// knew is what was remembered or written down of the load balancer; cold tells that
	// it was not enough to go without reading it.
	knew *state.Applied
	cold bool
	// all are the nodes that could be members of some Service; wanted is the load
	// balancer that was compared or planned last.
	all    []*v1.Node
	wanted *model.LoadBalancer
	// follows is set where the load balancer is kept as it is, but for its nodes.
	follows *following
	// report is what is only reported.
	report plan.Report
	// groups is what is to be done about security groups, given the VIP's subnet.
	groups    *securitygroup.Task
	vipSubnet string
}

// passes is how often a plan is made in one call. A plan can leave something for
// the next one: parts that failed, members that did not fit into a creation.
const passes = 4

// newPass reads what the Service asks for.
func (r *Reconciler) newPass(ctx context.Context, svc *v1.Service, nodes []*v1.Node, c call) (*pass, error) {
	settings, ignored, errs := r.parser.Parse(svc)
	if !c.quiet {
		r.events.SettingsIgnored(svc, events.Settings, ignored)
	}
	if len(errs) > 0 {
		return nil, message.Invalid(errs)
	}
	version, err := r.facts.Version(ctx)
	if err != nil {
		return nil, err
	}
	backends, without, err := members.Select(settings, nodes)
	if err != nil {
		return nil, err
	}
	r.events.NodesSkipped(svc, settings.Family, without)
	return &pass{
		Reconciler: r, call: c, svc: svc, id: r.identity(svc, version), as: r.identity(svc, version),
		settings: settings, backends: backends, all: nodes, version: version, before: r.before(svc),
	}, nil
}

// run makes the cloud what the Service asks for. When that is what it asked for last
// time, and nobody is known to have changed anything, that is all.
func (p *pass) run(ctx context.Context) (*v1.LoadBalancerStatus, error) {
	known, digest, err := p.recall(ctx)
	if err != nil {
		return nil, err
	}
	if known != nil && known.Digests.Full == digest {
		return publish(known.Address, p.settings), nil
	}
	p.knew = known
	if err := p.unpack(ctx, known); err != nil {
		return nil, err
	}
	if known != nil && p.observed == nil {
		if p.observed, err = p.unfold(ctx, known); err != nil {
			return nil, err
		}
	}
	return p.converge(ctx)
}

// converge plans and applies until nothing differs, but not for ever.
func (p *pass) converge(ctx context.Context) (*v1.LoadBalancerStatus, error) {
	p.cold = p.observed == nil
	for n := 1; ; n++ {
		todo, err := p.plan(ctx)
		if err != nil {
			return nil, err
		}
		if p.interfered {
			p.interfered = false
			p.events.DriftReverted(p.svc, state.ReasonChanged, events.Summary(todo.Steps))
		}
		if n == 1 {
			if err := p.planGroups(ctx); err != nil {
				return nil, err
			}
			p.report = p.reportFor(todo)
		}
		todo, reported := p.report.Split(todo)
		if n == 1 {
			p.emit(todo, reported)
		}
		switch {
		case todo.Empty() && len(p.groups.Open) == 0 || p.report.All():
			return p.end(ctx, reported)
		case n > passes:
			return nil, fmt.Errorf("OpenStack does not have what the Service asks for after %d attempts; the next step would be: %s; "+
				"what exists goes on and it is tried again; if that stays so, ask the cluster's operator", passes, p.left(todo))
		}
		if err := p.withinLimits(todo); err != nil {
			return nil, err
		}
		err = p.apply(ctx, todo)
		if p.downgrade(ctx, err) {
			n--
			continue
		}
		if err != nil {
			return nil, err
		}
	}
}

// emit emits what is going to be done, and what will have no effect.
func (p *pass) emit(todo, reported plan.Plan) {
	p.emitGroups()
	p.events.Planned(p.svc, todo)
	if p.report.Enabled() {
		p.events.DriftReported(p.svc, p.change(), events.Summary(reported.Steps))
	} else {
		p.events.DriftReverted(p.svc, p.drift.Reason, events.Summary(todo.Steps))
	}
	if p.follows != nil {
		return
	}
	settings, drv := p.settings.On(p.observed.LoadBalancer), p.driver(p.observed)
	p.events.HealthMonitorMissing(p.svc, settings.MissingMonitors(drv))
	if !p.quiet {
		p.events.SettingsIgnored(p.svc, events.Provider, slices.Concat(p.known.Ignored, settings.Unused(drv)))
	}
	p.events.Chosen(p.svc, p.known, todo)
	lb := p.observed.LoadBalancer
	if fip := p.foreignFloatingIP(); fip != nil {
		p.events.ForeignFloatingIP(p.svc, *fip, lb.VIP.Address)
	}
	if !todo.Empty() && p.sharesWithoutFloatingIP() {
		p.events.SharedWithoutFloatingIP(p.svc, lb.VIP.Address)
	}
}

// left names the first step that is still to be done.
func (p *pass) left(todo plan.Plan) fmt.Stringer {
	if len(todo.Steps) > 0 {
		return todo.Steps[0]
	}
	return p.groups.Open[0]
}

// recall gives what is remembered of the Service, from this process or from the
// last one, and the digest of what it asks for now.
func (p *pass) recall(ctx context.Context) (*state.Applied, string, error) {
	known := p.store.Get(p.svc.UID).Applied
	var err error
	recognised := known == nil
	if recognised {
		if known, err = p.recognise(ctx); known == nil || err != nil {
			return nil, "", err
		}
	}
	if named := p.settings.LoadBalancer.ID; named != known.LoadBalancer.Named && named != known.LoadBalancer.ID {
		return nil, "", nil // it may be to move
	}
	digest, err := p.asksFor(ctx, known)
	if err == nil && recognised && digest != known.Digests.Full {
		digest, err = p.asksForLess(ctx, known, digest)
	}
	if err != nil {
		return nil, "", err
	}
	switch {
	case known.Contents != nil:
	case known.Digests.Full == digest:
		if recognised {
			if kept, err := p.groupsKept(ctx, known.LoadBalancer.VIPSubnetID); err != nil || !kept {
				return nil, "", err
			}
		}
		p.store.SetApplied(p.svc.UID, known)
	default:
		klog.FromContext(ctx).V(2).Info("The Service asks for something else than was written down, reading its load balancer")
	}
	return known, digest, nil
}

// asksFor builds what the Service asks for, on a load balancer like the one that is
// remembered, and gives its digest.
func (p *pass) asksFor(ctx context.Context, known *state.Applied) (string, error) {
	desired, err := p.desired(ctx, &model.Observed{LoadBalancer: p.standIn(known)})
	if err != nil {
		return "", err
	}
	p.wanted = desired
	return p.digest(desired), nil
}

// digestOf condenses what a Service asks for, once VIP and floating IP are there.
func digestOf(desired *model.LoadBalancer, settings settings.Settings, wish *securitygroup.Wish) string {
	text, err := json.Marshal(struct {
		*model.LoadBalancer
		Subnets, Flavor, Zone string
		MemberSubnet          string
		AllowReplace          bool
		Groups                *securitygroup.Wish `json:",omitempty"`
	}{desired, settings.Floating.Pattern + " " + settings.Floating.Tags, settings.LoadBalancer.FlavorID, settings.LoadBalancer.AvailabilityZone, settings.Members.SubnetID, settings.LoadBalancer.AllowReplace, wish})
	if err != nil {
		return "" // a struct of strings and numbers can be marshalled
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// plan reads what there is, if that is not known, and compares. Before anything
// is changed, what is only remembered is checked.
func (p *pass) plan(ctx context.Context) (plan.Plan, error) {
	if err := p.look(ctx); err != nil {
		return plan.Plan{}, err
	}
	p.began = cmp.Or(p.began, p.snapshot())
	todo, err := p.diff(ctx)
	if err != nil || p.fresh || todo.Empty() {
		return todo, err
	}
	same, err := p.unchanged(ctx, p.observed)
	if err != nil {
		return plan.Plan{}, err
	}
	if !same {
		p.observed, p.began = nil, nil
		return p.plan(ctx)
	}
	p.fresh = true
	if err := p.recheckFloatingIP(ctx); err != nil {
		return plan.Plan{}, err
	}
	return p.diff(ctx)
}

// look reads what there is, if that is not known.
func (p *pass) look(ctx context.Context) error {
	if p.observed != nil {
		return nil
	}
	observe := p.observe
	if p.follows != nil {
		observe = p.observeKept
	}
	observed, as, err := observe(ctx, p.svc, p.id, p.settings, &p.holder)
	if err != nil {
		return err
	}
	p.observed, p.as, p.fresh = observed, as, true
	return nil
}

func (p *pass) diff(ctx context.Context) (plan.Plan, error) {
	if p.follows != nil {
		return p.diffKept(ctx)
	}
	if err := p.mayShare(ctx); err != nil {
		return plan.Plan{}, err
	}
	desired, err := p.desired(ctx, p.observed)
	if err != nil {
		return plan.Plan{}, err
	}
	p.wanted = desired
	options := p.planOptions(p.svc, p.settings, p.changingDriver())
	options.CreateEmpty = p.store.Get(p.svc.UID).Made.CreateEmpty
	options.Given = p.given()
	if options.Replacement, err = p.replacement(ctx, desired); err != nil {
		return plan.Plan{}, err
	}
	todo := plan.Diff(desired, *p.observed, options)
	if todo.Blocked != "" {
		p.events.Planned(p.svc, todo)
		return todo, &refusal.BlockedError{Why: todo.Blocked, Failed: p.observed.LoadBalancer.Status.Failed()}
	}
	return todo, p.unsettled(desired, todo, p.driver(p.observed))
}

// desired builds what the Service asks for, given what exists.
func (p *pass) desired(ctx context.Context, observed *model.Observed) (*model.LoadBalancer, error) {
	return p.build(ctx, p.settings.On(observed.LoadBalancer), observed)
}

// build builds what settings ask for, given what exists.
func (p *pass) build(ctx context.Context, settings settings.Settings, observed *model.Observed) (*model.LoadBalancer, error) {
	drv := p.driver(observed)
	if observed.LoadBalancer != nil {
		settings = settings.OnExisting(drv)
	}
	if errs := settings.Validate(drv); len(errs) > 0 {
		return nil, message.Invalid(errs)
	}
	known, err := p.facts.Gather(ctx, settings, p.backends, drv, observed.LoadBalancer)
	if err != nil {
		return nil, err
	}
	p.known = known
	if err := p.checkFamilies(ctx, settings, drv, known, observed.LoadBalancer); err != nil {
		return nil, err
	}
	desired := desire.LoadBalancer(p.id, settings, p.backends, known)
	if lb := observed.LoadBalancer; lb != nil && lb.Shared != nil {
		return onShared(desired), nil
	}
	if err := p.checkProvider(ctx, observed); err != nil {
		return nil, err
	}
	if observed.LoadBalancer == nil && desired.VIP.Address != "" && desired.VIP.Address != p.vipAddress() {
		if err := p.facts.FreeVIP(ctx, desired.VIP, p.settings.VIPAskedBy()); err != nil {
			return nil, err
		}
	}
	return desired, nil
}

// ErrNoLoadBalancer says that there is nothing to bring up to date, and that nothing may
// be made.
var ErrNoLoadBalancer = errors.New("the Service has no load balancer yet: the service controller creates it")

// apply carries out a plan. Parts that fail are left to the next one.
func (p *pass) apply(ctx context.Context, todo plan.Plan) error {
	if todo.Creates() || p.groups.Creates() {
		may, err := p.mayCreate(ctx)
		if err != nil {
			return err
		}
		if !may {
			return ErrNoLoadBalancer
		}
	}
	if err := p.checkCertificates(ctx, todo); err != nil {
		return err
	}
	if err := p.Reconciler.groups.Open(ctx, p.groups); err != nil {
		return err
	}
	if !p.wrote {
		p.wrote = true
		p.store.DropDrift(p.svc.UID) // what was applied last is not any more
	}
	p.store.MarkTouched(p.svc.UID)
	if todo.Creates() {
		p.store.CreationSent(p.svc.UID)
	}
	err := p.carryOut(ctx, todo)
	var unsure *apply.UnsureCreationError
	if errors.As(err, &unsure) {
		p.store.CreationLost(p.svc.UID)
	}
	if lb := p.observed.LoadBalancer; lb != nil && lb.Shared == nil && lb.ID != "" {
		p.store.SetLoadBalancerID(p.svc.UID, lb.ID)
	}
	var changed *apply.ChangedError
	if errors.As(err, &changed) {
		klog.FromContext(ctx).Info("Reading the load balancer anew", "cause", changed.Error())
		p.observed, p.began, p.interfered = nil, nil, true
		return nil
	}
	var broken *apply.ChildrenError
	if errors.As(err, &broken) {
		klog.FromContext(ctx).Info("Repairing parts of the load balancer", "cause", broken.Error())
		return nil
	}
	return err
}

// carryOut runs a plan. What was built and read to make it is dropped before: the run
// may wait for minutes, as may a thousand others, and the next plan builds it anew.
func (p *pass) carryOut(ctx context.Context, todo plan.Plan) error {
	request := apply.Request{ID: p.id, Observed: *p.observed, Plan: todo, Progress: p.progress}
	p.observed, p.wanted, p.known = nil, nil, desire.Facts{}
	observed, err := p.applier.Run(ctx, request)
	p.observed = &observed
	return err
}

// end remembers how it is, and what of it was only told.
func (p *pass) end(ctx context.Context, reported plan.Plan) (*v1.LoadBalancerStatus, error) {
	if p.report.All() || !reported.Empty() {
		if p.observed.LoadBalancer == nil { // it is gone
			p.store.DropApplied(p.svc.UID)
			return &p.svc.Status.LoadBalancer, nil
		}
		p.remember(addressOf(p.observed, p.settings), reported.Lines())
		return &p.svc.Status.LoadBalancer, nil
	}
	if p.follows != nil {
		return p.endKept(ctx)
	}
	if err := p.leaveOthers(ctx); err != nil {
		return nil, err
	}
	if err := p.closeNodes(ctx); err != nil {
		return nil, err
	}
	address := addressOf(p.observed, p.settings)
	p.events.Ready(p.svc, p.observed.LoadBalancer, address)
	p.events.AddressChanged(p.svc, statusAddress(p.svc), address)
	p.remember(address, nil)
	return publish(address, p.settings), nil
}

// remember keeps what the cloud has now, so that nothing has to be read as long as
// nothing changes.
func (p *pass) remember(address string, reported map[string]bool) {
	lb := p.observed.LoadBalancer
	now := p.options.Clock.Now()
	applied := &state.Applied{
		Service:  types.NamespacedName{Namespace: p.svc.Namespace, Name: p.svc.Name},
		Identity: p.as,
		Digests:  state.Digests{Full: p.digest(p.wanted), Nodeless: p.frame(p.wanted, lb)},
		Address:  address,
		LoadBalancer: state.LoadBalancer{
			ID: lb.ID, Provider: lb.Provider, VIPPortID: lb.VIP.PortID, Named: p.settings.LoadBalancer.ID,
			Shared: lb.Shared, Unmonitored: lb.Unmonitored(), Duplicates: idsOf(p.observed.Surplus),
		},
		Contents: model.Pack(lb),
		Seen: state.Seen{
			UpdatedAt: lb.UpdatedAt, OperatingStatus: lb.Status.Operating, Since: now,
			Confirmed: !p.wrote && now.Sub(lb.UpdatedAt) > state.AtRest,
		},
		Annotated: state.Annotated{
			Address: p.svc.Annotations[annotation.LoadBalancerID] == lb.ID && p.svc.Annotations[annotation.LoadBalancerAddress] == address,
		},
		Reported: reported,
	}
	if lb.FloatingIP != nil {
		applied.LoadBalancer.FloatingIPID = lb.FloatingIP.ID
	}
	p.store.SetApplied(p.svc.UID, applied)
	p.store.RebaseOthers(p.svc.UID, p.began, lb, now)
}

func idsOf(all []model.LoadBalancer) []string {
	var ids []string
	for _, lb := range all {
		ids = append(ids, lb.ID)
	}
	return ids
}
