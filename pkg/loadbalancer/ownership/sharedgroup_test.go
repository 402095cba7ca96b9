package ownership_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

func TestIdentity_OwnsTheSharedGroupOfItsOwnClusterOnly(t *testing.T) {
	t.Parallel()
	id, nobody := web(), with(func(id *ownership.Identity) { id.ClusterID = "" })
	theirs := with(func(id *ownership.Identity) { id.ClusterID = "another" })
	for name, test := range map[string]struct {
		id    ownership.Identity
		group string
		tags  []string
		owns  bool
	}{
		"its own":                               {id, id.SharedGroup().Name, id.SharedGroup().Tags, true},
		"its own, whose tags were lost":         {id, id.SharedGroup().Name, nil, true},
		"its own, with tags of somebody":        {id, id.SharedGroup().Name, []string{"blue"}, true},
		"another name":                          {id, "default", id.SharedGroup().Tags, false},
		"another cluster's tags":                {id, id.SharedGroup().Name, theirs.SharedGroup().Tags, false},
		"of a cluster that nobody can identify": {nobody, nobody.SharedGroup().Name, nil, false},
	} {
		if owns := test.id.SharedGroup().Is(test.group, test.tags); owns != test.owns {
			t.Errorf("%s: it is the cluster's: %v", name, owns)
		}
	}
}

// The remembered ID is that of the replacement, before the replaced load balancer is known.
func TestChoose_FindsWhatARememberedReplacementReplaces(t *testing.T) {
	t.Parallel()
	all := []ownership.Candidate{{ID: "other", CreatedAt: day(1)}, {ID: "old", CreatedAt: day(2)}, {ID: "next", Replaces: "old", CreatedAt: day(3)}}
	got := ownership.Choose(all, ownership.Known{IDs: []string{"next"}})
	if got.Chosen != 2 || got.Replaced != 1 || len(got.Duplicates) != 1 || got.Duplicates[0] != 0 {
		t.Errorf("%+v", got)
	}
}
