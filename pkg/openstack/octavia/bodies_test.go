package octavia

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
)

// TestBodies_HaveFieldsThatGophercloudLacks compares bodies of requests as JSON.
func TestBodies_HaveFieldsThatGophercloudLacks(t *testing.T) {
	t.Parallel()
	sticky := &pools.SessionPersistence{Type: "SOURCE_IP"}
	limit := 5
	pool := func(name string) *pools.CreateOpts {
		return &pools.CreateOpts{Name: name, Protocol: "UDP", LBMethod: "ROUND_ROBIN", Persistence: sticky}
	}
	for what, test := range map[string]struct {
		body func() (map[string]any, error)
		want string
	}{
		"a load balancer with pools": {
			LoadBalancerCreate{
				CreateOpts: loadbalancers.CreateOpts{Name: "lb", VipSubnetID: "s", Listeners: []listeners.CreateOpts{
					{Protocol: "UDP", ProtocolPort: 1, DefaultPool: pool("a")}, {Protocol: "UDP", ProtocolPort: 2, DefaultPool: pool("b")},
				}},
				PersistenceTimeouts: map[string]int{"a": 60, "b": 0},
			}.ToLoadBalancerCreateMap,
			`{"loadbalancer":{"name":"lb","vip_subnet_id":"s","listeners":[
				{"protocol":"UDP","protocol_port":1,"default_pool":{"name":"a","protocol":"UDP","lb_algorithm":"ROUND_ROBIN","session_persistence":{"type":"SOURCE_IP","persistence_timeout":60}}},
				{"protocol":"UDP","protocol_port":2,"default_pool":{"name":"b","protocol":"UDP","lb_algorithm":"ROUND_ROBIN","session_persistence":{"type":"SOURCE_IP"}}}]}}`,
		},
		"a pool": {
			PoolCreate{CreateOpts: *pool("p"), PersistenceTimeout: 60}.ToPoolCreateMap,
			`{"pool":{"name":"p","protocol":"UDP","lb_algorithm":"ROUND_ROBIN","session_persistence":{"type":"SOURCE_IP","persistence_timeout":60}}}`,
		},
		"a pool that changes": {
			PoolUpdate{UpdateOpts: pools.UpdateOpts{Persistence: sticky}, PersistenceTimeout: 60}.ToPoolUpdateMap,
			`{"pool":{"session_persistence":{"type":"SOURCE_IP","persistence_timeout":60}}}`,
		},
		"a pool without its timeout": {
			PoolUpdate{UpdateOpts: pools.UpdateOpts{Persistence: sticky}, ClearTimeout: true}.ToPoolUpdateMap,
			`{"pool":{"session_persistence":{"type":"SOURCE_IP","persistence_timeout":null}}}`,
		},
		"a pool without persistence": {
			PoolUpdate{UpdateOpts: pools.UpdateOpts{Persistence: &pools.SessionPersistence{}}, ClearTimeout: true}.ToPoolUpdateMap,
			`{"pool":{"session_persistence":null}}`,
		},
		"a pool that is brought back": {PoolUpdate{}.ToPoolUpdateMap, `{"pool":{}}`},
		"a listener": {
			ListenerUpdate{UpdateOpts: listeners.UpdateOpts{ConnLimit: &limit}, Reset: []string{"timeout_client_data"}}.ToListenerUpdateMap,
			`{"listener":{"connection_limit":5,"timeout_client_data":null}}`,
		},
		"a listener that is brought back": {ListenerUpdate{}.ToListenerUpdateMap, `{"listener":{}}`},
	} {
		body, err := test.body()
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if diff := cmp.Diff(parsed(t, test.want), parsed(t, string(marshalled(t, body)))); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

func TestPool_ReadsPersistenceTimeout(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`{"id":"p","session_persistence":{"type":"SOURCE_IP","persistence_timeout":60}}`:   60,
		`{"id":"p","session_persistence":{"type":"SOURCE_IP","persistence_timeout":null}}`: 0,
		`{"id":"p","session_persistence":null}`:                                            0,
	} {
		var pool Pool
		if err := json.Unmarshal([]byte(text), &pool); err != nil {
			t.Fatal(err)
		}
		if pool.ID != "p" || pool.Persistence.Timeout != want {
			t.Errorf("%s is read as %+v", text, pool.Persistence)
		}
	}
}

func marshalled(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
