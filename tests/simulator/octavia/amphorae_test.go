package octavia_test

import (
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// asAdmin makes the next calls an administrator's.
func (env *environment) asAdmin() {
	env.caller.Roles, env.caller.ProjectID = []string{"admin"}, "admin-project"
}

// amphora is the only one of a load balancer.
func (env *environment) amphora(lb string) object {
	env.t.Helper()
	all := env.call("GET", "/v2.0/octavia/amphorae?loadbalancer_id="+lb, nil).json["amphorae"].([]any)
	if len(all) != 1 {
		env.t.Fatalf("%d amphorae", len(all))
	}
	return all[0].(object)
}

func TestAmphorae_AreForAdministrators(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	m := env.create("amphora")
	env.refused(403, "Policy does not allow", "GET", "/v2.0/octavia/amphorae", nil)
	env.asAdmin()
	amphora := env.amphora(m.id)
	path := "/v2.0/octavia/amphorae/" + amphora["id"].(string)
	if shown := env.get(path); shown["ha_port_id"] != m.port || shown["status"] != "ALLOCATED" || shown["vrrp_ip"] == shown["ha_ip"] {
		t.Errorf("amphora %v", shown)
	}
	env.refused(404, "Amphora x not found.", "GET", "/v2.0/octavia/amphorae/x", nil)
	env.refused(409, "Amphora "+amphora["id"].(string)+" is immutable", "DELETE", path, nil)
	if got := env.call("PUT", path+"/config", nil); got.status != 202 {
		t.Errorf("config: %d %s", got.status, got.text)
	}
}

func TestFailover_RepairsLoadBalancerOnAnotherMachine(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(m made, amphora string) string{
		"load balancer": func(m made, _ string) string { return "loadbalancers/" + m.id + "/failover" },
		"amphora":       func(_ made, amphora string) string { return "/v2.0/octavia/amphorae/" + amphora + "/failover" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, octavia.Options{Delays: slow()})
			m := env.create("amphora")
			if err := env.SetProvisioningStatus(m.id, octavia.Error); err != nil {
				t.Fatal(err)
			}
			env.asAdmin()
			before := env.amphora(m.id)["id"].(string)
			if got := env.call("PUT", path(m, before), nil); got.status != 202 {
				t.Fatalf("%d %s", got.status, got.text)
			}
			env.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
			env.refused(409, "", "PUT", path(m, before), nil)
			env.clock.Step(time.Hour)
			env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
			if after := env.amphora(m.id)["id"]; after == before {
				t.Error("the machine is the same")
			}
		})
	}
}

func TestStatistics_AreSummedUp(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Statistics: func(string) octavia.Statistics {
		return octavia.Statistics{BytesIn: 1, BytesOut: 2, ActiveConnections: 3, TotalConnections: 4, RequestErrors: 5}
	}})
	m := env.create("amphora")
	env.must(201, "POST", "listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": "UDP", "protocol_port": 81}})
	env.clock.Step(time.Hour)
	for path, times := range map[string]float64{"loadbalancers/" + m.id: 2, "listeners/" + m.listener: 1} {
		stats := env.get(path + "/stats")
		for i, key := range []string{"bytes_in", "bytes_out", "active_connections", "total_connections", "request_errors"} {
			if want := times * float64(i+1); stats[key] != want {
				t.Errorf("%s of %s: %v, want %v", key, path, stats[key], want)
			}
		}
	}
	env.refused(404, "Listener x not found.", "GET", "listeners/x/stats", nil)
	env.asAdmin()
	id := env.amphora(m.id)["id"].(string)
	each := env.call("GET", "/v2.0/octavia/amphorae/"+id+"/stats", nil).json["amphora_stats"].([]any)
	if len(each) != 2 || each[0].(object)["id"] != id {
		t.Errorf("statistics of the amphora: %v", each)
	}
}
