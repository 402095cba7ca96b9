package octavia_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// members lists the pool's members as "address:port status weight".
func (env *environment) members(pool string) string {
	var lines []string
	for _, lb := range env.Snapshot() {
		for _, p := range lb.Pools {
			for _, m := range p.Members {
				if p.ID == pool {
					lines = append(lines, fmt.Sprintf("%s:%d %s %d", m.Address, m.ProtocolPort, m.ProvisioningStatus, m.Weight))
				}
			}
		}
	}
	return strings.Join(lines, ", ")
}

func batchOf(addresses ...string) object {
	members := []object{}
	for _, address := range addresses {
		members = append(members, object{"address": address, "protocol_port": 30080})
	}
	return object{"members": members}
}

func TestOVN_IsActiveBeforeItsBatchIsDone(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Delays: map[string]octavia.Delays{"ovn": {Update: 2, Members: 5}}})
	m := env.create("ovn")
	env.call("PUT", "pools/"+m.pool+"/members", batchOf())
	env.clock.Step(2)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	if have := env.members(m.pool); have != "10.6.0.11:30080 PENDING_DELETE 1" {
		t.Errorf("members %s under an early ACTIVE", have)
	}
	if got := env.call("PUT", "pools/"+m.pool+"/members", batchOf("10.6.0.12")); got.status != 202 {
		t.Errorf("a batch before the last one is done: %d %s", got.status, got.text)
	}
	if twice := env.RemovedTwice(); len(twice) != 1 {
		t.Errorf("%d members are removed twice, want one", len(twice))
	}
	env.clock.Step(10)
	if have, unsettled := env.members(m.pool), env.Unsettled(); have != "10.6.0.12:30080 ACTIVE 1" || len(unsettled) > 0 {
		t.Errorf("members %s, pending %v", have, unsettled)
	}
}

func TestBatch_SortsMembersIntoNewKeptAndGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		query string
		body  object
		want  string
	}{
		"replace": {"", batchOf("10.6.0.10", "10.6.0.12"),
			"10.6.0.10:30080 PENDING_UPDATE 1, 10.6.0.11:30080 PENDING_DELETE 1, 10.6.0.12:30080 PENDING_CREATE 1"},
		"same again": {"", batchOf("10.6.0.10", "10.6.0.11"),
			"10.6.0.10:30080 PENDING_UPDATE 1, 10.6.0.11:30080 PENDING_UPDATE 1"},
		"none": {"", batchOf(), "10.6.0.10:30080 PENDING_DELETE 1, 10.6.0.11:30080 PENDING_DELETE 1"},
		"additive": {"?additive_only=true", batchOf("10.6.0.12"),
			"10.6.0.10:30080 ACTIVE 1, 10.6.0.11:30080 ACTIVE 1, 10.6.0.12:30080 PENDING_CREATE 1"},
		"additive none": {"?additive_only=true", batchOf(), "10.6.0.10:30080 ACTIVE 1, 10.6.0.11:30080 ACTIVE 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, octavia.Options{Delays: slow()})
			m := env.create("amphora")
			got := env.call("PUT", "pools/"+m.pool+"/members"+c.query, c.body)
			if got.status != 202 || got.text != "" {
				t.Fatalf("%d %q", got.status, got.text)
			}
			if members := env.members(m.pool); members != c.want {
				t.Errorf("members %s\nwant    %s", members, c.want)
			}
			env.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
		})
	}
}

func TestBatch_ResetsWhatItDoesNotName(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	m := env.create("amphora")
	path := "pools/" + m.pool + "/members"
	full := object{"address": "10.6.0.10", "protocol_port": 30080, "name": "n", "weight": 5, "backup": true,
		"admin_state_up": false, "monitor_port": 99, "monitor_address": "10.6.0.1", "tags": []string{"t"}, "subnet_id": env.subnet.ID}
	env.must(202, "PUT", path, object{"members": []object{full}})
	env.must(202, "PUT", path, batchOf("10.6.0.10"))
	got := env.Snapshot()[0].Pools[0].Members[0]
	if got.Weight != 1 || got.Backup || !got.AdminStateUp || got.MonitorPort != 0 || got.MonitorAddress != "" {
		t.Errorf("not reset: %+v", got)
	}
	if got.Name != "n" || len(got.Tags) != 1 || got.SubnetID != env.subnet.ID {
		t.Errorf("not kept: %+v", got)
	}
}

