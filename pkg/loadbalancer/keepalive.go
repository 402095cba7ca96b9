package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// A Service that is refused has no less need of its nodes: what it has is kept alive,
// members, security groups, floating IP and what else others change. Only what it newly
// asks for waits. What it is to have meanwhile is
//
//	refused                                     kept as
//	before anything was changed                 it was asked for when that was last done, as long as this process knows
//	by the cloud, in the middle of a plan       it is: going back would be undone by the next try
//	both, and that is refused too, or not       it is in the cloud; where others have changed that since it was
//	known, as after a restart                   seen first, as it was then
//
// The last two are passes like any other, in which build.Follow stands for what the
// Service asks for.

// keepAlive brings what a refused Service has to its nodes, and gives the address to
// publish. It is refusal.ErrNothingKept where the Service has nothing.
func (r *Reconciler) keepAlive(ctx context.Context, svc *v1.Service, nodes []*v1.Node, c call, refused error) (*v1.LoadBalancerStatus, error) {
	good := r.store.Get(svc.UID).Accepted
	if good == nil && len(svc.Status.LoadBalancer.Ingress) == 0 && len(r.before(svc)) == 0 {
		return nil, refusal.ErrNothingKept
	}
	c.quiet = true
	if refusal.ByCloud(refused) {
		c.drift = state.Drift{}
		return r.follow(ctx, svc, nodes, c)
	}
	if good != nil {
		good = good.DeepCopy()
		good.Status = svc.Status
		published, err := r.round(ctx, good, nodes, c)
		if refusal.Reason(err) == "" {
			return published, err
		}
		if refusal.ByCloud(err) {
			c.drift = state.Drift{}
		}
	}
	return r.follow(ctx, svc, nodes, c)
}

// following is what a pass knows that keeps a load balancer as it is.
type following struct {
	// kept is what it stays like, but for its members; nil before it is known.
	kept *model.Packed
	// unread is what cannot be read of the Service; capped is that of build.Followers.
	unread settings.Unread
	capped bool
	// without are the nodes that may not become members: source ranges would not be
	// enforced there.
	without []string
	// lost is the published address that the load balancer has no more, and fip the
	// floating IP in its place; nil where none is to be had.
	lost string
	fip  *model.FloatingIP
	// replacing tells that another load balancer was being made in place of this one.
	replacing bool
}

// follow keeps what a Service has in the cloud as it is, but for its nodes.
func (r *Reconciler) follow(ctx context.Context, svc *v1.Service, nodes []*v1.Node, c call) (*v1.LoadBalancerStatus, error) {
	how := &following{}
	for {
		published, err := r.followAs(ctx, svc, nodes, c, how)
		var open *securitygroup.UnenforcedError
		switch {
		case errors.As(err, &open) && len(open.Nodes) > 0 && !slices.Contains(how.without, open.Nodes[0]):
			how.without = append(how.without, open.Nodes...)
		case apierror.IsPartsQuota(err) && !how.capped:
			how.capped = true
		default:
			return published, err
		}
		how.kept = nil
	}
}

func (r *Reconciler) followAs(ctx context.Context, svc *v1.Service, nodes []*v1.Node, c call, how *following) (*v1.LoadBalancerStatus, error) {
	p, err := r.newFollowing(ctx, svc, nodes, c, how)
	if err != nil {
		return nil, err
	}
	defer p.holder.letGo()
	p.knew = r.store.Get(svc.UID).Applied
	if err := p.unpack(ctx, p.knew); err != nil {
		return nil, err
	}
	published, err := p.converge(ctx)
	if err != nil {
		r.store.DropApplied(svc.UID)
	}
	return published, err
}

// newFollowing is newPass for a Service that is refused.
func (r *Reconciler) newFollowing(ctx context.Context, svc *v1.Service, nodes []*v1.Node, c call, how *following) (*pass, error) {
	settings, unread := r.parser.ParseKept(svc)
	version, err := r.facts.Version(ctx)
	if err != nil {
		return nil, err
	}
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(node *v1.Node) bool { return slices.Contains(how.without, node.Name) })
	backends, _, err := members.Select(settings, nodes)
	var none *members.NoneSelectedError
	if errors.As(err, &none) {
		settings.Members.NodeSelector, unread.Selector = labels.Everything(), true
		backends, _, err = members.Select(settings, nodes)
	}
	if err != nil {
		return nil, err
	}
	how.unread = unread
	return &pass{
		Reconciler: r, call: c, svc: svc, id: r.identity(svc, version), as: r.identity(svc, version),
		settings: settings, backends: backends, all: nodes, version: version, before: r.before(svc), follows: how,
	}, nil
}

