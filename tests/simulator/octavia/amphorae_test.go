package octavia_test

import (
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// asAdmin makes the next calls an administrator's.
func (w *world) asAdmin() {
	w.caller.Roles, w.caller.ProjectID = []string{"admin"}, "admin-project"
}

// amphora is the only one of a load balancer.
func (w *world) amphora(lb string) object {
	w.t.Helper()
	all := w.call("GET", "/v2.0/octavia/amphorae?loadbalancer_id="+lb, nil).json["amphorae"].([]any)
	if len(all) != 1 {
		w.t.Fatalf("%d amphorae", len(all))
	}
	return all[0].(object)
}

func TestAmphoraeAreForAdministrators(t *testing.T) {
	t.Parallel()
	w := newWorld(t, octavia.Options{})
	m := w.create("amphora")
	w.refused(403, "Policy does not allow", "GET", "/v2.0/octavia/amphorae", nil)
	w.asAdmin()
	amphora := w.amphora(m.id)
	path := "/v2.0/octavia/amphorae/" + amphora["id"].(string)
	if shown := w.get(path); shown["ha_port_id"] != m.port || shown["status"] != "ALLOCATED" || shown["vrrp_ip"] == shown["ha_ip"] {
		t.Errorf("amphora %v", shown)
	}
	w.refused(404, "Amphora x not found.", "GET", "/v2.0/octavia/amphorae/x", nil)
	w.refused(409, "Amphora "+amphora["id"].(string)+" is immutable", "DELETE", path, nil)
	if got := w.call("PUT", path+"/config", nil); got.status != 202 {
		t.Errorf("config: %d %s", got.status, got.text)
	}
}

func TestFailoverBringsABrokenLoadBalancerBackOnAnotherMachine(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(m made, amphora string) string{
		"load balancer": func(m made, _ string) string { return "loadbalancers/" + m.id + "/failover" },
		"amphora":       func(_ made, amphora string) string { return "/v2.0/octavia/amphorae/" + amphora + "/failover" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, octavia.Options{Delays: slow()})
			m := w.create("amphora")
			if err := w.SetProvisioningStatus(m.id, octavia.Error); err != nil {
				t.Fatal(err)
			}
			w.asAdmin()
			before := w.amphora(m.id)["id"].(string)
			if got := w.call("PUT", path(m, before), nil); got.status != 202 {
				t.Fatalf("%d %s", got.status, got.text)
			}
			w.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
			w.refused(409, "", "PUT", path(m, before), nil)
			w.clock.Step(time.Hour)
			w.wantStatus("loadbalancers/"+m.id, "ACTIVE")
			if after := w.amphora(m.id)["id"]; after == before {
				t.Error("the machine is the same")
			}
		})
	}
}

func TestStatisticsAreSummedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, octavia.Options{Statistics: func(string) octavia.Statistics {
		return octavia.Statistics{BytesIn: 1, BytesOut: 2, ActiveConnections: 3, TotalConnections: 4, RequestErrors: 5}
	}})
	m := w.create("amphora")
	w.must(201, "POST", "listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": "UDP", "protocol_port": 81}})
	w.clock.Step(time.Hour)
	for path, times := range map[string]float64{"loadbalancers/" + m.id: 2, "listeners/" + m.listener: 1} {
		stats := w.get(path + "/stats")
		for i, key := range []string{"bytes_in", "bytes_out", "active_connections", "total_connections", "request_errors"} {
			if want := times * float64(i+1); stats[key] != want {
				t.Errorf("%s of %s: %v, want %v", key, path, stats[key], want)
			}
		}
	}
	w.refused(404, "Listener x not found.", "GET", "listeners/x/stats", nil)
	w.asAdmin()
	id := w.amphora(m.id)["id"].(string)
	each := w.call("GET", "/v2.0/octavia/amphorae/"+id+"/stats", nil).json["amphora_stats"].([]any)
	if len(each) != 2 || each[0].(object)["id"] != id {
		t.Errorf("statistics of the amphora: %v", each)
	}
}
