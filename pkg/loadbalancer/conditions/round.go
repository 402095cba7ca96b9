package conditions

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Round is the result of a round for a Service.
type Round struct {
	// Err is the reason why the Service lacks its requested state; nil if it has it.
	Err error
	// Reported is the problem that only others can solve: InError, Pending or QuotaExceeded; "" for any
	// other.
	Reported reason.Reason
	// Refusal is the reason why the Service is refused, "" if it is not. Kept describes the refused
	// request, the parts that are kept in operation, and the settings without effect.
	Refusal reason.Reason
	Kept    string
	// LoadBalancerID and Address are those in operation; "" if they are unknown.
	LoadBalancerID, Address string
	// Drift describes the changes of another client that are not reverted; "" for none.
	Drift string
	// Ignored describes the settings without effect; "" for none.
	Ignored string
	// Watched is set if Health reports whether members answer.
	Watched bool
}

// Conditions returns the conditions of a Service after a round. It leaves unknown ones unchanged:
//
//	the round                   Provisioned         Degraded             Refused        Drifted
//	succeeded                   true, Ready         false [1]            false [3]      Drift
//	load balancer gone, left    false, Gone         unchanged            false          true
//	is refused                  false, Refused      unchanged            true, reason   Drift
//	something is in ERROR       false, InError      true, InError        unchanged      Drift
//	it is PENDING too long      false, Pending      unchanged            unchanged      Drift
//	any other error             unchanged [2]       unchanged            unchanged      Drift
//
// [1] unchanged while it reports a missing healthy member, if that is watched. [2] false, NotReady
// for a Service without an address and without conditions. An outage of OpenStack is no reason to
// write the status of each Service. [3] Accepted, or SettingIgnored if a setting has no effect.
func (r Round) Conditions(svc *v1.Service) []Condition {
	have := svc.Status.Conditions
	var wanted []Condition
	set := func(condition reason.Condition, is bool, why reason.Reason, text string) {
		wanted = append(wanted, Condition{condition, is, why, message.Truncate(text, message.MaxError)})
	}
	switch {
	case r.Err == nil && r.LoadBalancerID == "":
		set(reason.Provisioned, false, reason.Gone, "Another client has deleted the load balancer, and it is not created again")
	case r.Err == nil:
		set(reason.Provisioned, true, reason.Ready, fmt.Sprintf("Load balancer %s serves the Service at %s", r.LoadBalancerID, r.Address))
		if !r.Watched || !has(have, reason.Degraded, true, reason.NoHealthyMember) {
			set(reason.Degraded, false, reason.Sound, "")
		}
	case r.Refusal != "":
		set(reason.Provisioned, false, reason.Refused, "The request of the Service is refused: see the condition Refused")
		set(reason.IsRefused, true, r.Refusal, r.Kept)
	case r.Reported == reason.InError:
		set(reason.Provisioned, false, reason.InError, r.Err.Error())
		set(reason.Degraded, true, reason.InError, r.Err.Error())
	case r.Reported == reason.Pending:
		set(reason.Provisioned, false, reason.Pending, r.Err.Error())
	case len(svc.Status.LoadBalancer.Ingress) == 0 && meta.FindStatusCondition(have, string(reason.Provisioned)) == nil:
		set(reason.Provisioned, false, reason.NotReady, "The load balancer could not be created yet; the controller retries: see the events of the Service")
	}
	switch {
	case r.Err == nil && r.Ignored != "":
		set(reason.IsRefused, false, reason.SettingIgnored, "Without effect: "+r.Ignored)
	case r.Err == nil:
		set(reason.IsRefused, false, reason.Accepted, "")
	}
	switch {
	case r.Drift != "":
		set(reason.IsDrifted, true, reason.Drifted, r.Drift)
	case r.Err == nil || r.Refusal != "":
		set(reason.IsDrifted, false, reason.Undrifted, "")
	}
	return wanted
}

// Health returns the condition Degraded of a load balancer by its operating status; nil if that is
// inconclusive. pools are those without any member that answers, nil if unknown. The status
// DEGRADED is ignored: with externalTrafficPolicy Local most members never answer, and a failed
// node is a failed member in every load balancer.
func Health(loadBalancerID, operating string, pools []string) []Condition {
	switch operating {
	case "ONLINE", "DEGRADED", "NO_MONITOR":
		return []Condition{{reason.Degraded, false, reason.Sound, ""}}
	case "ERROR":
		text := fmt.Sprintf("Load balancer %s has the operating status ERROR: no member answers", loadBalancerID)
		if len(pools) > 0 {
			text += " of the pool for " + message.JoinLimited(pools)
		}
		return []Condition{{reason.Degraded, true, reason.NoHealthyMember, message.Truncate(text, message.MaxError)}}
	}
	return nil
}