// observeKept reads what a refused Service has: not where it newly wants to be, and of
// two load balancers, one of which is to replace the other, the one that serves.
func (p *pass) observeKept(ctx context.Context, svc *v1.Service, id ownership.Identity, settings settings.Settings, h *holder) (*model.Observed, ownership.Identity, error) {
	has := func(observed *model.Observed) bool {
		lb := observed.LoadBalancer
		return lb != nil && (lb.Shared == nil || len(lb.Listeners) > 0)
	}
	observed, as, err := p.observe(ctx, svc, id, settings, h)
	if settings.LoadBalancer.ID != "" && (notOurs(err) || err == nil && !has(observed)) {
		settings.LoadBalancer.ID = ""
		observed, as, err = p.observe(ctx, svc, id, settings, h)
	}
	if err == nil && !has(observed) || notOurs(err) {
		err = refusal.ErrNothingKept
	}
	if err != nil {
		return nil, as, err
	}
	if old := observed.Retiring; old != nil {
		p.follows.replacing = true
		if observed.LoadBalancer.FloatingIP == nil && !slices.Contains(publishedAddresses(svc), observed.LoadBalancer.VIP.Address) {
			observed.LoadBalancer = old
		}
	}
	observed.Retiring, observed.Surplus = nil, nil
	p.settings.LoadBalancer.ID = settings.LoadBalancer.ID
	return observed, as, p.lostFloatingIP(ctx, svc, as, observed)
}

// lostFloatingIP looks for what takes the place of a floating IP that the load balancer
// has lost: the same one, else one that comes from where the Service's are to come from.
func (p *pass) lostFloatingIP(ctx context.Context, svc *v1.Service, as ownership.Identity, observed *model.Observed) error {
	lb, address := observed.LoadBalancer, servedAt(svc)
	if lb.Shared != nil || lb.FloatingIP != nil || !p.settings.FloatingIP() || address == "" || address == lb.VIP.Address {
		return nil
	}
	p.follows.lost = address
	asked := p.settings
	asked.LoadBalancerIP = address
	err := p.readFloatingIPs(ctx, svc, as, asked, observed)
	var unavailable *observe.FloatingIPError
	if err != nil && !errors.As(err, &unavailable) {
		return err
	}
	same := func(fip model.FloatingIP) bool { return fip.Address == address }
	want := &model.FloatingIP{Description: p.id.FloatingIPDescription()}
	if slices.ContainsFunc(observed.Spare, same) {
		want.Address = address
	} else if known, err := p.facts.Gather(ctx, p.settings, nil, p.driver(observed), lb); err == nil && known.FloatingNetworkID != "" {
		want.NetworkID, want.SubnetIDs = known.FloatingNetworkID, known.FloatingSubnetIDs
	} else {
		klog.FromContext(ctx).Info("Cannot put back the floating IP of a Service that is refused", "address", address, "err", err, "why", known.NoFloatingIP)
		return nil
	}
	p.follows.fip = want
	return nil
}

// servedAt gives the address that clients know, "" where nobody knows it.
func servedAt(svc *v1.Service) string {
	return cmp.Or(statusAddress(svc), writtenAddress(svc))
}

// diffKept plans what brings a kept load balancer back, and to its nodes. Pools that a
// refused plan has left without a listener stay for the next one.
func (p *pass) diffKept(ctx context.Context) (plan.Plan, error) {
	lb, how := p.observed.LoadBalancer, p.follows
	p.known.Driver = p.driver(p.observed)
	if how.kept == nil {
		how.kept = model.Pack(lb)
		if before := p.drift.Before; before != nil && before.Contents != nil && before.LoadBalancer.ID == lb.ID {
			how.kept = before.Contents
		}
	}
	nodes := desire.Followers{Backends: p.backends, Unchosen: how.unread.Selector, Capped: how.capped}
	if p.settings.Members.InNodeSubnets() {
		var err error
		if nodes.Subnets, err = p.facts.MemberSubnets(ctx, p.backends); err != nil {
			return plan.Plan{}, err
		}
	}
	kept := how.kept.Unpack()
	there := model.Observed{LoadBalancer: new(model.LoadBalancer)}
	*there.LoadBalancer = *lb
	there.LoadBalancer.Orphans = slices.DeleteFunc(slices.Clone(lb.Orphans), func(pool model.Pool) bool {
		return slices.ContainsFunc(kept.Orphans, func(was model.Pool) bool { return was.ID == pool.ID })
	})
	p.wanted = desire.Follow(p.svc.Spec.Ports, kept, nodes)
	if p.wanted.FloatingIP = lb.FloatingIP; lb.FloatingIP == nil && how.fip != nil {
		p.wanted.FloatingIP, there.Spare = how.fip, p.observed.Spare
	}
	options := p.planOptions(p.svc, p.settings, p.changingDriver())
	options.MoveMembers = false
	todo := plan.Diff(p.wanted, there, options)
	if todo.Blocked != "" {
		return todo, &refusal.BlockedError{Why: todo.Blocked, Failed: lb.Status.Failed()}
	}
	return todo, nil
}

// endKept remembers how a kept load balancer is, and gives what to publish of it.
func (p *pass) endKept(ctx context.Context) (*v1.LoadBalancerStatus, error) {
	if err := p.closeNodes(ctx); err != nil {
		return nil, err
	}
	p.settings.LoadBalancer.ID = p.observed.LoadBalancer.ID // a Service that names another one is still to go there
	address, published := servedAt(p.svc), p.svc.Status.LoadBalancer.DeepCopy()
	if fip := p.observed.LoadBalancer.FloatingIP; fip != nil && p.follows.lost != "" && fip.Address != address {
		address = fip.Address
		p.events.AddressChanged(p.svc, statusAddress(p.svc), address)
		published = publish(address, p.settings)
	}
	p.remember(address, nil)
	if p.follows.replacing || !settledOn(p.observed.LoadBalancer, p.svc, p.before) { // there is another one, of which that says nothing
		p.store.DropApplied(p.svc.UID)
	}
	return published, nil
}
