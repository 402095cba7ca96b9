package project_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// cloud has a load balancer and a floating IP, and counts its lists.
type cloud struct {
	project.Octavia
	balancers, floatingIPs int
	lbErr, fipErr          error
}

func (p *cloud) LoadBalancers(context.Context, octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	p.balancers++
	return []octavia.LoadBalancer{{
		ID: "lb", Name: "web", Tags: []string{"blue"}, VIPPortID: "port", ProvisioningStatus: model.StatusActive,
	}}, p.lbErr
}

func (p *cloud) FloatingIPs(context.Context, neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	p.floatingIPs++
	return []floatingips.FloatingIP{{ID: "fip", FloatingIP: "203.0.113.7", PortID: "port", Description: "web's"}, {ID: "spare", Description: "another's"}}, p.fipErr
}

func TestSnapshot_IsTakenAgainOnlyWhenItIsTooOld(t *testing.T) {
	t.Parallel()
	p, clk := &cloud{}, clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	reader := project.New(p, p, clk)
	for _, step := range []struct {
		wait time.Duration
		want int
	}{{0, 1}, {time.Minute, 1}, {time.Nanosecond, 2}} {
		clk.SetTime(clk.Now().Add(step.wait))
		if _, err := reader.Snapshot(t.Context(), time.Minute); err != nil || p.balancers != step.want || p.floatingIPs != step.want {
			t.Errorf("after %s more: %d and %d lists, error %v, want %d", step.wait, p.balancers, p.floatingIPs, err, step.want)
		}
	}
}

func TestSnapshot_FindsByTagNameDescriptionAndPort(t *testing.T) {
	t.Parallel()
	p := &cloud{}
	s, err := project.New(p, p, clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))).Snapshot(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if found := s.Tagged("blue"); len(found) != 1 || found[0].ID != "lb" || found[0].Status != model.StatusActive || len(s.Tagged("red")) > 0 {
		t.Errorf("with the tag: %+v", found)
	}
	if s.Named("web") != 1 || s.Named("other") != 0 {
		t.Errorf("of the name: %d, of another %d", s.Named("web"), s.Named("other"))
	}
	if found := s.Described("web's"); len(found) != 1 || found[0].ID != "fip" {
		t.Errorf("of the description: %+v", found)
	}
	if found := s.OnPort("port"); len(found) != 1 || found[0].Address != "203.0.113.7" || len(s.OnPort("")) > 0 {
		t.Errorf("on the port: %+v, on none: %+v", found, s.OnPort(""))
	}
}

func TestSnapshot_FailsWithEitherList(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for _, p := range []*cloud{{lbErr: failed}, {fipErr: failed}} {
		reader := project.New(p, p, clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0)))
		if s, err := reader.Snapshot(t.Context(), time.Minute); s != nil || !errors.Is(err, failed) {
			t.Errorf("%+v, error %v", s, err)
		}
		p.lbErr, p.fipErr = nil, nil
		if s, err := reader.Snapshot(t.Context(), time.Minute); s == nil || err != nil {
			t.Errorf("the error was kept: %+v, %v", s, err)
		}
	}
}

func TestFirstFloatingIPs_AreThoseOfTheFirstLook(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	p, clk := &cloud{fipErr: failed}, clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	reader := project.New(p, p, clk)
	if all, err := reader.FirstFloatingIPs(t.Context()); all != nil || !errors.Is(err, failed) {
		t.Errorf("%v, error %v", all, err)
	}
	p.fipErr = nil
	for range 2 {
		all, err := reader.FirstFloatingIPs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if found := all.WithWords("web's", "another's"); len(found) != 2 || found[0].Address != "203.0.113.7" || found[1].ID != "spare" {
			t.Errorf("%+v", found)
		}
	}
	if p.balancers != 0 || p.floatingIPs != 2 {
		t.Errorf("%d lists of load balancers, %d of floating IPs", p.balancers, p.floatingIPs)
	}
}
