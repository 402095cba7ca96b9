package goal

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// listed is a Neutron with these floating IPs.
type listed []floatingips.FloatingIP

func (l listed) FloatingIPs(context.Context, neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	return l, nil
}

func webService() *v1.Service {
	return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"}}
}

func webIdentity() ownership.Identity {
	return ownership.Identity{ClusterName: "rig", ClusterID: "cluster", ServiceUID: "u", Namespace: "shop", Service: "web"}
}

func TestProvenOwn_IsWhatTagsOrNameAndAnnotationProve(t *testing.T) {
	t.Parallel()
	id := webIdentity()
	theirs := id
	theirs.ClusterID, theirs.ServiceUID = "another", "v"
	in := Inputs{ID: id, Settings: &settings.Settings{}}
	in.Settings.LoadBalancer.ID = "named"
	for name, test := range map[string]struct {
		lb     project.LoadBalancer
		proven bool
	}{
		"its tags":                     {project.LoadBalancer{ID: "a", Name: id.Name(), Tags: id.Tags()}, true},
		"another's tags":               {project.LoadBalancer{ID: "named", Name: id.Name(), Tags: theirs.Tags()}, false},
		"named, and of its name":       {project.LoadBalancer{ID: "named", Name: id.Name()}, true},
		"named, and of another name":   {project.LoadBalancer{ID: "named", Name: "somebody's"}, false},
		"of its name, and not named":   {project.LoadBalancer{ID: "a", Name: id.Name()}, false},
		"nothing of it is the Service": {project.LoadBalancer{ID: "a", Name: "somebody's"}, false},
	} {
		if proven := provenOwn(in, test.lb); proven != test.proven {
			t.Errorf("%s: it is proven: %v", name, proven)
		}
	}
}

func TestChanges_RemembersTheServicesOwnLoadBalancerOnly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lb   *model.LoadBalancer
		want string
	}{
		"none":      {nil, "before"},
		"its own":   {&model.LoadBalancer{ID: "lb"}, "lb"},
		"without":   {&model.LoadBalancer{}, "before"},
		"another's": {&model.LoadBalancer{ID: "lb", Shared: &model.Shared{}}, "before"},
	} {
		c := &Changes{store: state.New(clock.RealClock{}, nil)}
		svc := webService()
		c.store.Update(svc.UID, func(e *state.Entry) { e.Made.LoadBalancerID = "before" })
		c.End(Inputs{Owner: settings.OwnerOf(svc), Settings: &settings.Settings{}}, model.Observed{LoadBalancer: test.lb}, nil)
		if got := c.store.Get(svc.UID).Made.LoadBalancerID; got != test.want {
			t.Errorf("%s: remembered %q, want %q", name, got, test.want)
		}
	}
}

func TestNoteRefusal_DependsOnTheStep(t *testing.T) {
	t.Parallel()
	full := plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{Listeners: make([]model.Listener, 1)}}
	empty := plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{}}
	drivers := driver.NewRegistry(driver.Settings{})
	for i, test := range []struct {
		step plan.Step
		want bool // the refusal is new, and another way exists
	}{
		{full, true}, {full, false}, {plan.DeletePool{}, false}, {plan.SetMembers{}, true}, {full, false}, {plan.SetMembers{}, false},
		{empty, false}, {plan.SetMembers{}, false}, {full, true},
	} {
		if got := noteRefusal(drivers, "unheard-of", test.step, false); got != test.want {
			t.Errorf("refusal %d, of %T: without it: %v", i, test.step, got)
		}
	}
}

func TestKnownFloatingIPs_AreEachNamedOnce(t *testing.T) {
	t.Parallel()
	id := webIdentity()
	there := listed{
		{ID: "owned", Description: id.FloatingIPs().Description()}, {ID: "legacy", Description: id.FloatingIPs().LegacyDescription(), FloatingIP: "203.0.113.7"},
		{ID: "unpublished", Description: id.FloatingIPs().LegacyDescription(), FloatingIP: "203.0.113.8"}, {ID: "somebody's"},
	}
	svc := webService()
	o := &observer{Finder: &Finder{Memory: Memory{Store: state.New(clock.RealClock{}, nil)}}, project: project.New(oneBalancer{}, there, clock.RealClock{})}
	o.Memory.Store.Retained.Add(types.NamespacedName{Namespace: "shop", Name: "web"}, "owned")
	ids, complete, err := o.knownFloatingIPs(t.Context(), settings.OwnerOf(svc), id, []string{"203.0.113.7"})
	if err != nil || !complete || !slices.Equal(ids, []string{"legacy", "owned"}) {
		t.Errorf("known %v, complete %v, error %v", ids, complete, err)
	}
	o.Memory.Store.Update(svc.UID, func(e *state.Entry) { e.Made.Touched = true })
	if _, complete, _ := o.knownFloatingIPs(t.Context(), settings.OwnerOf(svc), id, nil); complete {
		t.Error("after a round began, not all is known")
	}
}

