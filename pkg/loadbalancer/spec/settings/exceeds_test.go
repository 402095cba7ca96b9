package settings_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
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
