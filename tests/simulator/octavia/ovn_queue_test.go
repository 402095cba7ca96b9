package octavia_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// item is what an item of the queue takes in these tests, for a load balancer with one
// listener and one pool.
const item = 3 * time.Second

// queuedOVN is the provider ovn of 2025.1 with a load balancer that has the members 1 and 2.
func queuedOVN(t *testing.T, processes int) (*environment, made) {
	t.Helper()
	env := newEnvironment(t, octavia.Options{Release: "2025.1", APIProcesses: processes, Delays: map[string]octavia.Delays{"ovn": {Members: time.Second}}})
	lb := env.must(201, "POST", "loadbalancers", env.unmonitored())
	m := made{
		id: lb["id"].(string), pool: lb["pools"].([]any)[0].(object)["id"].(string),
		listener: lb["listeners"].([]any)[0].(object)["id"].(string),
	}
	env.clock.Step(item)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	env.shows(m, "PENDING_CREATE PENDING_CREATE", "")
	env.clock.Step(time.Hour)
	env.shows(m, "ACTIVE ACTIVE", "1 2")
	return env, m
}

// unmonitored returns the body of a full creation with the members 1 and 2.
func (env *environment) unmonitored() object {
	body := env.balancer("ovn", nil)
	pool := body["loadbalancer"].(object)["listeners"].([]object)[0]["default_pool"].(object)
	delete(pool, "healthmonitor")
	pool["members"] = members("1", "2")
	return body
}

// members are the bodies of members in a batch.
func members(names ...string) []object {
	all := []object{}
	for _, name := range names {
		all = append(all, object{"address": "10.6.1." + name, "protocol_port": 30080})
	}
	return all
}

func (env *environment) batch(m made, names ...string) {
	env.t.Helper()
	env.must(202, "PUT", "pools/"+m.pool+"/members", object{"members": members(names...)})
}

// shows fails unless the members have these provisioning statuses, and OVN has these members.
func (env *environment) shows(m made, statuses, inOVN string) {
	env.t.Helper()
	for _, lb := range env.Snapshot() {
		if lb.ID != m.id {
			continue
		}
		var have []string
		for _, member := range lb.Pools[0].Members {
			have = append(have, member.ProvisioningStatus)
		}
		table := strings.ReplaceAll(strings.ReplaceAll(strings.Join(lb.Pools[0].Serving, " "), "10.6.1.", ""), ":30080", "")
		if strings.Join(have, " ") != statuses || table != inOVN {
			env.t.Errorf("members %s, OVN has %q; want %s and %q", have, table, statuses, inOVN)
		}
		return
	}
	env.t.Errorf("load balancer %s is gone", m.id)
}

// The course of a batch as it was measured with Epoxy, which is 2025.1: creations first, deletions last, all of it ACTIVE with the
// first item, OVN's table before the API.
func TestOVN_ReportsBatchActiveInEpoxyBeforeItIsDone(t *testing.T) {
	t.Parallel()
	env, m := queuedOVN(t, 1)
	env.batch(m, "2", "3")
	env.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
	env.clock.Step(time.Second)
	env.shows(m, "PENDING_DELETE PENDING_UPDATE PENDING_CREATE", "1 2 3")
	env.clock.Step(item - time.Second)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	env.wantStatus("pools/"+m.pool, "ACTIVE")
	env.shows(m, "ACTIVE ACTIVE ACTIVE", "1 2 3")
	env.clock.Step(item + time.Second)
	env.shows(m, "ACTIVE ACTIVE ACTIVE", "2 3")
	env.clock.Step(item - time.Second)
	env.shows(m, "ACTIVE ACTIVE", "2 3")
}

func TestOVN_LosesMemberInEpoxyWhenBatchesOverlap(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wait time.Duration
		want string
	}{
		"sent when the load balancer is ACTIVE":     {item, "2"},
		"sent when the removed member is not there": {3 * item, "1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, m := queuedOVN(t, 1)
			env.batch(m, "2", "3")
			env.clock.Step(test.wait)
			env.batch(m, "1", "2")
			env.clock.Step(time.Hour)
			env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
			env.shows(m, strings.TrimSpace(strings.Repeat("ACTIVE ", len(strings.Fields(test.want)))), test.want)
		})
	}
}

// With two processes of the API, which work at the same time, a pool may even end without members.
func TestOVN_EmptiesPoolInEpoxyWhenBatchesOfTwoProcessesOverlap(t *testing.T) {
	t.Parallel()
	env, m := queuedOVN(t, 2)
	env.batch(m, "2", "3")
	env.clock.Step(item)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	env.batch(m, "1")
	env.clock.Step(time.Hour)
	env.shows(m, "", "")
}

func TestOVN_HasLoadBalancerActiveAgainInEpoxyWhileItIsDeleted(t *testing.T) {
	t.Parallel()
	env, m := queuedOVN(t, 1)
	env.batch(m, "1", "2", "3")
	env.clock.Step(item)
	env.must(204, "DELETE", "loadbalancers/"+m.id+"?cascade=true", nil)
	env.wantStatus("loadbalancers/"+m.id, "PENDING_DELETE")
	env.clock.Step(item)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	env.clock.Step(2 * item)
	env.refused(404, "not found", "GET", "loadbalancers/"+m.id, nil)
}

