package octavia_test

import (
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// A vendor's driver takes what it cannot do, and it ends in ERROR.
func TestVendor_EndsInErrorForWhatItCannotDo(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{
		Providers: []string{"f5"},
		Vendors: map[string]octavia.Vendor{"f5": {
			Algorithms: []string{"ROUND_ROBIN"}, Protocols: []string{"TCP"}, MonitorTypes: []string{"TCP"},
		}},
	})
	m := env.create("f5")
	for _, path := range []string{"listeners/" + m.listener, "pools/" + m.pool, "healthmonitors/" + m.monitor} {
		env.wantStatus(path, "ACTIVE")
	}
	listener := env.must(201, "POST", "listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": "UDP", "protocol_port": 81}})
	env.clock.Step(time.Hour)
	env.wantStatus("listeners/"+listener["id"].(string), "ERROR")
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	env.must(200, "PUT", "pools/"+m.pool, object{"pool": object{"lb_algorithm": "SOURCE_IP"}})
	env.clock.Step(time.Hour)
	env.wantStatus("pools/"+m.pool, "ERROR")
	env.must(200, "PUT", "pools/"+m.pool, object{"pool": object{"lb_algorithm": "ROUND_ROBIN"}})
	env.clock.Step(time.Hour)
	env.wantStatus("pools/"+m.pool, "ACTIVE")
}

func TestVendor_TakesOneObjectAtATime(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{
		Providers: []string{"simple"}, Vendors: map[string]octavia.Vendor{"simple": {NoFullCreate: true, NoBatch: true}},
	})
	env.refused(501, "Provider 'simple' does not support a requested action", "POST", "loadbalancers", env.balancer("simple", nil))
	lb := env.must(201, "POST", "loadbalancers", object{"loadbalancer": object{"vip_subnet_id": env.subnet.ID}})
	env.clock.Step(time.Hour)
	pool := env.must(201, "POST", "pools", object{"pool": object{
		"loadbalancer_id": lb["id"], "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN",
	}})["id"].(string)
	env.clock.Step(time.Hour)
	member := object{"address": "10.6.0.10", "protocol_port": 30080}
	env.refused(501, "does not support a requested action", "PUT", "pools/"+pool+"/members", object{"members": []object{member}})
	env.wantStatus("loadbalancers/"+lb["id"].(string), "ACTIVE")
	env.must(201, "POST", "pools/"+pool+"/members", object{"member": member})
}