func TestBatch_IsAllOrNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body   any
		status int
	}{
		"bad address":     {batchOf("10.6.0.20", "nonsense"), 400},
		"reserved":        {batchOf("10.6.0.20", "169.254.169.254"), 400},
		"new one twice":   {batchOf("10.6.0.20", "10.6.0.20"), 409},
		"old one twice":   {batchOf("10.6.0.10", "10.6.0.10"), 400},
		"null":            {object{"members": nil}, 500},
		"nothing":         {object{}, 500},
		"unknown subnet":  {object{"members": []object{{"address": "10.6.0.20", "protocol_port": 1, "subnet_id": "00000000-0000-4000-8000-000000000000"}}}, 400},
		"over the quota":  {batchOf("10.6.0.20", "10.6.0.21", "10.6.0.22", "10.6.0.23"), 403},
		"unknown element": {object{"members": []object{{"address": "10.6.0.20", "protocol_port": 1, "bogus": 1}}}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, octavia.Options{Delays: slow(), Quota: map[string]int{"member": 3}})
			m := env.create("amphora")
			before := env.members(m.pool)
			got := env.call("PUT", "pools/"+m.pool+"/members", c.body)
			if got.status != c.status {
				t.Errorf("%d %s, want %d", got.status, got.text, c.status)
			}
			env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
			if after := env.members(m.pool); after != before {
				t.Errorf("members %s, were %s", after, before)
			}
		})
	}
}

func TestBatch_CountsOnlyGrowthForQuota(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Quota: map[string]int{"member": 2}})
	m := env.create("amphora")
	env.must(202, "PUT", "pools/"+m.pool+"/members", batchOf("10.6.0.30", "10.6.0.31"))
	if got := env.members(m.pool); got != "10.6.0.30:30080 ACTIVE 1, 10.6.0.31:30080 ACTIVE 1" {
		t.Errorf("members %s", got)
	}
}

func TestBatch_HangsOnRepeatedMemberInOldRelease(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Release: "2024.1", Delays: slow()})
	m := env.create("amphora")
	env.must(202, "PUT", "pools/"+m.pool+"/members", batchOf("10.6.0.10", "10.6.0.10"))
	env.clock.Step(1e6 * 1e9)
	env.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
}

func TestBatch_TakesOtherSpellingOfAddressAsOtherMember(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	m := env.create("amphora")
	path := "pools/" + m.pool + "/members"
	env.must(202, "PUT", path, batchOf("2001:db8::1"))
	env.must(202, "PUT", path, batchOf("2001:DB8:0::1"))
	if got := env.members(m.pool); got != "2001:DB8:0::1:30080 ACTIVE 1" {
		t.Errorf("members %s", got)
	}
}

func TestMembers_AreCreatedChangedAndDeletedOneByOne(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	m := env.create("amphora")
	path := "pools/" + m.pool + "/members"
	one := object{"member": object{"address": "10.6.0.40", "protocol_port": 1, "weight": 7}}
	id := env.must(201, "POST", path, one)["id"].(string)
	env.refused(409, "Another member on this pool is already using ip 10.6.0.40 on protocol_port 1", "POST", path, one)
	got := env.must(200, "PUT", path+"/"+id, object{"member": object{"name": "renamed"}})
	if got["name"] != "renamed" || got["weight"] != 7.0 || got["provisioning_status"] != "PENDING_UPDATE" {
		t.Errorf("after PUT: %v", got)
	}
	env.refused(400, "Unknown attribute for argument member_.member: address", "PUT", path+"/"+id, object{"member": object{"address": "10.6.0.41"}})
	env.must(204, "DELETE", path+"/"+id, nil)
	env.refused(404, "Member "+id+" not found.", "GET", path+"/"+id, nil)
}

func TestOVN_TakesOrRefusesWholeBatch(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	m := env.create("ovn")
	path := "pools/" + m.pool + "/members"
	env.refused(501, "OVN provider does not support monitor options, so following members skipped", "PUT", path,
		object{"members": []object{{"address": "fd00:6::9", "protocol_port": 1, "subnet_id": env.subnet6.ID}}})
	env.refused(501, "Subnet is required", "PUT", path, batchOf("10.6.0.50", "192.0.2.1"))
	env.must(202, "PUT", path, batchOf("10.6.0.50"))
	env.must(202, "PUT", path, object{"members": []object{{"address": "192.0.2.1", "protocol_port": 1, "subnet_id": env.subnet.ID}}})
	if got := env.members(m.pool); got != "192.0.2.1:1 ACTIVE 1" {
		t.Errorf("members %s", got)
	}
}
