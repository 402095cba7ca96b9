package model_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

func TestFloatingIP_FitsWhereAllThatIsAskedForIsTheSame(t *testing.T) {
	t.Parallel()
	there := model.FloatingIP{ID: "a", Address: "203.0.113.7", Tags: []string{"blue", "green"}}
	for name, test := range map[string]struct {
		asked model.FloatingIP
		fits  bool
	}{
		"any":                         {model.FloatingIP{}, true},
		"its ID":                      {model.FloatingIP{ID: "a"}, true},
		"another ID":                  {model.FloatingIP{ID: "b"}, false},
		"its address":                 {model.FloatingIP{Address: "203.0.113.7"}, true},
		"another address":             {model.FloatingIP{Address: "203.0.113.8"}, false},
		"a tag that it has":           {model.FloatingIP{Tag: "green"}, true},
		"a tag that it lacks":         {model.FloatingIP{Tag: "red"}, false},
		"its ID, and another address": {model.FloatingIP{ID: "a", Address: "203.0.113.8"}, false},
	} {
		if fits := test.asked.Fits(there); fits != test.fits {
			t.Errorf("%s: it fits: %v", name, fits)
		}
		if asked := test.asked.Asked(); asked != (name != "any") {
			t.Errorf("%s: a certain one is asked for: %v", name, asked)
		}
	}
}

func TestOwnFloatingIP_IsNotThatOfASharedLoadBalancer(t *testing.T) {
	t.Parallel()
	lb := &model.LoadBalancer{FloatingIP: &model.FloatingIP{ID: "a"}}
	if own := lb.OwnFloatingIP(); own == nil || own.ID != "a" {
		t.Errorf("its own: %+v", own)
	}
	lb.Shared = &model.Shared{}
	if own := lb.OwnFloatingIP(); own != nil {
		t.Errorf("its owner's: %+v", own)
	}
}
