package octavia

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// answered returns the answer to the creation of a load balancer with so many members.
func answered(members int) string {
	var all []string
	for i := range members {
		all = append(all, fmt.Sprintf(`{"id": "m%d", "name": "node-%d", "address": "10.0.0.%d", "protocol_port": 30080, "weight": 1,
			"provisioning_status": "PENDING_CREATE", "created_at": "2026-01-01T00:00:00", "updated_at": null, "tags": []}`, i, i, i))
	}
	return `{"loadbalancer": {"id": "lb", "name": "web", "vip_port_id": "port", "provisioning_status": "PENDING_CREATE", "vip_sg_ids": ["sg"],
		"created_at": "2026-01-01T00:00:00", "updated_at": "2026-01-01T00:00:07", "listeners": [{"id": "l", "default_pool_id": "p"}],
		"pools": [{"id": "p", "name": "pool", "healthmonitor": {"id": "hm", "type": "TCP"}, "members": [` + strings.Join(all, ",") + `]}]}}`
}

// leastAllocs returns the fewest allocations of many runs. Decoders and encoders are in a
// sync.Pool: the race detector drops one in four, and a garbage collection all of them.
func leastAllocs(run func()) float64 {
	least := testing.AllocsPerRun(1, run)
	for range 50 {
		least = min(least, testing.AllocsPerRun(1, run))
	}
	return least
}

// Of the answer to a creation, the IDs of members are read, and the settings of all other objects.
func TestLoadBalancer_ReadsIDsOfMembersInAnswerToItsCreation(t *testing.T) {
	t.Parallel()
	var lb LoadBalancer
	if err := rest.Decode([]byte(answered(3)), &objectAnswer{"loadbalancer", &lb}); err != nil {
		t.Fatal(err)
	}
	if lb.ID != "lb" || lb.VIPPortID != "port" || !lb.UpdatedAt.Equal(time.Date(2026, 1, 1, 0, 0, 7, 0, time.UTC)) || len(lb.VIPSecurityGroupIDs) != 1 ||
		len(lb.Listeners) != 1 || len(lb.Pools) != 1 || lb.Pools[0].Name != "pool" || lb.Pools[0].Monitor.ID != "hm" || len(lb.Pools[0].Members) != 3 || lb.Pools[0].Members[2].ID != "m2" {
		t.Fatalf("read as %+v", lb)
	}
}

func TestTimestamp_ReadsBothFormsOfATime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		`"2026-01-01T00:00:07"`:          time.Date(2026, 1, 1, 0, 0, 7, 0, time.UTC),
		`"2026-01-01T00:00:07Z"`:         time.Date(2026, 1, 1, 0, 0, 7, 0, time.UTC),
		`"2026-01-01T00:00:07.25+00:00"`: time.Date(2026, 1, 1, 0, 0, 7, 250e6, time.UTC),
		`"2026-01-01T00:00:0\u0037"`:     time.Date(2026, 1, 1, 0, 0, 7, 0, time.UTC),
		`null`:                           {},
		`""`:                             {},
	} {
		var lb LoadBalancer
		if err := json.Unmarshal([]byte(`{"updated_at": `+text+`}`), &lb); err != nil || !lb.UpdatedAt.Equal(want) {
			t.Errorf("%s is read as %v, %v", text, lb.UpdatedAt, err)
		}
	}
	for _, text := range []string{`"yesterday"`, `7`, `{}`, `[]`, `true`} {
		var lb LoadBalancer
		if err := json.Unmarshal([]byte(`{"updated_at": `+text+`}`), &lb); err == nil {
			t.Errorf("%s, which is no time, is read as one", text)
		}
	}
}
