package goal

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Each property that the desired state depends on makes another Basis, and nothing else does.
func TestBasisOf_HasAllThatDecidesOnTheDesiredState(t *testing.T) {
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
	if _, again := limits.Learn(&securitygroup.UnenforcedError{}); again {
		t.Error("source ranges that no node enforces have another attempt")
	}
}

// A quota for parts keeps members and monitors from being added, and a lost certificate its listeners from being written.
func TestLimits_LearnOfQuotasAndCertificates(t *testing.T) {
	t.Parallel()
	parts, balancers := byOctavia(http.StatusForbidden, "Quota has been met for resources: Member"), byOctavia(http.StatusForbidden, "Quota has been met for resources: Load Balancer")
	limits, again := Limits{Without: []string{"a"}}.Learn(fmt.Errorf("add a member: %w", parts))
	if !again || !limits.Full || !limits.NoMonitors || len(limits.Without) != 1 {
		t.Errorf("another attempt: %v, with %+v", again, limits)
	}
	if _, again := limits.Learn(parts); again {
		t.Error("the same quota has another attempt")
	}
	if _, again := (Limits{}).Learn(balancers); again {
		t.Error("a quota for load balancers, of which none is added, has another attempt")
	}
	for _, ref := range []string{"a", "b"} {
		if limits, again = limits.Learn(&lookup.LostCertificateError{Ref: ref}); !again || !slices.Contains(limits.Lost, ref) {
			t.Errorf("certificate %s: another attempt: %v, with %+v", ref, again, limits)
		}
		if _, again := limits.Learn(&lookup.LostCertificateError{Ref: ref}); again {
			t.Errorf("certificate %s is lost twice", ref)
		}
	}
}

// Tags identify the objects of a Service, from the release of Octavia that has them.
func TestCluster_IdentifiesServicesByTagsWhereOctaviaHasThem(t *testing.T) {
	t.Parallel()
	owner := settings.OwnerOf(webService())
	want := webIdentity()
	for minor, untagged := range map[int]bool{4: true, 5: false, 30: false} {
		want.Untagged = untagged
		if got := (Cluster{Name: "rig", ID: "cluster"}).Identity(owner, model.Version{Major: 2, Minor: minor}); got != want {
			t.Errorf("2.%d: %+v, want %+v", minor, got, want)
		}
	}
}

// The provider that decides on the features is that of the load balancer, unless another one may replace it.
func TestProviderOf_IsThatOfALoadBalancerThatStays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		existing        *model.LoadBalancer
		allow, untagged bool
		want            string
	}{
		"none":                           {nil, false, false, "wanted"},
		"one":                            {&model.LoadBalancer{Provider: "there"}, false, false, "there"},
		"one that may be replaced":       {&model.LoadBalancer{Provider: "there"}, true, false, "wanted"},
		"the same without tags":          {&model.LoadBalancer{Provider: "there"}, true, true, "there"},
		"another's":                      {&model.LoadBalancer{Provider: "there", Shared: &model.Shared{}}, true, false, "there"},
		"one that holds parts of others": {&model.LoadBalancer{Provider: "there", Foreign: make([]model.Foreign, 1)}, true, false, "there"},
	} {
		in := inputsOf(webService())
		in.Settings.LoadBalancer.Provider, in.Settings.LoadBalancer.AllowReplace, in.ID.Untagged = "wanted", test.allow, test.untagged
		if got := providerOf(in, test.existing); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// On another's load balancer, a Service has its listeners and nothing else.
func TestOnShared_KeepsListenersAndSettingsOfTheVIP(t *testing.T) {
	t.Parallel()
	got := onShared(&model.LoadBalancer{
		ID: "lb", Name: "name", Tags: []string{"tag"}, Provider: "ovn", FlavorID: "big", FloatingIP: &model.FloatingIP{}, Listeners: make([]model.Listener, 2),
		VIP: model.VIP{Address: "10.0.0.5", SubnetID: "subnet", VIPSettings: model.VIPSettings{QoSPolicyID: "gold"}},
	})
	want := &model.LoadBalancer{Name: "name", Tags: []string{"tag"}, Listeners: make([]model.Listener, 2), Shared: &model.Shared{}, VIP: model.VIP{VIPSettings: model.VIPSettings{QoSPolicyID: "gold"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Addresses of a Service that has become internal show which floating IP it had requested.
func TestGiven_AreTheAddressesOfAServiceThatIsInternalNow(t *testing.T) {
	t.Parallel()
	named := Published{Address: "203.0.113.9", Status: v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: "web.example.org"}}}}
	for name, test := range map[string]struct {
		published Published
		internal  bool
		want      []string
	}{
		"not internal":           {published("203.0.113.7"), false, nil},
		"internal":               {published("203.0.113.7", "fd00::5"), true, []string{"203.0.113.7", "fd00::5"}},
		"internal, a host name":  {named, true, []string{"203.0.113.9"}},
		"internal, never served": {Published{}, true, nil},
	} {
		in := inputsOf(webService())
		in.Published, in.Settings.Internal = test.published, test.internal
		if got := given(in); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A placeholder stands for the floating IP that is known to fit, whichever way it is requested.
func TestFittingFloatingIP_MeetsTheRequest(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*settings.Settings){
		"any": func(*settings.Settings) {}, "an ID": func(s *settings.Settings) { s.Floating.ID = "fip" },
		"a tag": func(s *settings.Settings) { s.Floating.Tag = "web" }, "an address": func(s *settings.Settings) { s.LoadBalancerIP = "203.0.113.7" },
	} {
		in := inputsOf(webService())
		change(in.Settings)
		if asked, _ := in.Settings.AskedFloatingIP(); asked.Asked() != (name != "any") || !asked.Fits(*fittingFloatingIP(in.Settings)) {
			t.Errorf("%s: %+v does not fit %+v", name, fittingFloatingIP(in.Settings), asked)
		}
	}
}

func TestRound_BeginsWithWhatIsKnown(t *testing.T) {
	t.Parallel()
	observed, before, changed := &model.Observed{}, appliedOn("before", false), appliedOn("applied", false)
	for name, known := range map[string]Known{"nothing": {}, "a state to read": {Applied: changed}, "not compared": {Applied: changed, Have: Observation{Observed: observed}}, "a load balancer": {Applied: changed, Have: Observation{Observed: observed}, Want: &Desired{}}} {
		r := Begin(known)
		if r.Applied != known.Applied || r.Want != known.Want || r.Recalled != (known.Have.Observed != nil) {
			t.Errorf("%s: %+v", name, r)
		}
		if r.lastApplied(state.Drift{}) != known.Applied || r.lastApplied(state.Drift{Before: before}) != before {
			t.Errorf("%s: the last applied state is not that before the change of another client", name)
		}
		managed := inputsOf(webService())
		managed.Settings.Access.SecurityGroupMode = securitygroup.Shared
		if has := r.HasMembers(inputsOf(webService())); has != (name == "a load balancer") || r.HasMembers(managed) {
			t.Errorf("%s: complete after a change of members: %v, with security groups %v", name, has, r.HasMembers(managed))
		}
		if r.Broken = new(apply.ChildrenError); r.HasMembers(inputsOf(webService())) {
			t.Errorf("%s: complete although parts are in ERROR", name)
		}
		r.Before = new(state.Version)
		if r.Forget(); r.Have.Observed != nil || r.Before != nil || r.Applied != known.Applied {
			t.Errorf("%s: after it forgets, %+v", name, r)
		}
	}
}
