package status

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// evidence are the facts about a Service.
type evidence struct {
	service *v1.Service
	// local is that of the status.
	local bool
	// refused are the reasons of a refusal by the controller's own code.
	refused []string
	// ignored are its settings without effect.
	ignored []annotation.Notice
	// balancer is nil if there is none.
	balancer *LoadBalancer
	// further is the number of its other load balancers, replaces whether the first is to replace
	// one.
	further  int
	replaces bool
	// unhealthy are the bad statuses of pools, by listener, if members were not read.
	unhealthy map[string]Status
	// conditions are the controller's, lastError is its last error.
	conditions []Condition
	lastError  *Event
}

// judge returns the problems of a Service, the worst first. It is pure.
func (e evidence) judge() []Problem {
	var found verdicts
	refused := e.stating(reason.IsRefused)
	for _, why := range e.refused {
		if refused == nil || !refused.startsWith(why) {
			found.add(Refused, nil, "%s", why)
		}
	}
	if refused != nil {
		found = append(found, refused.problem(Refused))
	}
	switch {
	case !wanted(e.service):
		e.judgeLeaving(&found)
	case e.balancer == nil:
		e.judgeMissing(&found)
	default:
		e.judgeBalancer(&found)
	}
	e.judgeIgnored(&found)
	e.judgeSaid(&found)
	e.judgeError(&found)
	slices.SortStableFunc(found, func(a, b Problem) int {
		switch {
		case a.State.worse(b.State):
			return -1
		case b.State.worse(a.State):
			return 1
		}
		return 0
	})
	return found
}

// stating returns a true condition; nil for a Service that is being deleted, because its conditions
// are about the state before.
func (e evidence) stating(kind reason.Condition) *Condition {
	if !wanted(e.service) {
		return nil
	}
	return stating(e.conditions, kind)
}

func (e evidence) isRefused() bool { return len(e.refused) > 0 || e.stating(reason.IsRefused) != nil }

// judgeIgnored adds the settings without effect, such as misspelled ones.
func (e evidence) judgeIgnored(found *verdicts) {
	if !wanted(e.service) {
		return
	}
	for _, notice := range e.ignored {
		*found = append(*found, Problem{State: Degraded, Reason: reason.SettingIgnored, Text: notice.Annotation + ": " + notice.Message})
	}
}

// judgeSaid adds the controller's knowledge that the cloud does not show: the time since which no
// member answers, the remedy for ERROR, and unreverted changes of another client. If the cloud is
// healthy, the controller has not checked since.
func (e evidence) judgeSaid(found *verdicts) {
	if degraded := e.stating(reason.Degraded); degraded != nil && e.balancer != nil && found.has(Failed) {
		*found = append(*found, degraded.problem(Degraded))
	}
	if drifted := e.stating(reason.IsDrifted); drifted != nil {
		*found = append(*found, drifted.problem(Degraded))
	}
}

// judgeError adds the last error, unless a condition, or a rule that refuses the Service, reports
// the same.
func (e evidence) judgeError(found *verdicts) {
	last := e.lastError
	if last == nil || last.Over || found.has(last.stateOf()) && last.stateOf() == Refused {
		return
	}
	if _, said := unsaid(*found, last.text()); !said {
		found.add(last.stateOf(), &last.First, "%s", last.text())
	}
}

// verdicts collects problems.
type verdicts []Problem

func (v *verdicts) has(state State) bool {
	return slices.ContainsFunc(*v, func(p Problem) bool { return p.State == state })
}

func (v *verdicts) add(state State, since *time.Time, format string, args ...any) {
	if since != nil && since.IsZero() {
		since = nil
	}
	*v = append(*v, Problem{State: state, Text: fmt.Sprintf(format, args...), Since: since})
}

func wanted(svc *v1.Service) bool {
	return svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.DeletionTimestamp == nil
}

// judgeLeaving is about a Service that is deleted, or no longer needs a load balancer.
func (e evidence) judgeLeaving(found *verdicts) {
	var since *time.Time
	if e.service.DeletionTimestamp != nil {
		since = &e.service.DeletionTimestamp.Time
	}
	if e.balancer == nil {
		found.add(Pending, since, "the Service is being deleted, and has no load balancer any more")
		return
	}
	found.add(Pending, since, "the load balancer is being removed with the Service")
	e.judgeStatus(found)
}

func (e evidence) judgeMissing(found *verdicts) {
	since := &e.service.CreationTimestamp.Time
	switch {
	case len(e.service.Status.LoadBalancer.Ingress) > 0:
		found.add(Failed, nil, "there is no load balancer, although an address is published")
	case e.isRefused():
	case servicehelpers.HasLBFinalizer(e.service):
		found.add(Pending, since, "there is no load balancer yet")
	default:
		found.add(Pending, since, "there is no load balancer yet, and no controller has started with the Service")
	}
}

