package provider

import (
	"context"
	"errors"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

func TestWhetherServicesGetLoadBalancers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		enabled bool
		octavia error
		wanted  bool
		fails   bool
	}{
		"enabled, and there is Octavia":       {true, nil, true, false},
		"switched off":                        {false, nil, false, false},
		"switched off, nobody asks":           {false, errors.New("503"), false, false},
		"the cloud has no Octavia":            {true, openstack.ErrNoEndpoint{Service: "load-balancer"}, false, false},
		"it cannot be said (never fail open)": {true, errors.New("503"), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanted, err := wantsLoadBalancers(t.Context(), test.enabled, func(context.Context) error { return test.octavia })
			if wanted != test.wanted || (err != nil) != test.fails {
				t.Errorf("got %v, %v; want %v, error %v", wanted, err, test.wanted, test.fails)
			}
		})
	}
}
