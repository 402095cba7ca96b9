package goal

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// inputsOf returns the inputs of a round of a Service without settings.
func inputsOf(svc *v1.Service) Inputs {
	return Inputs{Owner: settings.OwnerOf(svc), Published: PublishedOf(svc), Settings: &settings.Settings{Family: v1.IPv4Protocol}, ID: webIdentity()}
}

// memoryOf returns a memory with a record, "" for none, and an entry of the Service.
func memoryOf(svc *v1.Service, record string, entry state.Entry) Memory {
	m := Memory{Store: state.New(testingclock.NewFakePassiveClock(noon), nil), Records: oneRecord{text: record}}
	m.Store.Update(svc.UID, func(e *state.Entry) { *e = entry })
	return m
}

func appliedOn(id string, weighed bool) *state.Applied {
	return &state.Applied{LoadBalancer: state.LoadBalancer{ID: id, Weighed: weighed}}
}

// A record on a copy of the Service, which has another UID, is none.
func TestMemory_KnowsARecordOfThisServiceOnly(t *testing.T) {
	t.Parallel()
	svc := webService()
	own := state.Record{LoadBalancerID: "recorded", Service: svc.UID, Weighed: true}
	copied := own
	copied.Service = "another"
	for name, test := range map[string]struct {
		record   string
		entry    state.Entry
		served   bool
		on       string
		previous []string
		weighed  bool
	}{
		"nothing":                   {},
		"a record":                  {record: own.String(), served: true, on: "recorded", previous: []string{"recorded"}, weighed: true},
		"a copied one":              {record: copied.String()},
		"no record":                 {record: "recorded"},
		"applied":                   {entry: state.Entry{Applied: appliedOn("applied", true)}, previous: []string{"applied"}, weighed: true},
		"applied and recorded":      {record: own.String(), entry: state.Entry{Applied: appliedOn("applied", false)}, served: true, on: "recorded", previous: []string{"applied", "recorded"}},
		"changed by another client": {record: own.String(), entry: state.Entry{Drift: state.Drift{Before: appliedOn("before", false)}}, served: true, on: "recorded", previous: []string{"recorded"}},
	} {
		m := memoryOf(svc, test.record, test.entry)
		if m.HasServed(svc.UID) != test.served || m.RecordedOn(svc.UID) != test.on {
			t.Errorf("%s: has served: %v, recorded on %q", name, m.HasServed(svc.UID), m.RecordedOn(svc.UID))
		}
		if got := m.Previous(svc.UID); !slices.Equal(got, test.previous) {
			t.Errorf("%s: previous load balancers %v, want %v", name, got, test.previous)
		}
		if m.weighed(svc.UID) != test.weighed {
			t.Errorf("%s: members had weights: %v", name, !test.weighed)
		}
		if want := test.record != ""; m.Untouched(svc.UID) != want {
			t.Errorf("%s: untouched: %v", name, !want)
		}
		m.Store.Update(svc.UID, func(e *state.Entry) { e.Made.Touched = true })
		if m.Untouched(svc.UID) {
			t.Errorf("%s: after a change began, it is untouched", name)
		}
	}
}

// A Service without an address may have a load balancer in Octavia if a process has begun one, or may have.
func TestMemory_KnowsWhatMayHaveBegunInOctavia(t *testing.T) {
	t.Parallel()
	svc := webService()
	for name, test := range map[string]struct {
		record         string
		entry          state.Entry
		created        time.Time
		entered, begun bool
	}{
		"a new Service":           {created: noon.Add(time.Hour)},
		"older than this process": {created: noon.Add(-time.Hour), begun: true},
		"one was made":            {entry: state.Entry{Made: state.Made{LoadBalancerID: "lb"}}, created: noon.Add(time.Hour), entered: true, begun: true},
		"one was entered":         {entry: state.Entry{Made: state.Made{Entered: []string{"lb"}}}, created: noon.Add(time.Hour), entered: true, begun: true},
		"a VIP was made":          {entry: state.Entry{Made: state.Made{VIP: true, Touched: true}}, created: noon.Add(time.Hour)},
		"one was recorded":        {record: state.Record{LoadBalancerID: "lb", Service: svc.UID}.String(), created: noon.Add(time.Hour), begun: true},
	} {
		m := memoryOf(svc, test.record, test.entry)
		if m.enteredOctavia(svc.UID) != test.entered {
			t.Errorf("%s: entered: %v", name, !test.entered)
		}
		if m.begunInOctavia(settings.OwnerOf(svc), Published{Created: test.created}) != test.begun {
			t.Errorf("%s: begun: %v", name, !test.begun)
		}
	}
}

// The newest knowledge of the place of a Service that may share a load balancer comes first.
func TestPlaceOf_PrefersWhatIsKnownToWhatIsWritten(t *testing.T) {
	t.Parallel()
	applied := &state.Applied{LoadBalancer: state.LoadBalancer{ID: "applied", Share: "front"}}
	before := &state.Applied{LoadBalancer: state.LoadBalancer{ID: "before", Share: "back"}}
	record := state.Record{LoadBalancerID: "recorded", Service: "u"}.String()
	all := map[string]string{annotation.WrittenFor: annotation.WrittenForText("written", "u", "side"), annotation.LoadBalancerID: " named "}
	named := map[string]string{annotation.LoadBalancerID: " named "}
	copied := map[string]string{annotation.WrittenFor: annotation.WrittenForText("named", "another", ""), annotation.LoadBalancerID: "named"}
	for name, test := range map[string]struct {
		entry       state.Entry
		record      string
		annotations map[string]string
		id, share   string
	}{
		"nothing":                   {},
		"applied":                   {state.Entry{Applied: applied, Drift: state.Drift{Before: before}}, record, all, "applied", "front"},
		"changed by another client": {state.Entry{Drift: state.Drift{Before: before}}, record, all, "before", "back"},
		"written":                   {state.Entry{Made: state.Made{LoadBalancerID: "made"}}, record, all, "written", "side"},
		"made":                      {state.Entry{Made: state.Made{LoadBalancerID: "made"}}, record, named, "made", ""},
		"recorded":                  {state.Entry{}, record, named, "recorded", ""},
		"named":                     {state.Entry{}, "", named, "named", ""},
		"named by a copy":           {state.Entry{}, "", copied, "", ""},
	} {
		svc := webService()
		svc.Annotations = test.annotations
		if id, share := memoryOf(svc, test.record, test.entry).placeOf(svc); id != test.id || share != test.share {
			t.Errorf("%s: on %q, shared as %q, want %q, %q", name, id, share, test.id, test.share)
		}
	}
}
