package apply

import (
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/wait"
)

func TestFirstLookComesShortlyBeforeTheUsualEnd(t *testing.T) {
	t.Parallel()
	given := wait.Pace{First: 5 * time.Second, Step: 2 * time.Second, Cap: 10 * time.Second}
	amphora := kind{"amphora", creating}
	var e experience
	if got := e.pace(amphora, given); got != given {
		t.Errorf("without experience: %v", got)
	}
	for range 20 {
		e.note(amphora, 40*time.Second)
	}
	if got := e.pace(amphora, given); got.First != 32*time.Second || got.Step != 4*time.Second {
		t.Errorf("after 40 s each: %v", got)
	}
	for range 20 {
		e.note(amphora, 2*time.Minute)
	}
	if got := e.pace(amphora, given); got.First != longest || got.Step != given.Cap {
		t.Errorf("after 2 min each: %v", got)
	}
	for range 50 {
		e.note(amphora, time.Second)
	}
	if got := e.pace(amphora, given); got != given {
		t.Errorf("after 1 s each: %v, never sooner than %v", got, given)
	}
	if got := e.pace(kind{"ovn", creating}, given); got != given {
		t.Errorf("another provider's: %v", got)
	}
}
