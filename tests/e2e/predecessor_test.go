package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// recorded is what cloud-provider-openstack left in a real OpenStack, by collection, and
// in a real API server.
type recorded struct {
	LoadBalancers []map[string]any            `json:"loadbalancers"`
	Listeners     []map[string]any            `json:"listeners"`
	Pools         []map[string]any            `json:"pools"`
	Monitors      []map[string]any            `json:"healthmonitors"`
	Members       map[string][]map[string]any `json:"members"`
	FloatingIPs   []map[string]any            `json:"floatingips"`
	Groups        []map[string]any            `json:"security_groups"`

	Services []corev1.Service `json:"services"`
	Nodes    []corev1.Node    `json:"nodes"`
}

func readRecorded(t *testing.T) (r recorded) {
	t.Helper()
	for _, name := range []string{"openstack.json", "kubernetes.json"} {
		text, err := os.ReadFile(filepath.Join("../../pkg/loadbalancer/testdata/peer-state", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// one finds the only object with that value.
func one(t *testing.T, all []map[string]any, key string, value any) map[string]any {
	t.Helper()
	found := slices.DeleteFunc(slices.Clone(all), func(o map[string]any) bool { return o[key] != value })
	if len(found) != 1 {
		t.Fatalf("%d recorded objects have %s %v", len(found), key, value)
	}
	return found[0]
}

// asked judges that an object has all that a request asks for, but for these keys.
func asked(t *testing.T, request any, object map[string]any, but ...string) {
	t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(but, key) && !reflect.DeepEqual(object[key], values[key]) {
			t.Errorf("%s: %s is %v, recorded was %v", object["name"], key, values[key], object[key])
		}
	}
}

// What the suite lets the predecessor make is what the real one made of these Services:
// the scenarios that take it over stand for a switch.
func TestPredecessor_MakesWhatWasRecordedOfRealOne(t *testing.T) {
	t.Parallel()
	r := readRecorded(t)
	web := one(t, r.LoadBalancers, "name", "kube_service_rig_default_web-1")
	p := predecessor{
		ClusterName: "rig", Provider: "amphora", Method: "ROUND_ROBIN", CreateMonitor: true,
		Network: web["vip_network_id"].(string), Subnet: web["vip_subnet_id"].(string),
	}
	for _, svc := range r.Services {
		request := p.loadBalancer(&svc, r.Nodes)
		if svc.Name != "web-shared" {
			but := []string{"listeners"}
			if svc.Name == "web-1" {
				but = append(but, "tags") // the other Service's is there too
			}
			asked(t, request, one(t, r.LoadBalancers, "name", request.Name), but...)
		}
		for n, listener := range request.Listeners {
			asked(t, listener, one(t, r.Listeners, "name", listener.Name), "default_pool")
			pool := one(t, r.Pools, "name", listener.DefaultPool.Name)
			asked(t, listener.DefaultPool, pool, "members", "healthmonitor")
			monitor := p.monitor(&svc, n)
			asked(t, monitor, one(t, r.Monitors, "name", monitor.Name))
			for _, member := range listener.DefaultPool.Members {
				asked(t, member, one(t, r.Members[pool["id"].(string)], "name", member.Name))
			}
		}
		sameGroup(t, p, &svc, one(t, r.Groups, "name", p.groupName(&svc)))
		if address := svc.Status.LoadBalancer.Ingress[0].IP; !reflect.DeepEqual(p.status(&svc, address), svc.Status.LoadBalancer) {
			t.Errorf("%s: the status is %v, recorded was %v", svc.Name, p.status(&svc, address), svc.Status.LoadBalancer)
		}
	}
	for _, name := range []string{"web-1", "local"} {
		svc := r.Services[slices.IndexFunc(r.Services, func(s corev1.Service) bool { return s.Name == name })]
		one(t, r.FloatingIPs, "description", p.floatingIPDescription(&svc))
	}
}

func sameGroup(t *testing.T, p predecessor, svc *corev1.Service, group map[string]any) {
	t.Helper()
	if have := p.groupDescription(svc); have != group["description"] {
		t.Errorf("%s: the group's description is %q, recorded was %q", svc.Name, have, group["description"])
	}
	want := map[opening]bool{}
	for _, rule := range group["security_group_rules"].([]any) {
		rule := rule.(map[string]any)
		want[opening{rule["protocol"].(string), int(rule["port_range_min"].(float64)), rule["remote_ip_prefix"].(string)}] = true
	}
	have := map[opening]bool{}
	for _, o := range p.openings(svc, "10.6.0.0/16") {
		have[o] = true
	}
	if !maps.Equal(have, want) {
		t.Errorf("%s: the group opens %v, recorded was %v", svc.Name, have, want)
	}
}
