package settings_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func TestExceeds_LetsALoadBalancerKeepTheListenersThatItHas(t *testing.T) {
	t.Parallel()
	with := func(listeners int) *model.LoadBalancer {
		return &model.LoadBalancer{Listeners: make([]model.Listener, listeners)}
	}
	for name, test := range map[string]struct {
		desired, have *model.LoadBalancer
		refused       bool
	}{
		"as many as may be":          {with(2), nil, false},
		"too many":                   {with(3), nil, true},
		"as many as it has":          {with(3), with(3), false},
		"fewer than it has":          {with(3), with(4), false},
		"one more than it has":       {with(4), with(3), true},
		"too many, and it has fewer": {with(3), with(2), true},
	} {
		errs := settings.Exceeds(config.LoadBalancer{MaxPorts: 2}, settings.AccessSettings{}, test.desired, test.have, false)
		if refused := len(errs) > 0; refused != test.refused {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// A limit that is lowered, or a Service that reaches it, must not close ports that are open: only an increase is refused.
func TestExceeds_LetsALoadBalancerKeepTheRangesThatItHas(t *testing.T) {
	t.Parallel()
	listeners := func(ranges ...[]string) *model.LoadBalancer {
		lb := &model.LoadBalancer{}
		for i, cidrs := range ranges {
			lb.Listeners = append(lb.Listeners, model.Listener{Protocol: model.TCP, Port: 80 + i, AllowedCIDRs: cidrs})
		}
		return lb
	}
	two, three := []string{"10.0.0.0/8", "172.16.0.0/12"}, []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"}
	for name, c := range map[string]struct {
		most          int
		ranges        []string
		desired, have *model.LoadBalancer
		opens         bool
		refused       bool
	}{
		"as many as may be":           {3, three, listeners(three), nil, true, false},
		"no limit":                    {0, three, listeners(three), nil, true, false},
		"too many":                    {2, three, listeners(three), nil, false, true},
		"as many as it has":           {2, three, listeners(three), listeners(three), false, false},
		"more than it has":            {2, three, listeners(three), listeners(two), false, true},
		"as many, at a new port":      {2, three, listeners(three, three), listeners(three), false, true},
		"a listener that admits all":  {2, three, listeners(three), listeners(nil), false, true},
		"rules of security groups":    {2, three, listeners(nil), listeners(nil), true, true},
		"no new rules of these":       {2, three, listeners(nil), listeners(nil), false, false},
		"fewer than may be, anywhere": {2, two, listeners(two), listeners(nil), true, false},
	} {
		for _, annotated := range []bool{false, true} {
			var given func(*v1.Service)
			if given = ranges(c.ranges...); annotated {
				given = fixture.Annotated(annotation.SourceRanges, strings.Join(c.ranges, ","))
			}
			access := fixture.Settings(t, fixture.Service(given), fixture.Config()).Access
			errs := settings.Exceeds(config.LoadBalancer{MaxSourceRanges: uint(c.most)}, access, c.desired, c.have, c.opens)
			if !c.refused {
				if len(errs) > 0 {
					t.Errorf("%s: %v", name, errs)
				}
				continue
			}
			field := map[bool]string{false: "spec.loadBalancerSourceRanges", true: annotation.SourceRanges}[annotated]
			fixture.AssertRefused(t, errs, field, "Invalid value: 3", "at most 2 ranges (max-source-ranges of cloud.conf)")
		}
	}
}
