package goal

import (
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// listedOn is the state of a load balancer of which the process knows only a record.
func listedOn(id string) state.Applied {
	return state.Applied{LoadBalancer: state.LoadBalancer{ID: id, Provider: "amphora"}, Knowledge: model.Knowledge{Depth: model.Listed, Source: model.Record}}
}

// digestOf is that of the desired state of a Service on a load balancer of these properties.
func digestOf(t *testing.T, r *rig, in Inputs, on state.Applied) string {
	t.Helper()
	var digest string
	r.prepare(func() {
		want, _, err := r.recaller.compare(t.Context(), in, &on)
		if err != nil {
			t.Fatal(err)
		}
		digest = want.digestFor(in)
	})
	return digest
}

var (
	servedInOctavia = at("203.0.113.7")
	internalAt      = at("10.0.0.100")
	ofBalancer      = floatingAt("fip", "203.0.113.7", "vip-of-lb")
)

// recorded gives the Service a record of the load balancer lb, as the end of a round writes it, after changes.
func recorded(t *testing.T, svc *v1.Service, change func(*state.Record)) func(*rig) {
	t.Helper()
	return func(r *rig) {
		before := newRig(t, balancer("lb"))
		on := listedOn("lb")
		record := state.Record{LoadBalancerID: "lb", Service: svc.UID, UpdatedAt: noon}
		if svc.Status.LoadBalancer.Ingress[0].IP == "203.0.113.7" {
			on.LoadBalancer.FloatingIPID, record.FloatingIPID = "fip", "fip"
		}
		record.Digests.Full = digestOf(t, before, before.of(svc).inputs(), on)
		if change != nil {
			change(&record)
		}
		r.records.text = record.String()
	}
}

// A new process believes the record of the one before while the cloud is as it was written down.
func TestLastApplied_RestoresARecordWhileTheCloudIsTheSame(t *testing.T) {
	t.Parallel()
	served := by("", servedInOctavia)
	internal := by("", internalAt, internalOne)
	keeps := by("", servedInOctavia, keepsFloatingIP)
	lb := func(change func(*octavia.LoadBalancer)) []func(*rig) {
		return []func(*rig){balancer("lb", change), ofBalancer}
	}
	whole := []func(*rig){balancer("lb"), ofBalancer}
	made := func(made state.Made) []func(*rig) {
		return append([]func(*rig){knowing(state.Entry{Made: made})}, whole...)
	}
	hostname := by("", func(svc *v1.Service) {
		svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.7", Hostname: "another.example.org"}}
	})
	for name, test := range map[string]struct {
		svc    *v1.Service
		change func(*state.Record)
		rig    []func(*rig)
		want   string // same, other, or nothing
	}{
		"as it was":                            {served, nil, whole, "same"},
		"internal":                             {internal, nil, []func(*rig){balancer("lb")}, "same"},
		"with a kept floating IP":              {keeps, nil, append(whole, floatingAt("left", "203.0.113.8", "")), "same"},
		"unconfirmed":                          {served, func(r *state.Record) { r.Parts = "parts" }, whole, "same"},
		"another wish":                         {served, func(r *state.Record) { r.Digests.Full = "another" }, whole, "other"},
		"no digest":                            {served, func(r *state.Record) { r.Digests.Full = "" }, whole, ""},
		"a record of another Service":          {served, func(r *state.Record) { r.Service = "another" }, whole, ""},
		"the load balancer is gone":            {served, nil, nil, ""},
		"it has changed":                       {served, nil, lb(func(lb *octavia.LoadBalancer) { lb.UpdatedAt.Time = noon.Add(time.Second) }), ""},
		"it is PENDING":                        {served, nil, lb(func(lb *octavia.LoadBalancer) { lb.ProvisioningStatus = "PENDING_UPDATE" }), ""},
		"it has another name":                  {served, nil, lb(func(lb *octavia.LoadBalancer) { lb.Name = "another" }), ""},
		"there are two of its name":            {served, nil, append(whole, balancer("lb-2")), ""},
		"this process has changed it":          {served, nil, made(state.Made{Touched: true}), ""},
		"this process has entered another one": {served, nil, made(state.Made{Entered: []string{"lb-2"}}), ""},
		"the floating IP is gone":              {served, nil, []func(*rig){balancer("lb")}, ""},
		"the floating IP was taken off":        {served, nil, []func(*rig){balancer("lb"), floatingAt("fip", "203.0.113.7", "")}, ""},
		"one was put on":                       {internal, nil, whole, ""},
		"one is left over":                     {served, nil, append(whole, floatingAt("left", "203.0.113.8", "")), ""},
		"one of others is left over":           {served, nil, append(whole, floatingAt("left", "203.0.113.8", "", describedAs("another's"))), "same"},
		"its floating IP has another address":  {served, nil, []func(*rig){balancer("lb"), floatingAt("fip", "203.0.113.8", "vip-of-lb")}, ""},
		"another host name is published":       {hostname, nil, whole, ""},
	} {
		r := newRig(t, append(test.rig, recorded(t, test.svc, test.change))...)
		last, err := r.recaller.lastApplied(t.Context(), r.of(test.svc).inputs())
		got := ""
		switch {
		case last.same:
			got = "same"
		case last.applied != nil && last.want != nil:
			got = "other"
		}
		if got != test.want || err != nil || last.want == nil && last.applied != nil {
			t.Errorf("%s: %q, error %v, want %q", name, got, err, test.want)
		}
		entry := r.store.Get(serviceUID)
		if (entry.Applied != nil) != (test.want == "same") || entry.Made.UnattachedFloatingIP != (name == "one is left over") {
			t.Errorf("%s: known %+v, made %+v", name, entry.Applied, entry.Made)
		}
		if proven := test.want == "same" && test.svc != internal; (entry.Made.LoadBalancerID == "lb") != proven {
			t.Errorf("%s: proven by the published floating IP: %+v", name, entry.Made)
		}
	}
}

// A restored state has all that the last round has recorded.
func TestLastApplied_RestoresTheWholeState(t *testing.T) {
	t.Parallel()
	v6 := func(lb *octavia.LoadBalancer) {
		lb.AdditionalVIPs = []octavia.AdditionalVIP{{SubnetID: "subnet-6", Address: "fd00::9"}}
	}
	svc := by("", servedInOctavia, fixture.Annotated(annotation.LoadBalancerID, "lb"), fixture.Annotated(annotation.LoadBalancerAddress, "203.0.113.7"), placed("lb"))
	for name, parts := range map[string]string{"confirmed": "", "unconfirmed": "parts"} {
		r := newRig(t, balancer("lb"), ofBalancer, recorded(t, svc, func(r *state.Record) { r.Parts, r.Weighed, r.Digests.Nodeless = parts, true, "nodeless" }))
		last, err := r.recaller.lastApplied(t.Context(), r.of(svc).inputs())
		if err != nil || !last.same {
			t.Fatalf("%s: %+v, error %v", name, last, err)
		}
		a := last.applied
		on := a.LoadBalancer
		if on.ID != "lb" || on.Provider != "amphora" || on.VIPSubnetID != "subnet" || on.FloatingIPID != "fip" || !on.Weighed || on.Named != "lb" || on.Adopted || on.Shared != nil || on.Unmonitored {
			t.Errorf("%s: %+v", name, on)
		}
		if a.Address != "203.0.113.7" || len(a.MoreAddresses) > 0 || a.Service.Name != "web" || a.Identity != rigIdentity() || a.Digests.Nodeless != "nodeless" || a.Parts != parts || !a.Seen.UpdatedAt.Equal(noon) || a.Seen.OperatingStatus != "ONLINE" || !a.Seen.Since.Equal(noon) {
			t.Errorf("%s: %+v", name, a)
		}
		if a.Confirmed != (parts == "") || a.Persisted.Record != (parts == "") || !a.Persisted.Address || (a.Contents != nil) != (parts != "") {
			t.Errorf("%s: confirmed %v, persisted %+v, contents %+v", name, a.Confirmed, a.Persisted, a.Contents)
		}
	}
	adopted := newRig(t, balancer("lb", v6, func(lb *octavia.LoadBalancer) { lb.Tags = nil }), ofBalancer, recorded(t, svc, nil))
	in := adopted.of(svc).inputs()
	if a, err := adopted.recaller.restore(t.Context(), in); err != nil || a == nil || !a.LoadBalancer.Adopted || len(a.LoadBalancer.VIPs.Additional) != 1 || a.LoadBalancer.VIPs.Address != "10.0.0.100" {
		t.Errorf("one of another controller, with two VIPs: %+v, error %v", a, err)
	}
	unwritten := by("", servedInOctavia)
	r := newRig(t, balancer("lb"), ofBalancer, recorded(t, unwritten, nil))
	if a, err := r.recaller.restore(t.Context(), r.of(unwritten).inputs()); err != nil || a.Persisted.Address {
		t.Errorf("without annotations: %+v, error %v", a, err)
	}
}

// The state of this process is compared with what the Service asks for, unless it moves.
func TestLastApplied_ComparesTheStateOfThisProcess(t *testing.T) {
	t.Parallel()
	named := func(id string) func(*v1.Service) { return fixture.Annotated(annotation.LoadBalancerID, id) }
	for name, test := range map[string]struct {
		svc  *v1.Service
		on   state.LoadBalancer
		made state.Made
		same bool
		none bool
	}{
		"the same":                   {by("", servedInOctavia), state.LoadBalancer{ID: "lb"}, state.Made{}, true, false},
		"it names it":                {by("", servedInOctavia, named("lb")), state.LoadBalancer{ID: "lb"}, state.Made{}, true, false},
		"it still names another one": {by("", servedInOctavia, named("missing")), state.LoadBalancer{ID: "lb", Named: "missing"}, state.Made{}, true, false},
		"it names another one":       {by("", servedInOctavia, named("lb-2")), state.LoadBalancer{ID: "lb"}, state.Made{}, false, true},
		"it names none any more":     {by("", servedInOctavia), state.LoadBalancer{ID: "lb", Named: "missing"}, state.Made{}, false, true},
		"a floating IP is left over": {by("", servedInOctavia), state.LoadBalancer{ID: "lb"}, state.Made{UnattachedFloatingIP: true}, false, true},
		"another wish":               {by("", servedInOctavia, fixture.Ports(fixture.Port(v1.ProtocolTCP, 443))), state.LoadBalancer{ID: "lb"}, state.Made{}, false, false},
	} {
		r := newRig(t)
		in := r.of(by("", servedInOctavia)).inputs()
		applied := listedOn("lb")
		applied.LoadBalancer.FloatingIPID = "fip"
		applied.Digests.Full = digestOf(t, r, in, applied)
		applied.LoadBalancer.Named, applied.LoadBalancer.ID = test.on.Named, test.on.ID
		r.store.Update(serviceUID, func(e *state.Entry) { e.Applied, e.Made = &applied, test.made })
		last, err := r.recaller.lastApplied(t.Context(), r.of(test.svc).inputs())
		if err != nil || last.same != test.same || (last.applied == nil) != test.none || (last.want == nil) != test.none || last.applied != nil && last.applied != &applied {
			t.Errorf("%s: %+v, error %v", name, last, err)
		}
	}
}

// A record does not show whether its load balancer is shared, or was created by another controller.
func TestAlike_FindsTheCaseOfTheRecord(t *testing.T) {
	t.Parallel()
	local, nodes := fixture.Local, fixture.Annotated(annotation.Members, annotation.MembersNodes)
	for name, svc := range map[string]*v1.Service{"Cluster": by("", servedInOctavia), "Local": by("", servedInOctavia, local), "endpoint-nodes": by("", servedInOctavia, fixture.Annotated(annotation.Members, annotation.MembersEndpointNodes)), "Local, all nodes": by("", servedInOctavia, local, nodes)} {
		r := newRig(t, func(r *rig) { r.watch = settings.Watched })
		in := r.of(svc).inputs()
		digests := map[string]bool{}
		for _, on := range []state.LoadBalancer{
			{}, {Shared: new(model.Shared)}, {Unmonitored: true}, {Shared: new(model.Shared), Unmonitored: true, Adopted: true}, {Shared: new(model.Shared), Adopted: true},
		} {
			actual, restored := listedOn("lb"), listedOn("lb")
			actual.LoadBalancer.Shared, actual.LoadBalancer.Unmonitored, actual.LoadBalancer.Adopted = on.Shared, on.Unmonitored, on.Adopted
			restored.Digests.Full = digestOf(t, r, in, actual)
			known := digests[restored.Digests.Full]
			digests[restored.Digests.Full] = true
			applied, want, same, err := r.recaller.alike(t.Context(), in, &restored)
			if err != nil || !same || want.digestFor(in) != restored.Digests.Full {
				t.Errorf("%s, %+v: the same: %v, error %v", name, on, same, err)
				continue
			}
			got := applied.LoadBalancer
			if applied == &restored || restored.LoadBalancer.Shared != nil || !known && ((got.Shared != nil) != (on.Shared != nil) || got.Unmonitored != on.Unmonitored || got.Adopted != on.Adopted) {
				t.Errorf("%s, %+v: taken for %+v", name, on, got)
			}
			if got.AllNodes || got.Pods {
				t.Errorf("%s, %+v: the members are %+v", name, on, got)
			}
		}
		restored := listedOn("lb")
		restored.Digests.Full = "another"
		if applied, want, same, err := r.recaller.alike(t.Context(), in, &restored); applied != &restored || want.Basis.Shared || same || err != nil {
			t.Errorf("%s, another wish: %+v, %+v, %v, error %v", name, applied, want, same, err)
		}
		if len(digests) < map[string]int{"Cluster": 2, "Local": 3}[name] {
			t.Errorf("%s: only %d cases differ", name, len(digests))
		}
	}
}

// The digest shows which members a controller without the right to watch endpoints has made.
func TestAlike_RemembersThatAllNodesAreMembers(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.watch = settings.Forbidden })
	in := r.of(by("", servedInOctavia, fixture.Annotated(annotation.Members, annotation.MembersEndpointNodes))).inputs()
	restored := listedOn("lb")
	restored.Digests.Full = digestOf(t, r, in, restored)
	if applied, _, same, err := r.recaller.alike(t.Context(), in, &restored); err != nil || !same || !applied.LoadBalancer.AllNodes {
		t.Errorf("%+v, the same: %v, error %v", applied, same, err)
	}
}

