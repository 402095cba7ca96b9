package goal

import (
	"errors"
	"slices"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Each property that the desired state depends on makes another Basis, and nothing else does.
func TestBasisOf_TellsWhatDecidesOnWhatIsDesired(t *testing.T) {
	t.Parallel()
	there := func(change func(*model.LoadBalancer)) *model.LoadBalancer {
		lb := &model.LoadBalancer{Provider: "amphora", VIP: model.VIP{Address: "10.0.0.5"}}
		change(lb)
		return lb
	}
	same := func(*model.LoadBalancer) {}
	for name, test := range map[string]struct {
		in     func(*Inputs)
		a, b   *model.LoadBalancer
		differ bool
	}{
		"none, and one":    {a: nil, b: there(same), differ: true},
		"another's":        {a: there(same), b: there(func(lb *model.LoadBalancer) { lb.Shared = &model.Shared{} }), differ: true},
		"another provider": {a: there(same), b: there(func(lb *model.LoadBalancer) { lb.Provider = "ovn" }), differ: true},
		"another provider, replaceable": {
			in: func(in *Inputs) { in.Settings.LoadBalancer.AllowReplace = true },
			a:  there(same), b: there(func(lb *model.LoadBalancer) { lb.Provider = "ovn" }),
		},
		"another VIP":          {a: there(same), b: there(func(lb *model.LoadBalancer) { lb.VIP.Address = "10.0.0.6" }), differ: true},
		"a floating IP":        {a: there(same), b: there(func(lb *model.LoadBalancer) { lb.FloatingIP = &model.FloatingIP{} }), differ: true},
		"another listener":     {a: there(same), b: there(func(lb *model.LoadBalancer) { lb.Listeners = []model.Listener{{Name: "l"}} })},
		"another updated name": {a: there(same), b: there(func(lb *model.LoadBalancer) { lb.Name = "renamed" })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := Inputs{Settings: &settings.Settings{}}
			if test.in != nil {
				test.in(&in)
			}
			if differ := BasisOf(in, test.a) != BasisOf(in, test.b); differ != test.differ {
				t.Errorf("they differ: %v", differ)
			}
		})
	}
}

func TestLimits_LearnFromAnErrorOnce(t *testing.T) {
	t.Parallel()
	open := &securitygroup.UnenforcedError{Nodes: []string{"b", "c"}}
	limits, again := Limits{Without: []string{"a"}}.Learn(open)
	if !again || !slices.Equal(limits.Without, []string{"a", "b", "c"}) {
		t.Errorf("another attempt: %v, with %+v", again, limits)
	}
	if same, again := limits.Learn(open); again || !slices.Equal(same.Without, limits.Without) {
		t.Errorf("the same error again: %v, %+v", again, same)
	}
	if _, again := limits.Learn(errors.New("another")); again {
		t.Error("an error that says nothing has another attempt")
	}
}
