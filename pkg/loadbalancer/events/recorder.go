// Package events emits the events on Services of type LoadBalancer. A Recorder has one method for
// each kind of event; lasting conditions, such as settings without effect, it emits only when they
// have changed.
package events

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// The subjects of events that are emitted only if their text has changed.
const (
	// Settings are those without effect in any cloud, and Provider those that the provider ignores.
	Settings = "settings"
	Provider = "provider"
	// Rollouts are those that lose connections.
	Rollouts = "rollouts"

	nodes = "nodes"
	// withoutEndpoints are the ports without endpoints.
	withoutEndpoints = "endpoints"
	left             = "members"
	allNodes         = "all-nodes"
	udpFlows         = "udp-flows"
	monitors         = "monitors"
	unmanaged        = "unmanaged"
	ports            = "ports"
	share            = "share"
	trouble          = "trouble"
)

// Object is the object of an event, and the place that it shows.
type Object struct {
	Owner model.Owner
	// LoadBalancerID and Address are recorded in the object, "" for none.
	LoadBalancerID, Address string
}

// reference returns the object as events name it.
func (o Object) reference() *v1.ObjectReference {
	return &v1.ObjectReference{APIVersion: "v1", Kind: o.Owner.Kind, Namespace: o.Owner.Namespace, Name: o.Owner.Name, UID: o.Owner.UID}
}

// Memory stores the last emitted events.
type Memory interface {
	// Warn stores the text on a subject of a Service, "" for none, and reports whether to emit it:
	// it differs from the last one.
	Warn(service types.UID, subject, text string) bool
	// Announce stores the next change of a subject of a Service, and reports whether to emit it: it
	// is no retry of the last one.
	Announce(service types.UID, subject, change string) bool
	// Place returns the load balancer of a Service and its address, "" for none, for events that do
	// not name them.
	Place(of Object) (loadBalancerID, address string)
}

// Recorder emits events on Services. Its methods may be called concurrently.
type Recorder struct {
	recorder record.EventRecorder
	memory   Memory
}

// New returns a Recorder that emits events with another recorder, in at most message.MaxEvent
// bytes.
func New(recorder record.EventRecorder, memory Memory) *Recorder {
	return &Recorder{recorder: message.LimitEvents(recorder), memory: memory}
}

// emit emits an event, with the load balancer and the address of the Service, if they are known.
func (r *Recorder) emit(on Object, why reason.Reason, text string) {
	id, address := r.memory.Place(on)
	why.Emit(r.recorder, on.reference(), message.At(text, id, address))
}

func (r *Recorder) emitf(on Object, why reason.Reason, format string, args ...any) {
	r.emit(on, why, fmt.Sprintf(format, args...))
}

// emitChanged emits a text unless it is empty or the last one on the subject.
func (r *Recorder) emitChanged(on Object, subject string, why reason.Reason, text string) {
	if r.memory.Warn(on.Owner.UID, subject, text) {
		r.emit(on, why, text)
	}
}

// Planned emits the changes of a plan, and the objects that it cannot change or does not delete.
func (r *Recorder) Planned(on Object, p plan.Plan) {
	for _, notice := range p.Notices {
		r.emit(on, reason.SettingImmutable, notice.Message)
	}
	for _, text := range p.Retained {
		r.emit(on, reason.NotDeleted, text)
	}
	r.changing(on, "load balancer", Summary(p.Steps))
}

// GroupsChanging emits the changes of security groups, unless the summary is empty, or the same
// change is retried.
func (r *Recorder) GroupsChanging(on Object, summary string) {
	r.changing(on, "security groups", summary)
}

func (r *Recorder) changing(on Object, subject, summary string) {
	if summary != "" && r.memory.Announce(on.Owner.UID, subject, summary) {
		r.emit(on, reason.Changing, summary)
	}
}

// DriftReverted emits another client's change, with the summary of the steps that revert it, unless
// one of them is empty.
func (r *Recorder) DriftReverted(on Object, change, summary string) {
	if change != "" && summary != "" {
		r.emitf(on, reason.Drifted, "Changed by another client: %s. It is being reverted (actual → desired): %s", change, summary)
	}
}

// DriftReported is DriftReverted for a change that drift-policy=report does not revert.
func (r *Recorder) DriftReported(on Object, change, summary string) {
	if change != "" && summary != "" {
		r.emitf(on, reason.Drifted, "Changed by another client: %s. It is left as it is because of drift-policy=report; this would revert it (actual → desired): %s",
			change, summary)
	}
}

// Ready emits the load balancer and the address of a Service that has no published address yet.
func (r *Recorder) Ready(on Object, lb *model.LoadBalancer, addresses []string) {
	if on.Address != "" {
		return
	}
	vip := ""
	if lb.VIP.Address == "" { // of port forwardings
		r.emitf(on, reason.Ready, "Port forwardings of floating IP %s serve the Service at %s", lb.ID, strings.Join(addresses, " and "))
		return
	}
	if fip := lb.FloatingIP; fip != nil && slices.Contains(addresses, fip.Address) {
		what := "floating IP"
		if len(addresses) > 1 {
			what = fip.Address + " is the floating IP"
		}
		vip = fmt.Sprintf(", %s of its VIP %s", what, cmp.Or(lb.VIP.FixedAddress(), lb.VIP.Address))
	}
	r.emitf(on, reason.Ready, "Load balancer %s (%s) serves the Service at %s%s", lb.Name, lb.ID, strings.Join(addresses, " and "), vip)
}