// What an item takes grows with the load balancer, so that a batch for each pool takes more than so many
// times one.
func TestOVN_TakesForMemberInEpoxyWhatItsLoadBalancerIs(t *testing.T) {
	t.Parallel()
	env, m := queuedOVN(t, 1)
	pool := env.must(201, "POST", "pools", object{"pool": object{"loadbalancer_id": m.id, "protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT"}})
	env.clock.Step(time.Hour)
	env.must(201, "POST", "listeners", object{"listener": object{
		"loadbalancer_id": m.id, "protocol": "TCP", "protocol_port": 81, "default_pool_id": pool["id"],
	}})
	env.clock.Step(time.Hour)
	env.must(201, "POST", "pools/"+m.pool+"/members", object{"member": members("3")[0]})
	env.clock.Step(5*time.Second - time.Millisecond)
	env.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
	env.clock.Step(time.Millisecond)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
}

// A full creation sets the missing subnet of a member internally; later requests need it.
func TestOVN_NeedsSubnetInEpoxyButInFullCreate(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Release: "2025.1"})
	body := env.unmonitored()
	pod := object{"address": "10.244.1.11", "protocol_port": 8080}
	body["loadbalancer"].(object)["listeners"].([]object)[0]["default_pool"].(object)["members"] = []object{pod}
	lb := env.must(201, "POST", "loadbalancers", body)
	env.clock.Step(time.Hour)
	pool := "pools/" + lb["pools"].([]any)[0].(object)["id"].(string) + "/members"
	if member := env.call("GET", pool, nil).json["members"].([]any)[0].(object); member["subnet_id"] != nil || member["provisioning_status"] != "ACTIVE" {
		t.Errorf("the member is %v", member)
	}
	const text = "Provider 'ovn' does not support a requested option: Subnet is required, or Loadbalancer associated with Pool must have a subnet, for %s " +
		"with OVN Provider Driver if it is not the same as LB VIP subnet"
	env.refused(501, fmt.Sprintf(text, "Member batch update"), "PUT", pool, object{"members": []object{pod}})
	env.refused(501, fmt.Sprintf(text, "Member creation"), "POST", pool, object{"member": object{"address": "10.244.1.12", "protocol_port": 8080}})
	pod["subnet_id"] = env.subnet.ID
	env.must(202, "PUT", pool, object{"members": []object{pod}})
}

func TestOVN_IgnoresWeightsInEpoxy(t *testing.T) {
	t.Parallel()
	env, m := queuedOVN(t, 1)
	all := members("1", "2")
	all[0]["weight"] = 0
	env.must(202, "PUT", "pools/"+m.pool+"/members", object{"members": all})
	env.clock.Step(time.Hour)
	env.shows(m, "ACTIVE ACTIVE", "1 2")
	all[0]["admin_state_up"] = false
	env.must(202, "PUT", "pools/"+m.pool+"/members", object{"members": all})
	env.clock.Step(time.Hour)
	env.shows(m, "ACTIVE ACTIVE", "2")
}

// OVN asks members from their ports; one without a port is out of service.
func TestOVN_MonitorsInEpoxyOnlyMembersWithPorts(t *testing.T) {
	t.Parallel()
	env, m := queuedOVN(t, 1)
	if _, err := env.network.CreatePort(neutron.PortSpec{Name: "node", ProjectID: project, SubnetID: env.subnet.ID, NetworkID: env.subnet.NetworkID, Address: "10.6.1.2"}); err != nil {
		t.Fatal(err)
	}
	env.monitored(m.pool)
	var have []string
	for _, member := range env.Snapshot()[0].Pools[0].Members {
		have = append(have, member.OperatingStatus)
	}
	if !slices.Equal(have, []string{"ERROR", "ONLINE"}) {
		t.Errorf("members are %s", have)
	}
}

// The course of the deletion of a pool as it was measured with Epoxy: the load balancer and the pool are
// ACTIVE after the first member, and the pool goes after the last.
func TestOVN_DeletesMembersInEpoxyBeforeTheirPool(t *testing.T) {
	t.Parallel()
	env, m := queuedOVN(t, 1)
	env.must(204, "DELETE", "listeners/"+m.listener, nil)
	env.clock.Step(item)
	env.must(204, "DELETE", "pools/"+m.pool, nil)
	env.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
	env.wantStatus("pools/"+m.pool, "PENDING_DELETE")
	const without = 2 * time.Second // an item, without the listener
	env.clock.Step(without)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	env.wantStatus("pools/"+m.pool, "ACTIVE")
	env.shows(m, "ACTIVE", "") // OVN's table changes before the API
	env.clock.Step(without)
	env.shows(m, "", "")
	env.clock.Step(without)
	env.must(404, "GET", "pools/"+m.pool, nil)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
}
