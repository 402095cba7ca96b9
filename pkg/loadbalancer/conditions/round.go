package conditions

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Round is how a round for a Service has ended.
type Round struct {
	// Err is why the Service has not what it asks for; nil: it has.
	Err error
	// Told is what of that only others can end: InError, Pending or QuotaExceeded; ""
	// for anything else.
	Told reason.Reason
	// Refusal is why the Service is refused, "" where it is not, and Kept what is refused, and
	// what is kept alive.
	Refusal reason.Reason
	Kept    string
	// LoadBalancerID and Address are of what serves it; "" where that is not known.
	LoadBalancerID, Address string
	// Drift is what another client has changed, and that stands; "" for nothing.
	Drift string
	// Ignored is what of the Service has no effect; "" for nothing.
	Ignored string
	// Watched is set where Health says whether members answer.
	Watched bool
}

// Said returns what the conditions of a Service are to say after a round. What it does not know
// it leaves as it is said:
//
//	the round                   Provisioned         Degraded             Refused        Drifted
//	has arrived                 true, Ready         false [1]            false [3]      what stands
//	load balancer gone, left    false, Gone         as it is             false          true
//	is refused                  false, Refused      as it is             true, why      what stands
//	something is in ERROR       false, InError      true, InError        as it is       what stands
//	it is PENDING too long      false, Pending      as it is             as it is       what stands
//	any other error             as it is [2]        as it is             as it is       what stands
//
// [1] as it is where that is for want of a healthy member, as long as that is watched.
// [2] false, NotReady for a Service that has no address and of which nothing was said yet. An
// outage of OpenStack is no reason to write to the status of each Service.
// [3] Accepted, or SettingIgnored where something of it has no effect.
func (r Round) Said(svc *v1.Service) []Said {
	have := svc.Status.Conditions
	var said []Said
	say := func(condition reason.Condition, is bool, why reason.Reason, text string) {
		said = append(said, Said{condition, is, why, message.Truncate(text, message.MaxError)})
	}
	switch {
	case r.Err == nil && r.LoadBalancerID == "":
		say(reason.Provisioned, false, reason.Gone, "The load balancer was deleted by another client, and is not created again")
	case r.Err == nil:
		say(reason.Provisioned, true, reason.Ready, fmt.Sprintf("Load balancer %s serves the Service at %s", r.LoadBalancerID, r.Address))
		if !r.Watched || !has(have, reason.Degraded, true, reason.NoHealthyMember) {
			say(reason.Degraded, false, reason.Sound, "")
		}
	case r.Refusal != "":
		say(reason.Provisioned, false, reason.Refused, "The Service asks for what it cannot have: see the condition Refused")
		say(reason.IsRefused, true, r.Refusal, r.Kept)
	case r.Told == reason.InError:
		say(reason.Provisioned, false, reason.InError, r.Err.Error())
		say(reason.Degraded, true, reason.InError, r.Err.Error())
	case r.Told == reason.Pending:
		say(reason.Provisioned, false, reason.Pending, r.Err.Error())
	case len(svc.Status.LoadBalancer.Ingress) == 0 && meta.FindStatusCondition(have, string(reason.Provisioned)) == nil:
		say(reason.Provisioned, false, reason.NotReady, "The load balancer could not be made yet, which is tried again: see the events of the Service")
	}
	switch {
	case r.Err == nil && r.Ignored != "":
		say(reason.IsRefused, false, reason.SettingIgnored, "Without effect: "+r.Ignored)
	case r.Err == nil:
		say(reason.IsRefused, false, reason.Accepted, "")
	}
	switch {
	case r.Drift != "":
		say(reason.IsDrifted, true, reason.Drifted, r.Drift)
	case r.Err == nil || r.Refusal != "":
		say(reason.IsDrifted, false, reason.Undrifted, "")
	}
	return said
}

// Health returns what the condition Degraded is to say of a load balancer by its operating
// status; nil where that says nothing. Pools are those without any member that answers, nil
// where they are not known. That single members do not answer (DEGRADED) is no news: with
// externalTrafficPolicy Local most never do, and one node that fails is one in each load
// balancer.
func Health(loadBalancerID, operating string, pools []string) []Said {
	switch operating {
	case "ONLINE", "DEGRADED", "NO_MONITOR":
		return []Said{{reason.Degraded, false, reason.Sound, ""}}
	case "ERROR":
		text := fmt.Sprintf("Load balancer %s has the operating status ERROR: no member answers", loadBalancerID)
		if len(pools) > 0 {
			text += " of the pool for " + message.JoinLimited(pools)
		}
		return []Said{{reason.Degraded, true, reason.NoHealthyMember, message.Truncate(text, message.MaxError)}}
	}
	return nil
}