// AddressChanged emits the address that replaces the one before, "" for none.
func (r *Recorder) AddressChanged(on Object, before, now string) {
	if before != "" && before != now {
		r.emitf(on, reason.AddressChanged, "The address changed from %s to %s", before, now)
	}
}

// NotDeleted emits the reason why a load balancer that may be the Service's is not deleted with it.
func (r *Recorder) NotDeleted(on Object, why error) {
	r.emitf(on, reason.NotDeleted, "Not deleted: %v", why)
}

// SettingsIgnored emits the settings that have no effect. The subject is Settings or
// Provider.
func (r *Recorder) SettingsIgnored(on Object, subject string, ignored []annotation.Notice) {
	r.emitChanged(on, subject, reason.SettingIgnored, Listed(ignored))
}

// Listed formats settings that have no effect, "" for none.
func Listed(ignored []annotation.Notice) string {
	texts := make([]string, 0, len(ignored))
	for _, notice := range ignored {
		texts = append(texts, notice.Annotation+": "+notice.Message)
	}
	return message.Join(texts, "; ", message.MaxEvent)
}

// NodesSkipped emits the nodes that are no members because they have no address of the Service's
// family.
func (r *Recorder) NodesSkipped(on Object, family v1.IPFamily, names []string) {
	text := ""
	if len(names) > 0 {
		text = fmt.Sprintf("Not added as members because they have no %s address: %s", family, message.JoinLimited(names))
	}
	r.emitChanged(on, nodes+"-"+string(family), reason.NodeSkipped, text)
}

// HopsSkipped emits the nodes that cannot be next hops of the VIP of a Service with provider router.
func (r *Recorder) HopsSkipped(on Object, names []string, why string) {
	text := ""
	if len(names) > 0 {
		text = fmt.Sprintf("Each of these nodes is %s: %s", why, message.JoinLimited(names))
	}
	r.emitChanged(on, nodes+"-router", reason.NodeSkipped, text)
}

// MembersLeft emits that a Service has no members because of labels or its node selector, or only
// members that are about to be deleted.
func (r *Recorder) MembersLeft(on Object, selector string, of *members.Set) {
	var names []string
	for _, b := range of.Backends {
		names = append(names, b.Node.Name)
	}
	why, text := reason.NoMembers, ""
	switch of.Standing {
	case members.Usual:
	case members.Last:
		why, text = reason.LastMembers, "All nodes that could be members are about to be deleted; these serve until then: "+message.JoinLimited(names)
	case members.Excluded:
		text = "The load balancer has no members, and serves no traffic: all nodes have the label " + v1.LabelNodeExcludeBalancers
	case members.Unselected:
		text = fmt.Sprintf("The load balancer has no members, and serves no traffic: no node that is not excluded matches the node selector %q", message.TruncateValue(selector))
	}
	r.emitChanged(on, left, why, text)
}

// MembersFollow emits why members do not follow the endpoints of a Service: some ports have none, the
// endpoints have no nodes, or keeps is set: another controller created the load balancer. Stays is set
// if UDP flows stay with nodes that the endpoints have left.
func (r *Recorder) MembersFollow(on Object, of members.Followed, keeps, stays bool) {
	empty, nodes, flows := "", "", ""
	if stays {
		flows = "UDP flows that go on stay with a node after its pods have left, until they pause for the timeout of the connection tracking (30 to 120 seconds): " +
			"ask the operator of the cloud for options:ct_flush, or use another provider"
	}
	if len(of.Empty) > 0 {
		empty = "No endpoint is on a node that can be a member, for " + message.JoinLimited(of.Empty) + ": the last members stay, and new pools are empty until then"
	}
	switch {
	case of.Placeless:
		nodes = "All nodes are members: no endpoint of the Service is on a node that can be a member"
	case keeps:
		nodes = fmt.Sprintf("All nodes stay members: another controller created the load balancer. With externalTrafficPolicy Local, nodes without endpoints drop "+
			"connections; set %s: %s, and only nodes with endpoints are members", annotation.Members, annotation.MembersAuto)
	}
	r.emitChanged(on, withoutEndpoints, reason.NoEndpoints, empty)
	r.emitChanged(on, udpFlows, reason.FlowsStay, flows)
	r.emitChanged(on, allNodes, reason.AllNodes, nodes)
}

// RolloutLoses emits once why connections fail during rollouts of a Service, "" if they do not. The
// durations in the text vary.
func (r *Recorder) RolloutLoses(on Object, text string) {
	is := ""
	if text != "" {
		is = "yes"
	}
	if r.memory.Warn(on.Owner.UID, Rollouts, is) {
		r.emit(on, reason.RolloutLoses, text)
	}
}

