package main

import (
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
)

func TestTraffic_ReachesLoadBalancerOnVIPAndFloatingIP(t *testing.T) {
	t.Parallel()
	sim := startSim(t, "--servers=1")
	c := sim.client(t)
	vip := c.balance(t, "", "TCP", web(t, c.servers(t)[0].Address, "hello"), nil)
	eventually(t, "an answer on the VIP", func() error { return answers(vip, "hello") })

	lb := c.only(t)
	_, port, _ := net.SplitHostPort(vip)
	floatingIP := c.float(t, lb)
	public := net.JoinHostPort(floatingIP.FloatingIP, port)
	eventually(t, "an answer on the floating IP", func() error { return answers(public, "hello") })

	if err := floatingips.Delete(t.Context(), c.network, floatingIP.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "silence on the floating IP", func() error { return silent(public) })
	if err := answers(vip, "hello"); err != nil {
		t.Errorf("the VIP after the floating IP is gone: %v", err)
	}
	c.removeAll(t, lb.ID)
	eventually(t, "silence on the VIP", func() error { return silent(vip) })
	if sim.problems.String() != "" {
		t.Errorf("the program complained:\n%s", sim.problems)
	}
}

// silent is an error as long as something answers.
func silent(at string) error {
	if text, err := get(at); err == nil {
		return fmt.Errorf("still answers %q", text)
	}
	return nil
}

// removeAll deletes the load balancer with its children and waits until it is gone.
func (c *client) removeAll(t *testing.T, id string) {
	t.Helper()
	err := loadbalancers.Delete(t.Context(), c.loadBalancer, id, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "nothing left", func() error {
		var left struct{ Count int }
		c.control(t, http.MethodGet, "leftovers", "", &left)
		if left.Count != 0 {
			return fmt.Errorf("%d objects left", left.Count)
		}
		return nil
	})
}

func TestTraffic_ComesFromVIPOfAmphoraAndFromClientOfOVN(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "ovn"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			c := startSim(t, "--servers=1").client(t)
			vip := c.balance(t, provider, "TCP", web(t, c.servers(t)[0].Address, "member"), nil)
			want, _, _ := net.SplitHostPort(vip)
			if provider == "ovn" {
				want = "127.0.0.1"
			}
			eventually(t, "an answer", func() error { return answers(vip, "member") })
			if text, err := get(vip); err != nil || text != "member "+want {
				t.Errorf("member saw %q (%v), want client %s", text, err, want)
			}
		})
	}
}

func TestTraffic_AvoidsMemberThatMonitorPutsInError(t *testing.T) {
	t.Parallel()
	c := startSim(t, "--servers=2").client(t)
	servers := c.servers(t)
	good := web(t, servers[0].Address, "good")
	vip := c.balance(t, "", "TCP", good, &monitors.CreateOpts{
		Type: monitors.TypeHTTP, Delay: 5, Timeout: 5, MaxRetries: 1, MaxRetriesDown: 1,
		URLPath: "/", HTTPMethod: "GET", ExpectedCodes: "200",
	})
	lb := c.only(t)
	pool := lb.Pools[0].ID
	added, err := pools.CreateMember(t.Context(), c.loadBalancer, pool, pools.CreateMemberOpts{
		Address: servers[1].Address, ProtocolPort: loopback.FreePort(t),
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	c.active(t, lb.ID)
	eventually(t, "the dead member to be in ERROR", func() error {
		member, err := pools.GetMember(t.Context(), c.loadBalancer, pool, added.ID).Extract()
		if err == nil && member.OperatingStatus != "ERROR" {
			err = fmt.Errorf("it is %s", member.OperatingStatus)
		}
		return err
	})
	eventually(t, "an answer", func() error { return answers(vip, "good") })
	for range 5 {
		if err := answers(vip, "good"); err != nil {
			t.Errorf("traffic with one dead member: %v", err)
		}
	}
}

func TestTraffic_FindsNoListenerWithoutDataPath(t *testing.T) {
	t.Parallel()
	c := startSim(t, "--servers=1", "--data-path=false").client(t)
	vip := c.balance(t, "", "TCP", web(t, c.servers(t)[0].Address, "hello"), nil)
	if err := silent(vip); err != nil {
		t.Error(err)
	}
}
