package apply_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

func TestWithSent_AddsMembersAndMonitorsAndLeavesWhatWasSentAsItIs(t *testing.T) {
	t.Parallel()
	pending := model.Status{Provisioning: "PENDING_CREATE"}
	wanted := &model.LoadBalancer{Listeners: []model.Listener{{Protocol: model.TCP, Port: 80, Pool: model.Pool{
		Members: model.MembersOf(model.Member{Address: "10.0.0.1", Port: 30080}, model.Member{Address: "10.0.0.2", Port: 30080}), Monitor: &model.Monitor{Type: "TCP"},
	}}}}
	sent := wanted.Clone()
	made := apply.WithSent(&model.LoadBalancer{Listeners: []model.Listener{
		{ID: "another", Protocol: model.TCP, Port: 79},
		{ID: "listener", Protocol: model.TCP, Port: 80, Pool: model.Pool{ID: "pool", Status: pending}},
	}}, wanted)
	want := model.Pool{ID: "pool", Status: pending, Monitor: &model.Monitor{Type: "TCP", Status: pending}, Members: model.MembersOf(
		model.Member{Address: "10.0.0.1", Port: 30080, Status: pending}, model.Member{Address: "10.0.0.2", Port: 30080, Status: pending},
	)}
	if diff := cmp.Diff(want, made.Listener(wanted.Listeners[0].Key()).Pool); diff != "" {
		t.Errorf("made is %s", diff)
	}
	if diff := cmp.Diff(sent, wanted); diff != "" {
		t.Errorf("what was sent is changed: %s", diff)
	}
}

// A refusal of a full creation can leave the port of the VIP behind, so that the next one must be empty.
func TestRun_TellsCreationsThatLeaveAPort(t *testing.T) {
	t.Parallel()
	filled := &model.LoadBalancer{Name: "web", Listeners: []model.Listener{{Protocol: model.Prometheus, Port: 9090}}}
	for name, test := range map[string]struct {
		lb     *model.LoadBalancer
		answer error
		full   bool
	}{
		"quota of its parts":       {filled, refusal(http.StatusForbidden, `{"faultstring": "Quota has been met for resources: Member"}`), true},
		"unsupported part":         {filled, refusal(http.StatusNotImplemented, "{}"), true},
		"crash":                    {filled, refusal(http.StatusInternalServerError, `{"faultstring": "boom"}`), true},
		"crash without parts":      {&model.LoadBalancer{Name: "web"}, refusal(http.StatusInternalServerError, `{"faultstring": "boom"}`), false},
		"unsupported without":      {&model.LoadBalancer{Name: "web"}, refusal(http.StatusNotImplemented, "{}"), false},
		"quota of load balancers":  {filled, refusal(http.StatusForbidden, `{"faultstring": "Quota has been met for resources: Load Balancer"}`), false},
		"invalid":                  {filled, refusal(http.StatusBadRequest, "{}"), false},
		"no answer, and not there": {filled, refusal(http.StatusGatewayTimeout, ""), false},
	} {
		l, applier := newLedger(t)
		l.answer("CreateLoadBalancer", test.answer)
		step := plan.CreateLoadBalancer{LoadBalancer: test.lb, Why: name}
		observed, err := l.apply(t, applier, model.Observed{}, step)
		var full *apply.FullCreateError
		if errors.As(err, &full) != test.full || apierror.StatusCode(err) != apierror.StatusCode(test.answer) {
			t.Errorf("%s: error %v, of a full creation: %t", name, err, full != nil)
		}
		var unsure *apply.UnsureCreationError
		if errors.As(err, &unsure) != (name == "no answer, and not there") || observed.LoadBalancer != nil {
			t.Errorf("%s: error %v, unsure %t, state %+v", name, err, unsure != nil, observed.LoadBalancer)
		}
	}
}

// A replacement has the identity of the load balancer that it replaces, which is no result of its creation. That one
// stays in the state until it is deleted.
func TestRun_FindsTheReplacementAndNotTheReplaced(t *testing.T) {
	t.Parallel()
	identity := func(id string) octavia.LoadBalancer {
		return octavia.LoadBalancer{ID: id, Tags: us().Tags(), Description: us().Description(), ProvisioningStatus: "ACTIVE"}
	}
	step := plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{Name: "web"}, Replaces: "lb"}
	for name, test := range map[string]struct {
		answer any
		lists  []octavia.LoadBalancer
		want   string
	}{
		"created":    {nil, nil, "made"},
		"lost":       {refusal(http.StatusGatewayTimeout, ""), []octavia.LoadBalancer{identity("lb"), identity("next")}, "next"},
		"not there":  {refusal(http.StatusGatewayTimeout, ""), []octavia.LoadBalancer{identity("lb")}, ""},
		"of another": {refusal(http.StatusGatewayTimeout, ""), []octavia.LoadBalancer{{ID: "x", Tags: []string{"kube_service_other"}}}, ""},
		"refused":    {refusal(http.StatusBadRequest, ""), []octavia.LoadBalancer{identity("next")}, ""},
	} {
		l, applier := newLedger(t)
		l.lists = test.lists
		if test.answer != nil {
			l.answer("CreateLoadBalancer", test.answer)
		}
		l.lb = &model.LoadBalancer{ID: test.want, Status: model.Status{Provisioning: "ACTIVE"}}
		observed, err := l.apply(t, applier, serving("amphora"), step)
		switch old := observed.Outgoing; {
		case test.want == "":
			if err == nil || observed.LoadBalancer.ID != "lb" || old != nil {
				t.Errorf("%s: error %v, load balancer %+v, outgoing %+v", name, err, observed.LoadBalancer, old)
			}
		case err != nil || observed.LoadBalancer.ID != test.want || old == nil || old.ID != "lb":
			t.Errorf("%s: error %v, load balancer %+v, outgoing %+v", name, err, observed.LoadBalancer, old)
		}
	}
}