// Unmanaged emits the changes that are not made because the Service is not managed, or the error of
// the attempt to find them.
func (r *Recorder) Unmanaged(on Object, steps []string, err error) {
	text := "The load balancer is as the Service asks"
	switch {
	case err != nil:
		text = "The Service would be refused: " + err.Error()
	case len(steps) > 0:
		text = "Would change: " + SummaryOf(steps)
	}
	r.emitChanged(on, unmanaged, reason.Unmanaged, "Nothing is written, because "+annotation.Managed+` is "false". `+text)
}

// ShareWaits emits why the Service still waits for the load balancer of its share, "" if it does not.
func (r *Recorder) ShareWaits(on Object, why string) {
	text := ""
	if why != "" {
		text = "Waits: " + why + "; see the events of that Service, or remove its annotation " + annotation.Share
	}
	r.emitChanged(on, share, reason.ShareWaits, text)
}

// HealthMonitorMissing emits the effect of missing health monitors, "" for none.
func (r *Recorder) HealthMonitorMissing(on Object, text string) {
	r.emitChanged(on, monitors, reason.HealthMonitorMissing, text)
}

// Chosen emits the networks that the controller chose for the addresses of a plan, because neither
// the Service nor cloud.conf does.
func (r *Recorder) Chosen(on Object, facts desire.Facts, p plan.Plan) {
	if facts.NoFloatingIP != "" && p.Creates() {
		r.emit(on, reason.ForcedInternal, facts.NoFloatingIP)
	}
	if facts.ChosenSubnet != "" && p.Creates() {
		r.emit(on, reason.SubnetChosen, facts.ChosenSubnet)
	}
	if facts.Chosen != "" && p.CreatesFloatingIP() {
		r.emit(on, reason.ExternalNetworkChosen, facts.Chosen)
	}
}

// SharedWithoutFloatingIP emits that an external Service is reachable only at the VIP of another
// Service's load balancer, which has no floating IP.
func (r *Recorder) SharedWithoutFloatingIP(on Object, vip string) {
	r.emitf(on, reason.ForcedInternal, "The load balancer that the Service shares has no floating IP: the Service is reachable at its VIP %s only", vip)
}

// ForeignFloatingIP emits the floating IP that another client attached to a VIP that should have
// none.
func (r *Recorder) ForeignFloatingIP(on Object, fip model.FloatingIP, vip string) {
	r.emitf(on, reason.ForeignFloatingIP, "Another client attached floating IP %s (%s) to VIP %s of the load balancer, which should have none: "+
		"it is left attached, and clients can reach the Service through it", fip.Address, fip.ID, vip)
}

// PortsNotFound emits the nodes that the security groups do not open: unfound ones have an address
// on no Neutron port; strayed ones have no known server, and only a port outside of the members'
// subnets has their address; the address of taken ones is on the port of another server. It omits
// new Nodes that wait for their initialization, which triggers a reconciliation.
func (r *Recorder) PortsNotFound(on Object, unfound, strayed, taken []string, backends []members.Backend) {
	initialized := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return slices.ContainsFunc(backends, func(b members.Backend) bool { return b.Node.Name == name && uninitialized(b.Node) })
		})
	}
	var texts []string
	if names := initialized(unfound); len(names) > 0 {
		texts = append(texts, fmt.Sprintf("No Neutron port of this project has the address of %s: open the NodePorts there to the load balancer yourself", message.JoinLimited(names)))
	}
	if names := initialized(strayed); len(names) > 0 {
		texts = append(texts, fmt.Sprintf("The servers of %s are unknown, as their provider IDs name none that has their address, and no port in the members' subnets has it either: "+
			"correct the provider IDs, or name the subnet of the nodes with member-subnet-id", message.JoinLimited(names)))
	}
	if names := initialized(taken); len(names) > 0 {
		texts = append(texts, fmt.Sprintf("The addresses of %s are on ports that are not of their servers, so no security group is put on those: "+
			"delete the Nodes if their servers are gone, or correct their provider IDs", message.JoinLimited(names)))
	}
	r.emitChanged(on, ports, reason.PortNotFound, strings.Join(texts, ". "))
}

func uninitialized(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// Trouble emits an obstacle in the cloud, unless the Service's last one had the same key.
func (r *Recorder) Trouble(on Object, why reason.Reason, key, text string) {
	if r.memory.Warn(on.Owner.UID, trouble, string(why)+" "+key) {
		r.emit(on, why, text)
	}
}

// TroubleOver makes the next trouble be emitted.
func (r *Recorder) TroubleOver(on Object) { r.memory.Warn(on.Owner.UID, trouble, "") }

// Summary formats the first steps of a plan for an event, and the number of the others; "" for
// none.
func Summary[Step fmt.Stringer](steps []Step) string {
	texts := make([]string, 0, len(steps))
	for _, step := range steps {
		texts = append(texts, step.String())
	}
	return SummaryOf(texts)
}

// SummaryOf is Summary for formatted steps.
func SummaryOf(steps []string) string {
	const most = 5
	var lines []string
	for _, step := range steps[:min(most, len(steps))] {
		lines = append(lines, message.Truncate(step, message.MaxEvent/(most+1)))
	}
	if more := len(steps) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "; ")
}
