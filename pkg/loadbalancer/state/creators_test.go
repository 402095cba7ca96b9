package state_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

func TestCreator_StaysAsLongAsItIsACandidate(t *testing.T) {
	t.Parallel()
	store := state.New(clocktesting.NewFakePassiveClock(time.Now()), nil)
	share := state.Share{Namespace: "shop", Name: "edge"}
	for i, test := range []struct {
		candidates []types.UID
		want       types.UID
	}{
		{nil, ""}, {[]types.UID{"b"}, "b"}, {[]types.UID{"a", "b"}, "b"}, {[]types.UID{"a"}, "a"}, {nil, ""}, {[]types.UID{"b", "a"}, "b"},
	} {
		if got := store.Creators.Of(share, test.candidates); got != test.want {
			t.Errorf("%d: %q, want %q", i, got, test.want)
		}
	}
	store.DropAllBut(map[types.UID]bool{"a": true})
	if got := store.Creators.Of(share, []types.UID{"a", "b"}); got != "a" {
		t.Errorf("%q creates it after b is gone", got)
	}
}