// A cascade would delete the parts of others too. If time has passed, or another Service is known to be on the load
// balancer, they are read once more.
func TestRun_DeletesNoLoadBalancerThatOthersHaveBegunToUse(t *testing.T) {
	t.Parallel()
	ours := &octavia.LoadBalancer{ID: "lb", Listeners: []octavia.Listener{{ID: "l80"}, {ID: "l443"}}, Pools: []octavia.Pool{{ID: "p80"}, {ID: "p443"}}}
	theirs := &octavia.LoadBalancer{ID: "lb", Listeners: []octavia.Listener{{ID: "l80"}, {ID: "theirs"}}}
	locked := refusal(http.StatusConflict, `{"faultstring": "Load Balancer lb is immutable and cannot be updated."}`)
	for name, test := range map[string]struct {
		later    bool
		guests   bool
		refused  int // tries of the deletion
		cascade  bool
		there    any
		deleted  bool
		reads    int
		listings int
	}{
		"at once":               {false, false, 0, true, theirs, true, 0, 0},
		"later, only ours":      {true, false, 0, true, ours, true, 1, 0},
		"later, also theirs":    {true, false, 0, true, theirs, false, 1, 1},
		"later, not as a whole": {true, false, 0, false, theirs, true, 0, 0},
		"later, gone":           {true, false, 0, true, refusal(http.StatusNotFound, ""), true, 1, 0},
		"later, no answer":      {true, false, 0, true, refusal(http.StatusForbidden, ""), false, 1, 0},
		"guests, only ours":     {false, true, 0, true, ours, true, 1, 0},
		"guests, also theirs":   {false, true, 0, true, theirs, false, 1, 1},
		"guests, not whole":     {false, true, 0, false, theirs, true, 0, 0},
		"held, only ours":       {false, false, 1, true, ours, true, 1, 0},
		"held, also theirs":     {false, false, 1, true, theirs, false, 1, 1},
	} {
		l, applier := newLedger(t)
		applier.Guests = func(id string, of types.UID) bool {
			if id != "lb" || of != types.UID(us().ServiceUID) {
				t.Errorf("%s: asked for guests of %s without %s", name, id, of)
			}
			return test.guests
		}
		l.answer("LoadBalancer", test.there)
		deletions := []string{"DeleteLoadBalancer"}
		for range test.refused {
			l.answer("DeleteLoadBalancer", locked)
			deletions = append(deletions, "DeleteLoadBalancer")
		}
		l.goneAfter("lb", deletions...)
		observed := serving("amphora")
		observed.LoadBalancer.Orphans = nil
		_, err := applier.Run(t.Context(), apply.Request{ID: us(), Observed: observed, Later: test.later, Plan: plan.Plan{Steps: []plan.Step{plan.DeleteLoadBalancer{ID: "lb", Cascade: test.cascade}}}})
		count := map[string]int{}
		for _, word := range words(l.sent) {
			count[word]++
		}
		if deleted := count["DeleteLoadBalancer"] > test.refused; deleted != test.deleted || (err == nil) != test.deleted || count["LoadBalancer"] != test.reads || count["Listeners"] != test.listings {
			t.Errorf("%s: sent %q, error %v", name, words(l.sent), err)
		}
		var changed *apply.ChangedError
		if test.listings > 0 && (!errors.As(err, &changed) || !strings.Contains(changed.How, "it also holds listener theirs")) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Known parts need no list of listeners, on each load balancer of the Service.
func TestRun_KnowsThePartsOfEachLoadBalancerOfTheService(t *testing.T) {
	t.Parallel()
	lb := func(id string) model.LoadBalancer {
		return model.LoadBalancer{ID: id, Listeners: []model.Listener{{ID: "of " + id}}}
	}
	first, outgoing := lb("first"), lb("outgoing")
	observed := model.Observed{LoadBalancer: &first, Outgoing: &outgoing, Duplicates: []model.LoadBalancer{lb("one"), lb("two")}}
	for id, known := range map[string]bool{"first": true, "outgoing": true, "one": true, "two": true, "unknown": false} {
		l, applier := newLedger(t)
		l.answer("LoadBalancer", &octavia.LoadBalancer{ID: id, Listeners: []octavia.Listener{{ID: "of " + id}}})
		l.goneAfter(id, "DeleteLoadBalancer")
		_, err := applier.Run(t.Context(), apply.Request{ID: us(), Observed: observed, Later: true, Plan: plan.Plan{Steps: []plan.Step{plan.DeleteLoadBalancer{ID: id, Cascade: true}}}})
		if listed := slices.Contains(words(l.sent), "Listeners"); listed == known || (err == nil) != known {
			t.Errorf("%s: sent %q, error %v", id, words(l.sent), err)
		}
	}
}

func TestErrors_TellWhoMayHaveChangedALoadBalancer(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"load balancer lb was changed by another client at the same time: it is new": &apply.ChangedError{ID: "lb", How: "it is new"},
		"load balancer lb is not as the last change has left it: it is new":          &apply.ChangedError{ID: "lb", How: "it is new", ByDriver: true},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	cause := errors.New("the cause")
	for _, err := range []error{&apply.RefusedError{Err: cause}, &apply.UnsureCreationError{Err: cause}, &apply.FullCreateError{Err: cause}} {
		if !errors.Is(err, cause) || err.Error() != "the cause" {
			t.Errorf("%T: %v", err, err)
		}
	}
	for status, pending := range map[string]bool{"PENDING_UPDATE": true, "ERROR": false} {
		children := []model.Child{{Status: model.Status{Provisioning: "ERROR"}}, {Status: model.Status{Provisioning: status}}}
		if got := (&apply.ChildrenError{Children: children}).Pending(); got != pending {
			t.Errorf("%s: pending %t", status, got)
		}
	}
}

// A creation has all settings, except those with which Octavia creates a load balancer anyway.
func TestRun_CreatesALoadBalancerWithAllOfItsSettings(t *testing.T) {
	t.Parallel()
	lb := &model.LoadBalancer{
		Name: "web", Description: "d", Tags: []string{"t"}, Provider: "amphora", FlavorID: "f", AvailabilityZone: "z", FloatingIP: &model.FloatingIP{ID: "fip"},
		VIP: model.VIP{
			SubnetID: "s", NetworkID: "n", PortID: "p", Address: "10.0.0.9", Family: model.IPv4, Additional: []model.AdditionalVIP{{Family: model.IPv6, SubnetID: "s6", Address: "fd00::9"}, {SubnetID: "s4"}},
			VIPSettings: model.VIPSettings{QoSPolicyID: "q", SecurityGroupIDs: []string{"g"}},
		},
		Listeners: []model.Listener{
			{Name: "l", Protocol: model.TCP, Port: 80, Pool: model.Pool{
				Name: "pool", Protocol: model.Proxy, Algorithm: "ROUND_ROBIN", Persistence: model.Persistence{Type: model.SourceIP}, Monitor: &model.Monitor{Name: "m", Type: "TCP", Delay: 5},
				Members: model.MembersOf(model.Member{Address: "10.0.0.11", Port: 30080}),
			}},
			{Name: "metrics", Protocol: model.Prometheus, Port: 9090},
		},
	}
	none := lb.Clone()
	none.VIP.VIPSettings, none.VIP.Additional, none.Listeners = model.VIPSettings{QoSPolicyID: model.None, SecurityGroupIDs: []string{model.None}}, nil, nil
	const common = `{"name":"web","description":"d","tags":["t"],"provider":"amphora","flavor_id":"f","availability_zone":"z","vip_network_id":"n","vip_subnet_id":"s","vip_port_id":"p","vip_address":"10.0.0.9"`
	for want, lb := range map[string]*model.LoadBalancer{
		common + "}": none,
		common + `,"vip_qos_policy_id":"q","additional_vips":[{"subnet_id":"s6","ip_address":"fd00::9"},{"subnet_id":"s4"}],"vip_sg_ids":["g"],` +
			`"listeners":[{"name":"l","protocol":"TCP","protocol_port":80,"default_pool":{"name":"pool","protocol":"PROXY","lb_algorithm":"ROUND_ROBIN",` +
			`"session_persistence":{"type":"SOURCE_IP"},"healthmonitor":{"name":"m","type":"TCP","delay":5},"members":[{"address":"10.0.0.11","protocol_port":30080}]}},` +
			`{"name":"metrics","protocol":"PROMETHEUS","protocol_port":9090}]}`: lb,
	} {
		got, err := json.Marshal(apply.CreateOpts(lb))
		if err != nil || string(got) != want {
			t.Errorf("error %v, %s, want %s", err, got, want)
		}
	}
}
