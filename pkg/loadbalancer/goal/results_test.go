package goal

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// A delayed write to the annotations may arrive after the next one: they are written again where they differ.
func TestNoteAddress_WritesAgainWhatTheAnnotationsLack(t *testing.T) {
	t.Parallel()
	as := Published{LoadBalancerID: "lb", Place: "lb", Address: "203.0.113.7"}
	shared := Published{Place: "lb", Share: "front", Address: "203.0.113.7"}
	older := as
	older.Address = "203.0.113.6"
	for name, test := range map[string]struct {
		published          Published
		applied, asked     string // the share
		persisted, remains bool   // before, and afterwards
	}{
		"written":                {as, "", "", true, true},
		"not yet written":        {older, "", "", false, false},
		"written before":         {older, "", "", true, false},
		"shared":                 {shared, "front", "front", true, true},
		"shared since":           {as, "", "front", true, false},
		"shared by another name": {shared, "front", "back", true, false},
	} {
		svc := webService()
		in, applied := inputsOf(svc), &state.Applied{Address: "203.0.113.7", LoadBalancer: state.LoadBalancer{ID: "lb", Share: test.applied}, Persisted: state.Persisted{Address: test.persisted}}
		in.Published, in.Settings.LoadBalancer.Share = test.published, test.asked
		s := &results{store: memoryOf(svc, "", state.Entry{Applied: applied}).Store}
		s.noteAddress(in, applied)
		if now := s.store.Get(svc.UID).Applied; now.Persisted.Address != test.remains || now.LoadBalancer.Share != test.asked || applied.Persisted.Address != test.persisted {
			t.Errorf("%s: written: %v, shared as %q; the state before: %v", name, now.Persisted.Address, now.LoadBalancer.Share, applied.Persisted.Address)
		}
	}
}

// Other annotations may change without another value in the place of an invalid one.
func TestSameValues_ComparesMalformedAnnotationsOnly(t *testing.T) {
	t.Parallel()
	malformed := []settings.Malformed{{Malformed: annotation.Malformed{Annotation: "a"}}, {Malformed: annotation.Malformed{Annotation: "b"}}}
	before := map[string]string{"a": "1", "c": "1"}
	for name, test := range map[string]struct {
		now  map[string]string
		same bool
	}{
		"the same":         {map[string]string{"a": "1", "c": "2"}, true},
		"another value":    {map[string]string{"a": "2", "c": "1"}, false},
		"one that is gone": {map[string]string{"c": "1"}, false},
		"one that is new":  {map[string]string{"a": "1", "b": "1"}, false},
	} {
		if sameValues(before, test.now, malformed) != test.same || sameValues(test.now, before, malformed) != test.same || !sameValues(before, test.now, nil) {
			t.Errorf("%s: the same: %v", name, !test.same)
		}
	}
}

// Services of provider router compare the ports and clients that their security groups admit.
func TestAccessOf_HasPortsAndClientsWhereGroupsAreManaged(t *testing.T) {
	t.Parallel()
	svc := fixture.Service(fixture.Ports(fixture.Port(v1.ProtocolUDP, 53), fixture.Port(v1.ProtocolTCP, 443)), func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} })
	s := fixture.Settings(t, svc, fixture.Config())
	if got := accessOf(s); len(got.Ports)+len(got.Ranges) > 0 {
		t.Errorf("not managed: %+v", got)
	}
	s.Access.SecurityGroupMode = config.SecurityGroupsShared
	if got := accessOf(s); !slices.Equal(got.Ports, []string{"UDP/53", "TCP/443"}) || !slices.Equal(got.Ranges, []string{"10.0.0.0/8"}) {
		t.Errorf("managed: %+v", got)
	}
}
