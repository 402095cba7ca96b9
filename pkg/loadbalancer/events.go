package loadbalancer

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// The reasons of the events on Services. The service controller tells of success
// and failure itself; these tell of causes.
const (
	// ReasonChanging (Normal) lists what is being changed in the cloud.
	ReasonChanging = "ChangingLoadBalancer"
	// ReasonReady (Normal) names the load balancer of a Service and its address, when a
	// Service that has none is given one.
	ReasonReady = "LoadBalancerReady"
	// ReasonIgnored (Warning) names annotations that have no effect.
	ReasonIgnored = "LoadBalancerSettingIgnored"
	// ReasonUnchanged (Warning) names a setting that cannot change on a load
	// balancer that exists.
	ReasonUnchanged = "LoadBalancerSettingUnchanged"
	// ReasonLeftAlone (Warning) names a load balancer that may be the Service's, and
	// is not deleted with it because nothing proves that.
	ReasonLeftAlone = "LoadBalancerLeftAlone"
	// ReasonDrifted (Warning) tells what somebody else changed in the cloud.
	ReasonDrifted = "LoadBalancerDrifted"
	// ReasonForcedInternal (Warning) tells that the cloud has no floating IPs.
	ReasonForcedInternal = "LoadBalancerForcedInternal"
	// ReasonNetworkChosen (Normal) tells which of several external networks the
	// floating IP comes from.
	ReasonNetworkChosen = "LoadBalancerExternalNetworkChosen"
	// ReasonSubnetChosen (Normal) tells which of several subnets of the nodes the VIP is
	// in.
	ReasonSubnetChosen = "LoadBalancerSubnetChosen"
	// ReasonUnmonitored (Normal) tells that a load balancer which another controller made
	// has no health monitors, and how to add them.
	ReasonUnmonitored = "LoadBalancerHealthMonitorMissing"
	// ReasonAddressChanged (Normal) tells of another address than was published.
	ReasonAddressChanged = "LoadBalancerAddressChanged"
	// ReasonForeignFloatingIP (Warning) names a floating IP that somebody else put on a
	// load balancer that is to have none.
	ReasonForeignFloatingIP = "LoadBalancerForeignFloatingIP"
	// ReasonNodeSkipped (Warning) names nodes that cannot be members.
	ReasonNodeSkipped = "LoadBalancerNodeSkipped"
	// ReasonNodeNotOpened (Warning) names nodes whose security groups are out of reach.
	ReasonNodeNotOpened = "LoadBalancerNodeNotOpened"
)

func (r *Reconciler) tellWithoutAddress(svc *v1.Service, settings desire.Settings, names []string) {
	text := ""
	if len(names) > 0 {
		text = fmt.Sprintf("No address of family %s, so not a member: %s", settings.Family, desire.Some(names))
	}
	if r.store.Warn(svc.UID, aboutNodes, text) {
		r.options.Recorder.Event(svc, v1.EventTypeWarning, ReasonNodeSkipped, text)
	}
}

// tellFloating says, when something is made, what is not as one may think of its
// addresses.
func (r *Reconciler) tellFloating(svc *v1.Service, known desire.Facts, p plan.Plan) {
	if known.NoFloatingIP != "" && p.Creates() {
		r.options.Recorder.Event(svc, v1.EventTypeWarning, ReasonForcedInternal, known.NoFloatingIP)
	}
	if known.ChosenSubnet != "" && p.Creates() {
		r.options.Recorder.Event(svc, v1.EventTypeNormal, ReasonSubnetChosen, known.ChosenSubnet)
	}
	if known.Chosen != "" && p.MakesFloatingIP() {
		r.options.Recorder.Event(svc, v1.EventTypeNormal, ReasonNetworkChosen, known.Chosen)
	}
}

// tellUnmonitored says what the traffic policy lacks on a load balancer that is taken over.
func (p *pass) tellUnmonitored() {
	text := own(p.settings, p.observed).Monitor.Missing(p.svc, p.capabilities(p.observed))
	if p.store.Warn(p.svc.UID, aboutMonitors, text) {
		p.options.Recorder.Event(p.svc, v1.EventTypeNormal, ReasonUnmonitored, text)
	}
}

// tellReady says which load balancer the Service got, and where it is reachable.
func (p *pass) tellReady(address string) {
	if len(p.svc.Status.LoadBalancer.Ingress) > 0 {
		return
	}
	lb, behind := p.observed.LoadBalancer, ""
	if lb.VIP.Address != address {
		behind = ", floating IP of its VIP " + lb.VIP.Address
	}
	p.options.Recorder.Eventf(p.svc, v1.EventTypeNormal, ReasonReady, "Load balancer %s (%s) serves the Service at %s%s", lb.Name, lb.ID, address, behind)
}

// tellAddress says that the Service is reachable at another address now.
func (r *Reconciler) tellAddress(svc *v1.Service, now string) {
	before := append(publishedAddresses(svc), namedAddresses(svc)...)
	if len(before) > 0 && before[0] != now {
		r.options.Recorder.Eventf(svc, v1.EventTypeNormal, ReasonAddressChanged, "The address changed from %s to %s", before[0], now)
	}
}

// tellLeftAlone says that a Service which goes leaves a load balancer that may be its own.
func (r *Reconciler) tellLeftAlone(svc *v1.Service, why error) {
	r.options.Recorder.Eventf(svc, v1.EventTypeWarning, ReasonLeftAlone, "Left alone: %v", why)
}

// tellDrift says what somebody else has changed, by what changes it back, or, where it
// is only reported, would.
func (r *Reconciler) tellDrift(svc *v1.Service, drift string, p plan.Plan, stays bool) {
	if drift != "" && len(p.Steps) > 0 {
		r.tellDifference(svc, drift, summary(p.Steps), stays)
	}
}

func (r *Reconciler) tellDifference(svc *v1.Service, drift, steps string, stays bool) {
	what := "it is changed back (what is there → what the Service asks for)"
	if stays {
		what = "it stays so, with drift-policy=report; what would change it back (what is there → what the Service asks for)"
	}
	r.options.Recorder.Eventf(svc, v1.EventTypeWarning, ReasonDrifted, "%s by somebody else; %s: %s", drift, what, steps)
}

// tellPlan says what is going to change, as long as an event may be.
func (r *Reconciler) tellPlan(svc *v1.Service, p plan.Plan) {
	for _, notice := range p.Notices {
		r.options.Recorder.Event(svc, v1.EventTypeWarning, ReasonUnchanged, notice.Message)
	}
	if len(p.Steps) > 0 {
		r.options.Recorder.Event(svc, v1.EventTypeNormal, ReasonChanging, summary(p.Steps))
	}
}

// summary prints the first steps of a plan.
func summary[Step fmt.Stringer](steps []Step) string {
	const most = 5
	var lines []string
	for _, step := range steps[:min(most, len(steps))] {
		lines = append(lines, message.Cut(step.String(), message.MaxEvent/(most+1)))
	}
	if more := len(steps) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "; ")
}
