package observe_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// A read that ignores the failure of one of its requests would report objects as missing.
func TestReads_FailWithEachOfTheirRequests(t *testing.T) {
	t.Parallel()
	type made struct {
		*environment
		ours, legacy *octavia.LoadBalancer
	}
	observed := func(m made) *model.Observed {
		return &model.Observed{LoadBalancer: &model.LoadBalancer{ID: m.ours.ID, VIP: model.VIP{PortID: m.ours.VIPPortID}}}
	}
	for name, read := range map[string]func(context.Context, made) error{
		"find": func(ctx context.Context, m made) error {
			_, err := m.observer.Find(ctx, us(), observe.Hints{Place: m.place})
			return err
		},
		"find a named one": func(ctx context.Context, m made) error {
			_, err := m.observer.Find(ctx, us(), observe.Hints{LoadBalancerID: m.ours.ID, Place: m.place})
			return err
		},
		"adopt by address": func(ctx context.Context, m made) error {
			_, err := m.observer.Find(ctx, another(), observe.Hints{Addresses: []string{m.legacy.VIPAddress}, Place: m.place})
			return err
		},
		"contents": func(ctx context.Context, m made) error {
			_, err := m.observer.Contents(ctx, us(), *m.ours)
			return err
		},
		"settings": func(ctx context.Context, m made) error {
			_, err := m.observer.Settings(ctx, us(), *m.ours)
			return err
		},
		"outline": func(ctx context.Context, m made) error {
			_, err := m.observer.Outline(ctx, us(), *m.ours, nil)
			return err
		},
		"elsewhere": func(ctx context.Context, m made) error {
			_, err := m.observer.Elsewhere(ctx, us(), observe.Hints{Before: []string{m.legacy.ID}, Place: m.place}, m.ours.ID)
			return err
		},
		"floating IPs": func(ctx context.Context, m made) error {
			return m.observer.FloatingIPs(ctx, us(), observed(m), observe.FloatingIPHints{Unattached: true})
		},
		"floating IPs of a deletion": func(ctx context.Context, m made) error {
			return m.observer.LeavingFloatingIPs(ctx, us(), observed(m), observe.FloatingIPHints{Unattached: true})
		},
		"lists of the project": func(ctx context.Context, m made) error {
			_, err := m.project().Lists(ctx, 0)
			return err
		},
		"snapshot of the project": func(ctx context.Context, m made) error {
			_, err := m.project().Snapshot(ctx, 0)
			return err
		},
		"settings of several Services": func(ctx context.Context, m made) error {
			_, err := m.project().SettingsOf(ctx, []ownership.Identity{us(), another()})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, "2026.1")
			m := made{environment: env, ours: env.ours(us(), withPorts(us(), true)), legacy: env.legacy(another())}
			env.floatingIP(us().FloatingIPs().Description(), m.ours.VIPPortID)
			env.Cloud.RequestLog.Reset()
			if err := read(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			requests := env.Cloud.RequestLog.Requests()
			if len(requests) == 0 {
				t.Error("makes no request")
			}
			times := map[string]int{}
			for _, request := range requests {
				route, _, _ := strings.Cut(request.Path, "?")
				times[route]++
				env.Cloud.Faults.Clear()
				// By route: a request of the read before, canceled on its way, may arrive late.
				env.Cloud.Faults.Add(faults.Rule{Route: route, From: times[route], Status: http.StatusForbidden})
				if err := read(t.Context(), m); err == nil {
					t.Errorf("ignores the failure of request %d to %s", times[route], route)
				}
			}
		})
	}
}
