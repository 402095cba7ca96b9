package plan_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// TestDiff_NeverRewritesTags asks for other tags than anything in a load balancer has.
//
//proves:65
func TestDiff_NeverRewritesTags(t *testing.T) {
	t.Parallel()
	property(t, func(t *testing.T, m maker) {
		desired, opts := m.desired(), m.options()
		c := &cloud{}
		if err := c.run(plan.Diff(desired, c.observed, opts).Steps); err != nil {
			t.Fatal(err)
		}
		retag(desired, "new")
		if again := plan.Diff(desired, c.observed, opts); !again.Empty() || len(again.Notices)+len(again.Retained) > 0 {
			t.Errorf("tags make a difference:\n%s%v", again, again.Notices)
		}
	})
}

func retag(lb *model.LoadBalancer, tags ...string) {
	lb.Tags = tags
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		l.Tags, l.Pool.Tags = tags, tags
		if l.Pool.Monitor != nil {
			monitor := *l.Pool.Monitor
			monitor.Tags, l.Pool.Monitor = tags, &monitor
		}
	}
}
