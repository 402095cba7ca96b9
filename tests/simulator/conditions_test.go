package simulator_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// versions asks for what needs no token, over a connection of its own.
func versions(t *testing.T, cloud *simulator.Cloud) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cloud.URL()+"/network/", nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(request)
	if err == nil {
		_ = answer.Body.Close()
	}
	return err
}

func TestConditions_ShutPortForAWhile(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	cloud := start(t, simulator.Options{Clock: clock})
	id := cloud.RefuseConnections(0)
	if err := versions(t, cloud); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("behind a shut door: %v", err)
	}
	if !cloud.Faults.Remove(id) {
		t.Error("the condition was not there")
	}
	if err := versions(t, cloud); err != nil {
		t.Errorf("after it was opened: %v", err)
	}
	cloud.RefuseConnections(time.Minute)
	clock.Step(59 * time.Second)
	if err := versions(t, cloud); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after 59 s: %v", err)
	}
	clock.Step(time.Second)
	await.Condition(t, "the door opens", func() bool { return versions(t, cloud) == nil })
}

func TestConditions_EndOpenConnectionsWithPort(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	service := client(t, cloud, cloud.Account)
	list := func() error {
		_, err := loadbalancers.List(service, nil).AllPages(t.Context())
		return err
	}
	if err := list(); err != nil {
		t.Fatal(err)
	}
	id := cloud.RefuseConnections(0)
	if err := list(); err == nil {
		t.Error("a connection survived")
	}
	cloud.Faults.Remove(id)
	if err := list(); err != nil {
		t.Errorf("after it was opened: %v", err)
	}
}

func TestConditions_ExhaustPoolsAndQuotas(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	create := func() string {
		_, err := cloud.Neutron.CreateFloatingIP(neutron.FloatingIPSpec{
			ProjectID: cloud.Account.ProjectID, NetworkID: cloud.ExternalNetwork.ID,
		})
		var refused *neutron.Error
		errors.As(err, &refused)
		if refused == nil {
			return ""
		}
		return refused.Type
	}
	exhausted, err := cloud.ExhaustSubnet(cloud.ExternalSubnet.ID)
	if err != nil {
		t.Fatal(err)
	}
	if kind := create(); kind != "IpAddressGenerationFailure" {
		t.Errorf("with an exhausted subnet: %q", kind)
	}
	cloud.Faults.Remove(exhausted)
	limited := cloud.LimitQuota("floatingip", 1)
	if first, second := create(), create(); first != "" || second != "OverQuota" {
		t.Errorf("with a quota of one: %q and %q", first, second)
	}
	cloud.Faults.Remove(limited)
	if kind := create(); kind != "" {
		t.Errorf("after all: %q", kind)
	}
	if _, err := cloud.ExhaustSubnet("none"); err == nil {
		t.Error("a subnet that is none was exhausted")
	}
}

func TestConditions_MoveCatalogAndBreakCells(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	leadsTo := func(base string) bool {
		_, _, catalog, err := cloud.Act(simulator.Foreign{Method: http.MethodGet, Path: "/identity/v3/auth/catalog"})
		return err == nil && strings.Contains(string(catalog), base+"/load-balancer")
	}
	moved := cloud.MoveEndpoints("http://moved.test")
	if !leadsTo("http://moved.test") {
		t.Error("the catalog has not moved")
	}
	cloud.Faults.Remove(moved)
	if !leadsTo(cloud.URL()) {
		t.Error("the catalog has not come back")
	}
	broken := cloud.BreakCell("cell1")
	if list := cloud.Faults.List(); len(list) != 1 || list[0].ID != broken || list[0].Condition != "cell cell1 is down" {
		t.Errorf("in force is %+v", list)
	}
}

func TestConditions_HoldLoadBalancerInStatus(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	cloud := start(t, simulator.Options{Clock: clock})
	lb, err := loadbalancers.Create(t.Context(), client(t, cloud, cloud.Account), fullCreate(cloud)).Extract()
	if err != nil {
		t.Fatal(err)
	}
	settled(t, cloud)
	status := func() string { return cloud.Octavia.Snapshot()[0].ProvisioningStatus }
	if _, err := cloud.Hold(lb.ID, octavia.PendingUpdate, time.Hour); err != nil || status() != octavia.PendingUpdate {
		t.Errorf("held in %s %v", status(), err)
	}
	clock.Step(time.Hour)
	await.Condition(t, "the load balancer is released", func() bool { return status() == octavia.Active })
	if _, err := cloud.Hold("none", octavia.PendingUpdate, 0); err == nil {
		t.Error("a load balancer that is none was held")
	}
}

