package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// An invalid value of an annotation that cloud-provider-openstack has too counts as not given, as
// it does there:
//
//	there                        a new load balancer   one that exists
//	its default is taken         with that default     with that default, unless that would change it: see Unsettled
//	OpenStack refuses the value  refused               the same
// So load balancers of cloud-provider-openstack stay in operation, and a typing error does not
// change an existing load balancer.

// Malformed is an annotation that counts as not given, with the value that is used instead.
type Malformed struct {
	annotation.Malformed
	// Instead is a description of the value that is used.
	Instead string
}

// malformed returns the malformed values with their replacements.
func (l *levels) malformed() []Malformed {
	var all []Malformed
	for _, m := range l.values.Malformed {
		all = append(all, Malformed{m, insteadOf(m.Annotation, *l.conf)})
	}
	return all
}

// insteadOf describes the value that is used without an annotation.
func insteadOf(name string, lb config.LoadBalancer) string {
	limit := func(of *int) string {
		if of == nil {
			return "the default of the cloud's operator"
		}
		return strconv.Itoa(*of)
	}
	switch name {
	case annotation.Internal:
		return strconv.FormatBool(lb.InternalLB || lb.InternalByDefault)
	case annotation.KeepFloatingIP:
		return "true" // see annotation.Values.KeepsFloatingIP
	case annotation.Monitor:
		return strconv.FormatBool(lb.CreateMonitor)
	case annotation.MonitorDelay:
		return strconv.Itoa(int(lb.MonitorDelay.Seconds()))
	case annotation.MonitorTimeout:
		return strconv.Itoa(int(lb.MonitorTimeout.Seconds()))
	case annotation.MonitorRetries:
		return strconv.Itoa(int(lb.MonitorMaxRetries))
	case annotation.MonitorDown:
		return strconv.Itoa(int(lb.MonitorMaxRetriesDown))
	case annotation.ConnLimit:
		return limit(lb.ConnectionLimit)
	case annotation.ClientData:
		return limit(lb.TimeoutClientData)
	case annotation.MemberConnect:
		return limit(lb.TimeoutMemberConnect)
	case annotation.MemberData:
		return limit(lb.TimeoutMemberData)
	case annotation.TCPInspect:
		return limit(lb.TimeoutTCPInspect)
	case annotation.Method:
		return lb.LBMethod
	default:
		return "false"
	}
}

// noticeMalformed reports values that count as not given, also for a new load balancer.
func (r *reading) noticeMalformed(all []Malformed) {
	for _, m := range all {
		if !m.NewRefused {
			r.notices = append(r.notices, m.notice())
		}
	}
}

func (m Malformed) notice() annotation.Notice {
	return annotation.Notice{Annotation: m.Annotation, Message: fmt.Sprintf(
		"%q is invalid; using %s, unless that changes an existing load balancer. Allowed: %s", m.Value, m.Instead, m.Allowed)}
}

// malformed returns errors for the values with which cloud-provider-openstack creates no load
// balancer either.
func (v validation) malformed() field.ErrorList {
	if v.s.exists {
		return nil
	}
	var errs field.ErrorList
	for _, m := range v.s.Malformed {
		if m.NewRefused {
			errs = append(errs, field.Invalid(annotation.Path(m.Annotation), m.Value, "allowed: "+m.Allowed))
		}
	}
	return errs
}

// OnExisting returns the settings for an existing load balancer. Settings that its driver does not
// support count as not given, so that the Service stays in operation:
//
//	lb-method that the driver does not have     cloud.conf's, unless that changes the pools: see Unsettled
//	port-id, with ovn                           the VIP stays on its port
//	source ranges that nothing enforces         all clients may connect, as before; see Opens
func (f ForDriver) OnExisting() *Settings {
	on := *f.s
	on.exists = true
	if f.s.Pools.AlgorithmAsked && !slices.Contains(f.drv.Algorithms, f.s.Pools.Algorithm) {
		on.Malformed = append(slices.Clip(f.s.Malformed), f.s.Pools.unknownAlgorithm(f.drv))
		on.Pools.Algorithm, on.Pools.AlgorithmAsked = f.s.Pools.algorithmOtherwise, false
	}
	if !f.drv.Supports(driver.OwnPort) {
		on.VIP.PortID = ""
	}
	return &on
}

// unknownAlgorithm returns an algorithm that the driver does not support as a malformed value.
func (p PoolSettings) unknownAlgorithm(drv driver.Driver) Malformed {
	instead := p.algorithmOtherwise
	if !slices.Contains(drv.Algorithms, instead) {
		instead = drv.Algorithms[0]
	}
	return Malformed{annotation.Malformed{
		Annotation: annotation.Method, Value: p.Algorithm, NewRefused: true,
		Allowed: fmt.Sprintf("%s, because the provider is %s", strings.Join(drv.Algorithms, ", "), drv.Name),
	}, instead}
}

// Unsettled returns errors for malformed values if their replacements would change the existing
// load balancer.
func (s *Settings) Unsettled(desired, existing *model.LoadBalancer) field.ErrorList {
	var errs field.ErrorList
	for _, m := range s.Malformed {
		if m.changes(s, desired, existing) {
			errs = append(errs, field.Invalid(annotation.Path(m.Annotation), m.Value, fmt.Sprintf(
				"allowed: %s; the default, %s, would change the load balancer: correct the value, or remove the annotation", m.Allowed, m.Instead)))
		}
	}
	return errs
}

// changes reports whether the replacement of a value would change the load balancer.
func (m Malformed) changes(s *Settings, desired, existing *model.LoadBalancer) bool {
	if m.Annotation == annotation.Internal {
		return existing.Shared == nil && (desired.FloatingIP == nil) != (existing.FloatingIP == nil)
	}
	return slices.ContainsFunc(desired.Listeners, func(want model.Listener) bool {
		have := existing.Listener(want.Key())
		return have != nil && m.changesListener(s, want, *have)
	})
}

func (m Malformed) changesListener(s *Settings, want, have model.Listener) bool {
	switch m.Annotation {
	case annotation.ForwardedFor:
		return slices.Contains(have.InsertHeaders, headerFor)
	case annotation.ProxyProtocol:
		return want.Pool.Protocol != have.Pool.Protocol && (have.Pool.Protocol == model.Proxy || have.Pool.Protocol == model.ProxyV2)
	case annotation.Method:
		return want.Pool.Algorithm != have.Pool.Algorithm
	case annotation.ConnLimit, annotation.ClientData, annotation.MemberConnect, annotation.MemberData, annotation.TCPInspect:
		return slices.ContainsFunc(model.LimitChanges(have.Limits, want.Limits), func(c model.LimitChange) bool { return limitAnnotations()[c.Name] == m.Annotation })
	}
	return m.changesMonitor(s, want.Pool.Monitor, have.Pool.Monitor)
}

// changesMonitor compares monitors. A monitor because of the policy Local is not caused by a
// malformed value.
func (m Malformed) changesMonitor(s *Settings, want, have *model.Monitor) bool {
	switch {
	case m.Annotation == annotation.Monitor:
		return want == nil && have != nil || want != nil && have == nil && s.Monitor.Enabled
	case want == nil || have == nil:
		return false
	case m.Annotation == annotation.MonitorDelay:
		return want.Delay != have.Delay
	case m.Annotation == annotation.MonitorTimeout:
		return want.Timeout != have.Timeout
	case m.Annotation == annotation.MonitorRetries:
		return want.MaxRetries != have.MaxRetries
	case m.Annotation == annotation.MonitorDown:
		return want.MaxRetriesDown != have.MaxRetriesDown
	}
	return false
}