func (e evidence) judgeBalancer(found *verdicts) {
	lb := e.balancer
	e.judgeStatus(found)
	if e.replaces {
		found.add(Pending, nil, "it replaces another load balancer, which still exists")
	} else if e.further > 0 {
		found.add(Pending, nil, "%s that should not exist: being removed", counted(e.further, "further load balancer"))
	}
	if driver.WithoutOctavia(lb.Provider) {
		e.judgeRoutes(found)
		e.judgeAddress(found)
		return
	}
	for _, port := range e.missingPorts() {
		found.add(Pending, nil, "%s has no listener", port)
	}
	for _, l := range lb.Listeners {
		e.judgeListener(found, l)
	}
	e.judgeAddress(found)
}

// judgeStatus is about the load balancer itself. Its operating status is covered by its listeners.
func (e evidence) judgeStatus(found *verdicts) {
	lb := e.balancer
	switch {
	case lb.failed():
		found.add(Failed, &lb.ChangedAt, "the load balancer is in ERROR")
	case lb.pending():
		found.add(Pending, &lb.ChangedAt, "the load balancer is %s", lb.Provisioning)
	}
	if lb.Down {
		found.add(Degraded, nil, "the load balancer is switched off (admin_state_up is false)")
	}
}

func (e evidence) missingPorts() []model.ListenerKey {
	var missing []model.ListenerKey
	for _, port := range e.service.Spec.Ports {
		key := model.ListenerKey{Transport: model.Protocol(port.Protocol).Transport(), Port: int(port.Port)}
		if !slices.ContainsFunc(e.balancer.Listeners, func(l Listener) bool { return keyOf(l) == key }) {
			missing = append(missing, key)
		}
	}
	return missing
}

func (e evidence) judgeListener(found *verdicts, l Listener) {
	e.judgePart(found, "listener "+l.key(), l.Status)
	if !model.Protocol(l.Protocol).HasPool() {
		return
	}
	if l.Pool == nil {
		e.judgePool(found, l.key(), e.unhealthy[l.ID])
		return
	}
	e.judgePart(found, "the pool of "+l.key(), l.Pool.Status)
	if m := l.Pool.Monitor; m != nil {
		e.judgePart(found, "the health monitor of "+l.key(), m.Status)
	}
	var silent []string
	serving := 0
	for _, m := range l.Pool.Members {
		switch {
		case m.failed():
			found.add(Failed, nil, "member %s of %s is in ERROR", m.title(), l.key())
		case m.pending() && !e.balancer.pending():
			found.add(Pending, nil, "member %s of %s is %s", m.title(), l.key(), m.Provisioning)
		case m.silent():
			silent = append(silent, m.title())
		case m.Operating == "ONLINE" || m.Operating == "NO_MONITOR":
			serving++
		}
	}
	e.judgeMembers(found, l, silent, serving)
}

// judgeMembers evaluates how many members answer. With externalTrafficPolicy Local, only members on
// nodes with endpoints must answer.
func (e evidence) judgeMembers(found *verdicts, l Listener, silent []string, serving int) {
	switch {
	case len(l.Pool.Members) == 0:
		found.add(Degraded, nil, "%s has no members", l.key())
	case serving == 0 && len(silent) > 0:
		found.add(Failed, nil, "no member of %s answers its health monitor", l.key())
	case len(silent) > 0 && !e.local:
		found.add(Degraded, nil, "%s: no answer to the health monitor from %d of %s: %s",
			l.key(), len(silent), counted(len(l.Pool.Members), "member"), message.JoinLimited(silent))
	}
}

// judgePart evaluates the provisioning status of a part: one that is PENDING with the load balancer
// is not reported.
func (e evidence) judgePart(found *verdicts, what string, s Status) {
	switch {
	case s.failed():
		found.add(Failed, nil, "%s is in ERROR", what)
	case s.pending() && !e.balancer.pending():
		found.add(Pending, nil, "%s is %s", what, s.Provisioning)
	}
	if s.Down {
		found.add(Degraded, nil, "%s is switched off (admin_state_up is false)", what)
	}
}

// judgePool evaluates a pool of a listener by its own statuses alone.
func (e evidence) judgePool(found *verdicts, of string, s Status) {
	e.judgePart(found, "the pool of "+of, s)
	switch {
	case s.silent():
		found.add(Failed, nil, "no member of %s answers its health monitor", of)
	case s.Operating == "DEGRADED" && !e.local:
		found.add(Degraded, nil, "not every member of %s answers its health monitor", of)
	}
}

// judgeAddress compares the published addresses with the actual ones. It ignores host names.
func (e evidence) judgeAddress(found *verdicts) {
	ingress := e.service.Status.LoadBalancer.Ingress
	if len(ingress) == 0 && !e.balancer.pending() && !e.isRefused() {
		found.add(Pending, nil, "no address is published yet")
	}
	for _, published := range ingress {
		if published.IP == "" || published.IP == e.balancer.VIP.Address || slices.Contains(e.balancer.VIP.Additional, published.IP) {
			continue
		}
		if !slices.ContainsFunc(e.balancer.FloatingIPs, func(f FloatingIP) bool { return f.Address == published.IP }) {
			found.add(Degraded, nil, "the published address %s is not on the load balancer", published.IP)
		}
	}
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