// The policy Local may be refused for lack of health monitors, and not on a load balancer that another controller has
// created without them.
func TestAlike_ReadsTheLoadBalancerWhereOnlySomeCasesAreRefused(t *testing.T) {
	t.Parallel()
	unmonitorable := by("ovn", servedInOctavia, fixture.Local, fixture.Ports(fixture.Port(v1.ProtocolSCTP, 80)))
	refused := by("amphora", servedInOctavia, func(svc *v1.Service) { svc.Spec.Ports = nil })
	metrics := by("amphora", servedInOctavia, fixture.Annotated(annotation.MetricsPort, "9000"), fixture.Annotated(annotation.MetricsCIDRs, "198.51.100.0/24"))
	var invalid *message.InvalidError
	for name, test := range map[string]struct {
		svc  *v1.Service
		on   state.LoadBalancer // of the record
		want string             // same, other, nothing, or refused
	}{
		"another wish, some are refused": {unmonitorable, state.LoadBalancer{Named: "another"}, "nothing"},
		"without monitors":               {unmonitorable, state.LoadBalancer{Unmonitored: true}, "same"},
		"all are refused":                {refused, state.LoadBalancer{Named: "another"}, "refused"},
		"another wish, shared ones are":  {metrics, state.LoadBalancer{Named: "another"}, "other"},
		"its own, and shared ones are":   {metrics, state.LoadBalancer{}, "same"},
	} {
		r := newRig(t)
		in := r.of(test.svc).inputs()
		if test.want == "refused" {
			in.Settings.Pools.Algorithm, in.Settings.Pools.AlgorithmAsked = "NONSENSE", true
		}
		restored, actual := listedOn("lb"), listedOn("lb")
		restored.LoadBalancer.Provider, actual.LoadBalancer.Provider = in.Settings.LoadBalancer.Provider, in.Settings.LoadBalancer.Provider
		if actual.LoadBalancer.Unmonitored = test.on.Unmonitored; test.on.Named == "" {
			restored.Digests.Full = digestOf(t, r, in, actual)
		}
		applied, want, same, err := r.recaller.alike(t.Context(), in, &restored)
		got := "nothing"
		switch {
		case errors.As(err, &invalid):
			got = "refused"
		case same && applied != nil && applied.LoadBalancer.Unmonitored == test.on.Unmonitored:
			got = "same"
		case applied != nil && want != nil:
			got = "other"
		}
		if got != test.want || err != nil && (got != "refused" || same || applied != nil) {
			t.Errorf("%s: %s, error %v, want %s", name, got, err, test.want)
		}
	}
}

