package octavia_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
)

// TestBodies_HaveWhatIsNotZero compares bodies of requests as JSON.
func TestBodies_HaveWhatIsNotZero(t *testing.T) {
	t.Parallel()
	pool := func(name string, seconds int) octavia.Pool {
		return octavia.Pool{Name: name, Protocol: "UDP", Algorithm: "ROUND_ROBIN", Persistence: octavia.SessionPersistence{Type: "SOURCE_IP", Timeout: seconds}}
	}
	members := []octavia.Member{
		{Name: "node", Address: "192.0.2.1", Port: 80, SubnetID: "s", MonitorPort: 81},
		{Address: "192.0.2.2", Port: 80, Weight: new(0), AdminStateUp: new(false), Backup: true},
	}
	monitor := octavia.HealthMonitor{Type: "HTTP", Delay: 5, Timeout: 3, MaxRetries: 1, HTTPVersion: 1.1, DomainName: "www.example.com"}
	monitored := pool("a", 60)
	monitored.Monitor = &monitor
	const memberBodies = `[{"name":"node","address":"192.0.2.1","protocol_port":80,"subnet_id":"s","monitor_port":81},
		{"address":"192.0.2.2","protocol_port":80,"weight":0,"admin_state_up":false,"backup":true}]`
	const monitorBody = `{"type":"HTTP","delay":5,"timeout":3,"max_retries":1,"http_version":1.1,"domain_name":"www.example.com"}`
	const poolBody = `"protocol":"UDP","lb_algorithm":"ROUND_ROBIN"`
	for what, test := range map[string]struct {
		send func(*octavia.Client) error
		want string
	}{
		"a load balancer with pools": {
			func(c *octavia.Client) error {
				_, err := c.CreateLoadBalancer(t.Context(), octavia.LoadBalancer{Name: "lb", VIPSubnetID: "s", VIPSecurityGroupIDs: []string{"g"}, Listeners: []octavia.Listener{
					{Protocol: "UDP", Port: 1, ConnectionLimit: new(0), DefaultPool: &octavia.NewPool{Pool: monitored, Members: members}},
					{Protocol: "UDP", Port: 2, AllowedCIDRs: []string{}, DefaultPool: &octavia.NewPool{Pool: pool("b", 0)}},
				}})
				return err
			},
			`{"loadbalancer":{"name":"lb","vip_subnet_id":"s","vip_sg_ids":["g"],"listeners":[
				{"protocol":"UDP","protocol_port":1,"connection_limit":0,"default_pool":{"name":"a",` + poolBody + `,
					"session_persistence":{"type":"SOURCE_IP","persistence_timeout":60},"members":` + memberBodies + `,"healthmonitor":` + monitorBody + `}},
				{"protocol":"UDP","protocol_port":2,"default_pool":{"name":"b",` + poolBody + `,"session_persistence":{"type":"SOURCE_IP"}}}]}}`,
		},
		"a load balancer that changes": {
			func(c *octavia.Client) error {
				return c.UpdateLoadBalancer(t.Context(), "lb", octavia.Changes{"vip_qos_policy_id": nil, "vip_sg_ids": []string{}})
			},
			`{"loadbalancer":{"vip_qos_policy_id":null,"vip_sg_ids":[]}}`,
		},
		"a listener": {
			func(c *octavia.Client) error {
				_, err := c.CreateListener(t.Context(), octavia.Listener{LoadBalancerID: "lb", Protocol: "TCP", Port: 80, DefaultPoolID: "p", TimeoutClientData: new(0)})
				return err
			},
			`{"listener":{"loadbalancer_id":"lb","protocol":"TCP","protocol_port":80,"default_pool_id":"p","timeout_client_data":0}}`,
		},
		"a listener that changes": {
			func(c *octavia.Client) error {
				_, err := c.UpdateListener(t.Context(), "l", octavia.Changes{"connection_limit": 5, "timeout_client_data": nil})
				return err
			},
			`{"listener":{"connection_limit":5,"timeout_client_data":null}}`,
		},
		"a listener that is brought back": {
			func(c *octavia.Client) error { _, err := c.UpdateListener(t.Context(), "l", nil); return err }, `{"listener":{}}`,
		},
		"a pool": {
			func(c *octavia.Client) error { _, err := c.CreatePool(t.Context(), pool("p", 60)); return err },
			`{"pool":{"name":"p",` + poolBody + `,"session_persistence":{"type":"SOURCE_IP","persistence_timeout":60}}}`,
		},
		"a pool that changes": {
			func(c *octavia.Client) error {
				return c.UpdatePool(t.Context(), "p", octavia.Changes{"session_persistence": octavia.SessionPersistence{Type: "SOURCE_IP", Timeout: 60}})
			},
			`{"pool":{"session_persistence":{"type":"SOURCE_IP","persistence_timeout":60}}}`,
		},
		"a pool that is brought back": {
			func(c *octavia.Client) error { return c.UpdatePool(t.Context(), "p", octavia.Changes{}) }, `{"pool":{}}`,
		},
		"a health monitor": {
			func(c *octavia.Client) error { _, err := c.CreateMonitor(t.Context(), monitor); return err },
			`{"healthmonitor":` + monitorBody + `}`,
		},
		"members": {
			func(c *octavia.Client) error { return c.SetMembers(t.Context(), "p", members, true) }, `{"members":` + memberBodies + `}`,
		},
		"no members": { // Octavia answers 500 to null
			func(c *octavia.Client) error { return c.SetMembers(t.Context(), "p", nil, false) }, `{"members":[]}`,
		},
		"a member": {
			func(c *octavia.Client) error {
				_, err := c.AddMember(t.Context(), "p", octavia.Member{Address: "192.0.2.1", Port: 80})
				return err
			},
			`{"member":{"address":"192.0.2.1","protocol_port":80}}`,
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			cloud := fakecloud.New(t)
			cloud.Services = func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusAccepted)
				_, _ = io.WriteString(w, "{}")
			}
			client := simulated.SignIn(t, &config.Config{Global: cloud.Config()}, openstack.SessionOptions{}).Octavia()
			if err := test.send(client); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parsed(t, test.want), parsed(t, cloud.Requests()[0].Body)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPool_ReadsPersistenceTimeout(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`{"id":"p","session_persistence":{"type":"SOURCE_IP","persistence_timeout":60}}`:   60,
		`{"id":"p","session_persistence":{"type":"SOURCE_IP","persistence_timeout":null}}`: 0,
		`{"id":"p","session_persistence":null}`:                                            0,
	} {
		var pool octavia.Pool
		if err := json.Unmarshal([]byte(text), &pool); err != nil {
			t.Fatal(err)
		}
		if pool.ID != "p" || pool.Persistence.Timeout != want {
			t.Errorf("%s is read as %+v", text, pool.Persistence)
		}
	}
}

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