func TestConditions_LockLoadBalancerByForeignClientInLoop(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	cloud := start(t, simulator.Options{Clock: clock, Delays: map[string]octavia.Delays{"": {Update: time.Second}}})
	service := client(t, cloud, cloud.Account)
	lb, err := loadbalancers.Create(t.Context(), service, fullCreate(cloud)).Extract()
	if err != nil {
		t.Fatal(err)
	}
	cloud.RequestLog.Reset()
	id, status, _, err := cloud.Act(simulator.Foreign{
		Method: http.MethodPut, Path: "/load-balancer/v2.0/lbaas/loadbalancers/" + lb.ID,
		Body: json.RawMessage(`{"loadbalancer": {"description": "mine now"}}`), Every: time.Second,
	})
	if err != nil || status != http.StatusOK {
		t.Fatalf("answered %d %v", status, err)
	}
	for range 3 {
		name := "other"
		_, err := loadbalancers.Update(t.Context(), service, lb.ID, loadbalancers.UpdateOpts{Name: &name}).Extract()
		if !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
			t.Errorf("the load balancer is not locked: %v", err)
		}
		locked := cloud.RequestLog.PendingCycles(lb.ID)
		await.Condition(t, "it is locked again", func() bool {
			clock.Step(100 * time.Millisecond)
			return cloud.RequestLog.PendingCycles(lb.ID) > locked
		})
	}
	cloud.Faults.Remove(id)
	if writes := cloud.RequestLog.Count(http.MethodPut, "/load-balancer/v2.0/lbaas/loadbalancers/"+lb.ID); writes != 3 {
		t.Errorf("the request log counts %d changes, three are the client's", writes)
	}
}

func TestProfile_KeepsItsDurationsAtHigherSpeed(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{Profile: "real", Speed: 10_000})
	service := client(t, cloud, cloud.Account)
	lb, err := loadbalancers.Create(t.Context(), service, fullCreate(cloud)).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if lb.ProvisioningStatus != octavia.PendingCreate {
		t.Errorf("made in no time: %s", lb.ProvisioningStatus)
	}
	settled(t, cloud)
	found := cloud.Octavia.Snapshot()[0]
	if took := found.UpdatedAt.Sub(found.CreatedAt); took < 30*time.Second {
		t.Errorf("a load balancer took %s", took)
	}
}

func TestProfile_RepeatsItsDurationsForSameSeed(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) []time.Duration {
		clock := clocktesting.NewFakeClock(time.Now())
		cloud := start(t, simulator.Options{Profile: "real", Seed: seed, Clock: clock})
		service := client(t, cloud, cloud.Account)
		var took []time.Duration
		for range 3 {
			before := clock.Now()
			lb, err := loadbalancers.Create(t.Context(), service, fullCreate(cloud)).Extract()
			if err != nil {
				t.Fatal(err)
			}
			for len(cloud.Octavia.Unsettled()) > 0 {
				clock.Step(time.Second)
			}
			took = append(took, clock.Since(before))
			if err := cloud.Octavia.Remove(lb.ID); err != nil {
				t.Fatal(err)
			}
		}
		return took
	}
	first, again, other := run(1), run(1), run(2)
	for i := range first {
		if first[i] != again[i] || first[i] < 30*time.Second || first[i] > 121*time.Second {
			t.Errorf("with seed 1 creates took %s and %s", first, again)
		}
	}
	if first[0] == first[1] && first[1] == first[2] || first[0] == other[0] && first[1] == other[1] {
		t.Errorf("with seed 1 creates took %s, with seed 2 %s", first, other)
	}
}

func TestCloud_ExpiresTokensByClockOfTheirUsers(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{Speed: 1e6})
	service := client(t, cloud, cloud.Account)
	for range 3 {
		if _, err := loadbalancers.List(service, nil).AllPages(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if cloud.RequestLog.Count(http.MethodPost, "/identity/v3/auth/tokens") != 1 {
		t.Error("a token ran out at the speed of the cloud")
	}
}

func TestStart_HandsOptionsToOctavia(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{Octavia: func(options *octavia.Options) { options.PageLimit = 1 }})
	service := client(t, cloud, cloud.Account)
	for range 2 {
		if _, err := loadbalancers.Create(t.Context(), service, fullCreate(cloud)).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	_, _, list, err := cloud.Act(simulator.Foreign{Method: http.MethodGet, Path: "/load-balancer/v2.0/lbaas/loadbalancers"})
	var page struct{ LoadBalancers []struct{ ID string } }
	if err := errors.Join(err, json.Unmarshal(list, &page)); err != nil || len(page.LoadBalancers) != 1 {
		t.Errorf("a page has %d load balancers, %v", len(page.LoadBalancers), err)
	}
}
