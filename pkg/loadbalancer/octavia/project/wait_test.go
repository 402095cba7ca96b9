package project_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// slow is a project of which floating IPs are listed within a minute.
type slow struct{ *tenant }

func (s slow) FloatingIPs(ctx context.Context, f neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	time.Sleep(time.Minute) // of the bubble
	return s.tenant.FloatingIPs(ctx, f)
}

// A shared read goes on for others after its caller has left. The process ends after it.
func TestWait_ReturnsAfterEachSharedRead(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(context.Context, *project.Reader) error{
		"a snapshot": func(ctx context.Context, r *project.Reader) error {
			_, err := r.Snapshot(ctx, 0)
			return err
		},
		"lists": func(ctx context.Context, r *project.Reader) error {
			_, err := r.Lists(ctx, time.Hour)
			return err
		},
		"the first floating IPs": func(ctx context.Context, r *project.Reader) error {
			_, err := r.FirstFloatingIPs(ctx)
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := some()
			reader := project.New(c, slow{c}, clock.RealClock{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			if err := read(ctx, reader); err == nil || time.Since(began) != time.Second {
				t.Errorf("%s: error %v after %s", name, err, time.Since(began))
			}
			if reader.Wait(); time.Since(began) != time.Minute {
				t.Errorf("%s: it has waited for %s", name, time.Since(began))
			}
		})
	}
}
