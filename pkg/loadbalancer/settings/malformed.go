package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// A value that is not allowed, of an annotation that cloud-provider-openstack has too,
// counts as not given, as there:
//
//	there                        a new load balancer   one that exists
//	its default is taken         with that default     with that default, unless something would change by it: see Unsettled
//	OpenStack refuses the value  refused               the same
//
// So load balancers that cloud-provider-openstack has made serve on as they are, and one
// that is there does not change by a typing error.

// Malformed is an annotation that counts as not given, and what stands instead.
type Malformed struct {
	annotation.Malformed
	// Instead is what counts, in words.
	Instead string
}

// malformed returns what stands in place of each malformed value.
func (r *reading) malformed() []Malformed {
	var all []Malformed
	for _, m := range r.values.Malformed {
		all = append(all, Malformed{m, insteadOf(m.Annotation, r.conf)})
	}
	return all
}

// insteadOf returns what counts without an annotation, in words.
func insteadOf(name string, lb config.LoadBalancer) string {
	limit := func(of *int) string {
		if of == nil {
			return "what the cloud's operator chose"
		}
		return strconv.Itoa(*of)
	}
	switch name {
	case annotation.Internal:
		return strconv.FormatBool(lb.InternalLB)
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

// noticeMalformed tells of values that count as not given, for a new load balancer too.
func (r *reading) noticeMalformed(all []Malformed) {
	for _, m := range all {
		if !m.NewRefused {
			r.notices = append(r.notices, m.notice())
		}
	}
}

func (m Malformed) notice() annotation.Notice {
	return annotation.Notice{Annotation: m.Annotation, Message: fmt.Sprintf(
		"%q is invalid; using %s, unless that changes a load balancer that exists. Allowed: %s", m.Value, m.Instead, m.Allowed)}
}

// refusedForNew refuses the values with which cloud-provider-openstack makes no load
// balancer either.
func (s *Settings) refusedForNew() field.ErrorList {
	if s.exists {
		return nil
	}
	var errs field.ErrorList
	for _, m := range s.Malformed {
		if m.NewRefused {
			errs = append(errs, field.Invalid(annotation.Path(m.Annotation), m.Value, "allowed: "+m.Allowed))
		}
	}
	return errs
}

// OnExisting returns the settings for a load balancer that exists. What its driver does
// not have counts as not given, so that it stops nothing that is served:
//
//	lb-method that the driver does not have     cloud.conf's, unless that changes the pools: see Unsettled
//	port-id, with ovn                           the VIP stays on its port
//	source ranges that nothing enforces         everybody may connect, as before; see Opens
func (s *Settings) OnExisting(drv driver.Driver) *Settings {
	on := *s
	on.exists = true
	if s.Pools.AlgorithmAsked && !slices.Contains(drv.Algorithms, s.Pools.Algorithm) {
		on.Malformed = append(slices.Clip(s.Malformed), s.Pools.unknownAlgorithm(drv))
		on.Pools.Algorithm, on.Pools.AlgorithmAsked = s.Pools.algorithmOtherwise, false
	}
	if !drv.Supports(driver.OwnPort) {
		on.VIP.PortID = ""
	}
	return &on
}

// unknownAlgorithm returns an algorithm that the driver does not have as a malformed value.
func (p PoolSettings) unknownAlgorithm(drv driver.Driver) Malformed {
	instead := p.algorithmOtherwise
	if !slices.Contains(drv.Algorithms, instead) {
		instead = drv.Algorithms[0]
	}
	return Malformed{annotation.Malformed{
		Annotation: annotation.Method, Value: p.Algorithm, NewRefused: true,
		Allowed: fmt.Sprintf("%s, as the provider is %s", strings.Join(drv.Algorithms, ", "), drv.Name),
	}, instead}
}

// Unsettled refuses the malformed values by which the existing load balancer would
// change: what stands in their place is not what it has.
func (s *Settings) Unsettled(desired, existing *model.LoadBalancer) field.ErrorList {
	var errs field.ErrorList
	for _, m := range s.Malformed {
		if m.changes(s, desired, existing) {
			errs = append(errs, field.Invalid(annotation.Path(m.Annotation), m.Value, fmt.Sprintf(
				"allowed: %s; %s, which counts without the annotation, would change the load balancer: correct the value, or take the annotation away", m.Allowed, m.Instead)))
		}
	}
	return errs
}

// changes reports whether the load balancer changes by what stands in place of a value.
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
		return have.Pool.Protocol == model.Proxy || have.Pool.Protocol == model.ProxyV2
	case annotation.Method:
		return want.Pool.Algorithm != have.Pool.Algorithm
	case annotation.ConnLimit, annotation.ClientData, annotation.MemberConnect, annotation.MemberData, annotation.TCPInspect:
		return slices.ContainsFunc(model.LimitChanges(have.Limits, want.Limits), func(c model.LimitChange) bool { return limitAnnotations()[c.Name] == m.Annotation })
	}
	return m.changesMonitor(s, want.Pool.Monitor, have.Pool.Monitor)
}

// changesMonitor compares monitors. One that the policy Local makes is nobody's typing
// error.
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