// The security groups of an unchanged record are looked at once: all Services share the requests.
func TestLastApplied_NeedsTheSecurityGroupsOfTheRecord(t *testing.T) {
	t.Parallel()
	svc := by("", servedInOctavia)
	opens := &securitygroup.Task{Plan: securitygroup.Plan{Open: []securitygroup.Step{securitygroup.AddRules{Name: "group"}}}}
	for name, test := range map[string]struct {
		rig  []func(*rig)
		kept bool
		sent bool
	}{
		"not managed": {nil, true, false}, "as they were": {[]func(*rig){managed}, true, true}, "changed": {[]func(*rig){managed, func(r *rig) { r.task = opens }}, false, true},
	} {
		r := newRig(t, test.rig...)
		in := r.of(svc).inputs()
		on := listedOn("lb")
		want, _, err := r.recaller.compare(t.Context(), in, &on)
		if err != nil {
			t.Fatal(err)
		}
		known := state.LoadBalancer{VIPSubnetID: "vip-subnet", VIPs: model.VIP{Additional: []model.AdditionalVIP{{SubnetID: "another"}}}}
		kept, err := r.recaller.securityGroupsKept(t.Context(), in, want, known)
		if kept != test.kept || err != nil || len(r.planned) > 0 != test.sent || r.has("groups-close") != (test.sent && test.kept) {
			t.Errorf("%s: kept: %v, error %v, sent %q", name, kept, err, r.sent)
		}
		if test.sent && (!r.planned[0].Before || r.planned[0].VIPSubnet != "vip-subnet" || !strings.Contains(strings.Join(r.planned[0].Spec.Subnets, " "), "another") || r.planned[0].ID != rigIdentity()) {
			t.Errorf("%s: %+v", name, r.planned[0])
		}
	}
	whole := func(r *rig) { managed(r); balancer("lb")(r); ofBalancer(r) }
	record := ""
	before := newRig(t, whole)
	on := listedOn("lb")
	on.LoadBalancer.FloatingIPID = "fip"
	record = state.Record{LoadBalancerID: "lb", Service: svc.UID, UpdatedAt: noon, FloatingIPID: "fip", Digests: state.Digests{Full: digestOf(t, before, before.of(svc).inputs(), on)}}.String()
	assertErrors(t, "the record", func(r *rig) error {
		in := r.of(svc).inputs()
		last, err := r.recaller.lastApplied(t.Context(), in)
		if err != nil && (last != lastApplied{}) || err == nil && !last.same || err != nil && r.store.Get(serviceUID).Applied != nil {
			t.Errorf("error %v beside %+v", err, last)
		}
		return err
	}, whole, func(r *rig) { r.records.text = record })
	r := newRig(t, whole, func(r *rig) { r.records.text, r.task = record, opens })
	if last, err := r.recaller.lastApplied(t.Context(), r.of(svc).inputs()); (last != lastApplied{}) || err != nil || r.store.Get(serviceUID).Applied != nil {
		t.Errorf("with changed security groups: %+v, error %v", last, err)
	}
}
