package octavia_test

import (
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// A vendor's driver takes what it cannot do, and it ends in ERROR.
func TestVendorsFailLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, octavia.Options{
		Providers: []string{"f5"},
		Vendors: map[string]octavia.Vendor{"f5": {
			Algorithms: []string{"ROUND_ROBIN"}, Protocols: []string{"TCP"}, MonitorTypes: []string{"TCP"},
		}},
	})
	m := w.create("f5")
	for _, path := range []string{"listeners/" + m.listener, "pools/" + m.pool, "healthmonitors/" + m.monitor} {
		w.wantStatus(path, "ACTIVE")
	}
	listener := w.must(201, "POST", "listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": "UDP", "protocol_port": 81}})
	w.clock.Step(time.Hour)
	w.wantStatus("listeners/"+listener["id"].(string), "ERROR")
	w.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	w.must(200, "PUT", "pools/"+m.pool, object{"pool": object{"lb_algorithm": "SOURCE_IP"}})
	w.clock.Step(time.Hour)
	w.wantStatus("pools/"+m.pool, "ERROR")
	w.must(200, "PUT", "pools/"+m.pool, object{"pool": object{"lb_algorithm": "ROUND_ROBIN"}})
	w.clock.Step(time.Hour)
	w.wantStatus("pools/"+m.pool, "ACTIVE")
}

func TestVendorsThatTakeOneObjectAtATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, octavia.Options{
		Providers: []string{"simple"}, Vendors: map[string]octavia.Vendor{"simple": {NoFullCreate: true, NoBatch: true}},
	})
	w.refused(501, "Provider 'simple' does not support a requested action", "POST", "loadbalancers", w.balancer("simple", nil))
	lb := w.must(201, "POST", "loadbalancers", object{"loadbalancer": object{"vip_subnet_id": w.subnet.ID}})
	w.clock.Step(time.Hour)
	pool := w.must(201, "POST", "pools", object{"pool": object{
		"loadbalancer_id": lb["id"], "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN",
	}})["id"].(string)
	w.clock.Step(time.Hour)
	member := object{"address": "10.6.0.10", "protocol_port": 30080}
	w.refused(501, "does not support a requested action", "PUT", "pools/"+pool+"/members", object{"members": []object{member}})
	w.wantStatus("loadbalancers/"+lb["id"].(string), "ACTIVE")
	w.must(201, "POST", "pools/"+pool+"/members", object{"member": member})
}
