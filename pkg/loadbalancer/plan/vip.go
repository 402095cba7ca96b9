package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// UpdateLoadBalancer changes settings of the VIP in one request, or enables a load balancer.
type UpdateLoadBalancer struct {
	ID, Name string
	From, To model.VIPSettings
	SwitchOn bool
}

func (UpdateLoadBalancer) step() {}

// String implements Step.
func (s UpdateLoadBalancer) String() string {
	var changes changes
	changes.switched(s.SwitchOn, false)
	changes.add("vip_qos_policy_id", cmp.Or(s.From.QoSPolicyID, model.None), cmp.Or(s.To.QoSPolicyID, model.None))
	changes.add("vip_sg_ids", fmt.Sprint(s.From.SecurityGroupIDs), fmt.Sprint(s.To.SecurityGroupIDs))
	return fmt.Sprintf("load balancer %s (%s): %s", s.Name, s.ID, changes)
}

func updateVIP(desired, lb *model.LoadBalancer) []Step {
	from := lb.VIP.VIPSettings
	to := desired.VIP.Over(from)
	if to.Equal(from) {
		return nil
	}
	return []Step{UpdateLoadBalancer{ID: lb.ID, Name: lb.Name, From: from, To: to}}
}

// switchOn returns the step that enables a load balancer that is administratively down, unless
// another owner is on it, who enables it.
func switchOn(desired, lb *model.LoadBalancer) []Step {
	if !lb.AdminDown || lb.Shared != nil && !lb.Shared.Orphaned {
		return nil
	}
	settings := desired.VIP.Over(lb.VIP.VIPSettings) // as after updateVIP
	return []Step{UpdateLoadBalancer{ID: lb.ID, Name: lb.Name, From: settings, To: settings, SwitchOn: true}}
}

// restrictionConflict returns the reason for a conflict between security groups of the VIP and
// source ranges, or "". Octavia accepts only one of the two. During a switch from one to the other
// all clients would be admitted for a moment: therefore the user must request neither in between.
func restrictionConflict(desired, lb *model.LoadBalancer) string {
	want, have := desired.VIP.Settled().SecurityGroupIDs, lb.VIP.SecurityGroupIDs
	switch {
	case lb.Shared != nil && len(want) > 0 && !slices.Equal(want, have):
		return fmt.Sprintf("load balancer %s was made for another and is shared: the security groups %s of its VIP are not for this Service to choose",
			lb.ID, strings.Join(want, ", "))
	case len(have) > 0 && slices.ContainsFunc(desired.Listeners, hasSourceRanges):
		return fmt.Sprintf("load balancer %s (%s) has security groups on its VIP, beside which Octavia takes no source ranges: "+
			"take them away first, with %s: %s and without source ranges", lb.Name, lb.ID, vipSecurityGroups, model.None)
	case len(want) > 0 && !slices.Equal(want, have) && slices.ContainsFunc(lb.Listeners, hasSourceRanges):
		return fmt.Sprintf("load balancer %s (%s) has source ranges, beside which Octavia takes no security groups for its VIP: "+
			"take the ranges away first, without %s", lb.Name, lb.ID, vipSecurityGroups)
	}
	return ""
}

// sharedNotices returns a message about a QoS policy of the VIP of a shared load balancer.
func sharedNotices(desired, lb *model.LoadBalancer) []string {
	want, have := desired.VIP.Settled().QoSPolicyID, lb.VIP.QoSPolicyID
	if want == "" || want == have {
		return nil
	}
	return []string{fmt.Sprintf("the QoS policy of the VIP stays as it is: load balancer %s was made for another and is shared", lb.ID)}
}

func hasSourceRanges(l model.Listener) bool { return len(l.AllowedCIDRs) > 0 }

// vipSecurityGroups is the annotation for security groups of the VIP.
const vipSecurityGroups = "loadbalancer.openstack.org/vip-sg-ids"
