package simulator_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// The required size of a simulated cloud: 1.2 million members.
const (
	manyBalancers   = 2000
	poolsOfEach     = 3
	membersOfEach   = 200
	loadBalancerURL = "/load-balancer/v2.0/lbaas"
)

// BenchmarkListsOfALargeCloud measures the time of lists over HTTP in a cloud of 2,000 load
// balancers with 3 pools of 200 members each. It also reports the memory of that cloud.
func BenchmarkListsOfALargeCloud(b *testing.B) {
	cloud, err := simulator.Start(simulator.Options{Profile: "instant"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(cloud.Close)
	cloud.LimitQuota("port", -1)
	client := newTalker(b, cloud)
	pool := ""
	for i := range manyBalancers {
		pool = client.create(b, i)
	}
	if got := len(client.get(b, "/loadbalancers?fields=id&limit=1000")["loadbalancers"].([]any)); got != 1000 {
		b.Fatalf("%d load balancers on the first page", got)
	}
	for _, one := range []struct{ name, path string }{
		{"1000 load balancers", "/loadbalancers?limit=1000"},
		{"1000 load balancers, 3 fields", "/loadbalancers?limit=1000&fields=id&fields=updated_at&fields=provisioning_status"},
		{"those pending", "/loadbalancers?provisioning_status=PENDING_UPDATE&fields=id"},
		{"one by name", "/loadbalancers?name=lb-1999"},
		{"those of a cluster", "/loadbalancers?tags=cluster&fields=id&limit=1000"},
		{"1000 listeners", "/listeners?limit=1000"},
		{"1000 pools", "/pools?limit=1000"},
		{"200 members", "/pools/" + pool + "/members"},
	} {
		b.Run(one.name, func(b *testing.B) {
			for b.Loop() {
				client.fetch(b, http.MethodGet, one.path, "")
			}
		})
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.Logf("%d load balancers, %d members: %d MB", manyBalancers, manyBalancers*poolsOfEach*membersOfEach, memory.HeapAlloc>>20)
}

// talker sends requests with a token.
type talker struct{ url, token, subnet string }

func newTalker(b *testing.B, cloud *simulator.Cloud) *talker {
	b.Helper()
	who := cloud.Account
	body := fmt.Sprintf(`{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":%q,"password":%q,"domain":{"name":"Default"}}}},`+
		`"scope":{"project":{"id":%q}}}}`, who.UserName, who.Password, who.ProjectID)
	answer, err := http.Post(cloud.AuthURL()+"/auth/tokens", "application/json", strings.NewReader(body))
	if err != nil || answer.StatusCode != http.StatusCreated {
		b.Fatal(answer, err)
	}
	defer answer.Body.Close()
	return &talker{cloud.URL() + loadBalancerURL, answer.Header.Get("X-Subject-Token"), cloud.Subnet.ID}
}

func (t *talker) fetch(b *testing.B, method, path, body string) []byte {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), method, t.url+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", t.token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		b.Fatalf("%s %s: %d %.300s %v", method, path, answer.StatusCode, text, err)
	}
	return text
}

func (t *talker) get(b *testing.B, path string) map[string]any {
	b.Helper()
	var answer map[string]any
	if err := json.Unmarshal(t.fetch(b, http.MethodGet, path, ""), &answer); err != nil {
		b.Fatal(err)
	}
	return answer
}

// create creates one load balancer with all its parts and returns one of its pools.
func (t *talker) create(b *testing.B, number int) (pool string) {
	b.Helper()
	var members, listeners []string
	for i := range membersOfEach {
		members = append(members, fmt.Sprintf(`{"address":"10.1.%d.%d","protocol_port":30080}`, i/250, 1+i%250))
	}
	for i := range poolsOfEach {
		listeners = append(listeners, fmt.Sprintf(`{"name":"l%d","protocol":"TCP","protocol_port":%d,"default_pool":{"name":"p%d",`+
			`"protocol":"TCP","lb_algorithm":"ROUND_ROBIN","members":[%s]}}`, i, 80+i, i, strings.Join(members, ",")))
	}
	text := t.fetch(b, http.MethodPost, "/loadbalancers", fmt.Sprintf(
		`{"loadbalancer":{"name":"lb-%d","vip_subnet_id":%q,"tags":["cluster","lb-%d"],"listeners":[%s]}}`,
		number, t.subnet, number, strings.Join(listeners, ",")))
	var made struct {
		LoadBalancer struct{ Pools []struct{ ID string } }
	}
	if err := json.Unmarshal(text, &made); err != nil || len(made.LoadBalancer.Pools) != poolsOfEach {
		b.Fatalf("%d pools, %v", len(made.LoadBalancer.Pools), err)
	}
	return made.LoadBalancer.Pools[0].ID
}