// There is no Neutron here: a request fails the test.
func TestVerify_ReadsNothingWhereTheFloatingIPStays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		internal bool
		lb       model.LoadBalancer
	}{
		"another's load balancer":             {false, model.LoadBalancer{Shared: &model.Shared{}}},
		"one, as it wants":                    {false, model.LoadBalancer{FloatingIP: &model.FloatingIP{ID: "fip", Owned: true}}},
		"none, as it wants":                   {true, model.LoadBalancer{}},
		"one that another client has put on":  {true, model.LoadBalancer{FloatingIP: &model.FloatingIP{ID: "fip"}}},
		"another's, internal, with one on it": {true, model.LoadBalancer{Shared: &model.Shared{}, FloatingIP: &model.FloatingIP{ID: "fip"}}},
	} {
		a := &Asked{in: Inputs{Owner: settings.OwnerOf(webService()), Settings: &settings.Settings{}}}
		a.in.Settings.Internal, a.in.Settings.Family = test.internal, v1.IPv4Protocol
		observed := &model.Observed{LoadBalancer: &test.lb}
		have, another, err := a.Verify(t.Context(), Round{Have: Observation{Observed: observed}, Want: &Desired{LoadBalancer: &model.LoadBalancer{}}})
		if have.Observed != observed || another || err != nil {
			t.Errorf("%s: %+v is another one: %v, error %v", name, have, another, err)
		}
	}
}

func TestRestore_BelievesNothingWrittenOfAnotherLoadBalancerOrWithoutASnapshot(t *testing.T) {
	t.Parallel()
	svc := webService()
	recorded := oneRecord{text: state.Record{LoadBalancerID: "lb", Digests: state.Digests{Full: "d"}, Service: svc.UID}.String()}
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.7"}}
	c, in := &recaller{memory: Memory{Records: recorded}}, Inputs{Owner: settings.OwnerOf(svc), Published: PublishedOf(svc), Settings: &settings.Settings{}} // a request for a snapshot panics
	in.Settings.LoadBalancer.ID = "another"
	if applied, err := c.restore(t.Context(), in); applied != nil || err != nil {
		t.Errorf("the Service is to move: %+v, %v", applied, err)
	}
	c.project = project.New(failing{}, listed{}, clock.RealClock{})
	for _, named := range []string{"", "lb"} {
		in.Settings.LoadBalancer.ID = named
		if applied, err := c.restore(t.Context(), in); applied != nil || !errors.Is(err, errFailed) {
			t.Errorf("it names %q: %+v, %v", named, applied, err)
		}
	}
}

// oneRecord returns the same record for each Service, "" for none.
type oneRecord struct {
	Records
	text string
}

func (r oneRecord) Get(types.UID) string { return r.text }

var errFailed = errors.New("failed")

// failing is an Octavia without answers.
type failing struct{ project.Octavia }

func (failing) LoadBalancers(context.Context, octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	return nil, errFailed
}

// There is no Lookup here: the members' subnet is configured.
func TestDesire_LooksForNoSubnetsWhereTheOneOfMembersIsConfigured(t *testing.T) {
	t.Parallel()
	k := &Kept{planner: &planner{drivers: driver.NewRegistry(driver.Settings{}), memory: Memory{Store: state.New(clock.RealClock{}, nil), Records: oneRecord{}}}, in: Inputs{Owner: settings.OwnerOf(webService()), Members: &members.Set{}, Settings: &settings.Settings{}}}
	k.in.Settings.Members.SubnetID = "subnet"
	lb := &model.LoadBalancer{ID: "lb", Provider: "amphora"}
	want, err := k.Desire(t.Context(), Round{Have: Observation{Observed: &model.Observed{LoadBalancer: lb}}})
	if err != nil || want.LoadBalancer == nil || want.LoadBalancer.Provider != "amphora" {
		t.Errorf("%+v, error %v", want, err)
	}
}
