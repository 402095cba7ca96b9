package lookup_test

import (
	"context"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// slowList is a Neutron that has one port. Something happens while its list is on
// the way.
type slowList struct {
	lookup.Neutron
	port      neutron.Port
	meanwhile func()
}

func (s *slowList) PortsOfDevices(context.Context, []string) ([]neutron.Port, error) {
	listed := s.port
	s.meanwhile()
	return []neutron.Port{listed}, nil
}

func TestNodePorts_KeepNewestRevisionWhenListIsLate(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	at := func(revision int, groups ...string) neutron.Port {
		return neutron.Port{ID: "port", DeviceID: "server", Revision: &revision, SecurityGroups: groups}
	}
	for name, c := range map[string]struct {
		listed, kept neutron.Port
		want         int
	}{
		"changed after the list was made":  {at(1), at(2, "ours"), 2},
		"changed before the list was made": {at(3, "ours", "theirs"), at(2, "ours"), 3},
	} {
		list := &slowList{port: c.listed}
		reader := lookup.New(list, nil, nil, env.clock, age)
		list.meanwhile = func() { reader.KeepPort(c.kept) }
		for range 2 { // read, and then remembered
			found, err := reader.NodePorts(t.Context(), []string{"server"})
			if err != nil || len(found["server"]) != 1 || *found["server"][0].Revision != c.want {
				t.Errorf("%s: ports %+v, %v, want revision %d", name, found, err, c.want)
			}
		}
		if known, ok := reader.KnownPort("port"); !ok || *known.Revision != c.want {
			t.Errorf("%s: known %+v, want revision %d", name, known, c.want)
		}
	}
}
