package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// listed has five of everything in one project, and the calls that list them.
type listed struct {
	cloud *simulator.Cloud
	lists map[string]func(context.Context) (int, error)
}

// fiveOfEverything fills a cloud with pages of the given sizes.
func fiveOfEverything(t *testing.T, octaviaPage, neutronPage int) listed {
	t.Helper()
	cloud, conf := simulated.Cloud(t, simulator.Options{
		Octavia: func(o *simoctavia.Options) { o.PageLimit = octaviaPage },
		Neutron: func(o *simneutron.Options) { o.MaxPageSize = neutronPage },
	})
	session := simulated.SignIn(t, conf, openstack.SessionOptions{})
	ctx, o, n := context.Background(), session.Octavia(), session.Neutron()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var lb *octavia.LoadBalancer
	var pool *octavia.Pool
	var group *neutron.SecurityGroup
	var ports []string
	for i := range 5 {
		created, err := o.CreateLoadBalancer(ctx, octavia.LoadBalancer{Name: fmt.Sprintf("lb-%d", i), VIPSubnetID: cloud.Subnet.ID})
		must(err)
		lb = created
		ports = append(ports, lb.VIPPortID)
		group, err = n.CreateSecurityGroup(ctx, "same", "")
		must(err)
		_, err = n.CreateFloatingIP(ctx, floatingips.CreateOpts{FloatingNetworkID: cloud.ExternalNetwork.ID, Description: "same"})
		must(err)
	}
	var members []octavia.Member
	var wanted []rules.CreateOpts
	for i := range 5 {
		must(cloud.WaitSettled(ctx))
		_, err := o.CreateListener(ctx, octavia.Listener{
			LoadBalancerID: lb.ID, Protocol: "TCP", Port: 80 + i, Tags: []string{"same"}})
		must(err)
		must(cloud.WaitSettled(ctx))
		pool, err = o.CreatePool(ctx, octavia.Pool{
			LoadBalancerID: lb.ID, Protocol: "TCP", Algorithm: "ROUND_ROBIN", Tags: []string{"same"}})
		must(err)
		must(cloud.WaitSettled(ctx))
		_, err = o.CreateMonitor(ctx, octavia.HealthMonitor{PoolID: pool.ID, Type: "TCP", Delay: 5, Timeout: 3, MaxRetries: 1, Tags: []string{"same"}})
		must(err)
		members = append(members, octavia.Member{Address: fmt.Sprintf("127.100.0.%d", 20+i), Port: 80})
		wanted = append(wanted, rules.CreateOpts{
			Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP,
			PortRangeMin: 80 + i, PortRangeMax: 80 + i, Description: "same"})
	}
	must(cloud.WaitSettled(ctx))
	must(o.SetMembers(ctx, pool.ID, members, false))
	must(cloud.WaitSettled(ctx))
	_, err := n.CreateSecurityGroupRules(ctx, group.ID, wanted)
	must(err)
	return listed{cloud, map[string]func(context.Context) (int, error){
		"load balancers": counting(func(ctx context.Context) ([]octavia.LoadBalancer, error) {
			return o.LoadBalancers(ctx, octavia.LoadBalancerFilter{All: true})
		}),
		"two fields": counting(func(ctx context.Context) ([]octavia.LoadBalancer, error) {
			return o.LoadBalancers(ctx, octavia.LoadBalancerFilter{All: true, Fields: []string{"id", "name"}})
		}),
		"listeners":      counting(func(ctx context.Context) ([]octavia.Listener, error) { return o.Listeners(ctx, lb.ID) }),
		"listeners' tag": counting(func(ctx context.Context) ([]octavia.Listener, error) { return o.ListenersTagged(ctx, "same") }),
		"pools":          counting(func(ctx context.Context) ([]octavia.Pool, error) { return o.Pools(ctx, lb.ID) }),
		"one of listeners' tags": counting(func(ctx context.Context) ([]octavia.Listener, error) {
			return o.ListenersTagged(ctx, "another", "same")
		}),
		"pools' tag":    counting(func(ctx context.Context) ([]octavia.Pool, error) { return o.PoolsTagged(ctx, "same") }),
		"members":       counting(func(ctx context.Context) ([]octavia.Member, error) { return o.Members(ctx, pool.ID) }),
		"monitors' tag": counting(func(ctx context.Context) ([]octavia.HealthMonitor, error) { return o.MonitorsTagged(ctx, "same") }),
		"floating IPs": counting(func(ctx context.Context) ([]floatingips.FloatingIP, error) {
			return n.FloatingIPs(ctx, neutron.FloatingIPFilter{Description: "same"})
		}),
		"security groups": counting(func(ctx context.Context) ([]neutron.SecurityGroup, error) { return n.SecurityGroupsNamed(ctx, "same") }),
		"rules": counting(func(ctx context.Context) ([]neutron.SecurityGroupRule, error) {
			return n.SecurityGroupRules(ctx, group.ID, "same")
		}),
		"rules by group": func(ctx context.Context) (int, error) {
			byGroup, err := n.SecurityGroupRuleIDs(ctx)
			return len(byGroup[group.ID]) - 2, err // two let everything out
		},
		"ports": func(ctx context.Context) (int, error) {
			all, err := n.GroupsOfPorts(ctx)
			found := 0
			for _, port := range all {
				if strings.Contains(strings.Join(ports, " "), port.ID) {
					found++
				}
			}
			return found, err
		},
	}}
}

func counting[T any](list func(context.Context) ([]T, error)) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		all, err := list(ctx)
		return len(all), err
	}
}

// A service that goes on for ever, or in circles, is not read until no memory is left.
func TestAll_EndsHoweverServiceGoesOn(t *testing.T) {
	t.Parallel()
	type object struct {
		ID string `json:"id"`
	}
	others := strings.Repeat("{}, ", 999)
	for name, test := range map[string]struct {
		next func(page int) string
		most int
	}{
		"the same page":      {func(int) string { return "a" }, 2},
		"two pages in turn":  {func(page int) string { return fmt.Sprint(page % 2) }, 3},
		"pages without IDs":  {func(int) string { return "" }, 1},
		"pages without end":  {func(page int) string { return fmt.Sprint(page) }, rest.MaxObjects/1000 + 2},
		"back to the second": {func(page int) string { return fmt.Sprint(min(page, 9-page)) }, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			list := rest.Collection[object]{Name: "objects", Size: 1000, ID: func(o object) string { return o.ID }, Get: func(_ context.Context, _ url.Values, into any) error {
				asked++
				return rest.Decode(fmt.Appendf(nil, `{"objects": [%s{"id": %q}]}`, others, test.next(asked)), into)
			}}
			if all, err := list.All(t.Context(), url.Values{}); err == nil || asked > test.most {
				t.Errorf("%d objects of %d pages, %v", len(all), asked, err)
			}
		})
	}
}

// Whatever length of pages the operator chose, nothing is left out; where a page
// holds everything, a list is one request.
func TestAll_IsCompleteWithAnyPageLimit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ octavia, neutron int }{
		"defaults":          {},
		"no limit":          {octavia: simoctavia.UnlimitedPages},
		"two to a page":     {2, 2},
		"five to a page":    {5, 5},
		"one to a page":     {1, 1},
		"four in Octavia":   {octavia: 4},
		"three in Neutron":  {neutron: 3},
		"hundred in either": {100, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have := fiveOfEverything(t, test.octavia, test.neutron)
			for what, list := range have.lists {
				before := len(have.cloud.RequestLog.Requests())
				n, err := list(context.Background())
				if err != nil || n != 5 {
					t.Errorf("%s: %d of 5, %v", what, n, err)
				}
				asked := len(have.cloud.RequestLog.Requests()) - before
				if whole := test.octavia == 0 || test.octavia > 5 || test.octavia < 0; whole && (test.neutron == 0 || test.neutron > 50) && asked != 1 {
					t.Errorf("%s: %d requests, want 1", what, asked)
				}
			}
		})
	}
}

// The object that a page begins behind may be deleted meanwhile: Octavia then
// answers 400, Neutron 404, and the list begins anew.
func TestAll_StartsAgainWhenMarkerIsGone(t *testing.T) {
	t.Parallel()
	for service, refusal := range map[string]string{
		"octavia": `{"faultcode":"Client","faultstring":"Supplied pagination marker 'b' is not valid."}`,
		"neutron": `{"NeutronError":{"type":"FloatingIPNotFound","message":"Floating IP b could not be found","detail":""}}`,
	} {
		cloud := fakecloud.New(t)
		gone, asked := 1, 0
		cloud.Services = func(w http.ResponseWriter, r *http.Request) {
			name := path.Base(r.URL.Path)
			asked++
			next := `[{"rel":"next","href":"http://x/?limit=2&marker=b"}]`
			switch {
			case r.URL.Query().Get("marker") == "":
				fmt.Fprintf(w, `{%q:[{"id":"a"},{"id":"b"}],%q:%s}`, name, name+"_links", next)
			case gone > 0:
				gone--
				w.WriteHeader(map[string]int{"octavia": 400, "neutron": 404}[service])
				fmt.Fprint(w, refusal)
			default:
				fmt.Fprintf(w, `{%q:[{"id":"c"}],%q:[]}`, name, name+"_links")
			}
		}
		s := simulated.SignIn(t, &config.Config{Global: cloud.Config()}, openstack.SessionOptions{})
		list := map[string]func() (int, error){
			"octavia": func() (int, error) {
				all, err := s.Octavia().LoadBalancers(context.Background(), octavia.LoadBalancerFilter{All: true})
				return len(all), err
			},
			"neutron": func() (int, error) {
				all, err := s.Neutron().FloatingIPs(context.Background(), neutron.FloatingIPFilter{All: true})
				return len(all), err
			},
		}[service]
		if n, err := list(); err != nil || n != 3 || asked != 4 {
			t.Errorf("%s: %d of 3 with %d requests: %v", service, n, asked, err)
		}
		gone, asked = 100, 0
		if n, err := list(); err == nil || n != 0 || asked != 2*(rest.MaxRestarts+1) {
			t.Errorf("%s: gone each time: %d with %d requests, %v", service, n, asked, err)
		}
	}
}

// An answer that is not a list proves nothing about the objects.
func TestAll_FailsOnAnswerWithoutList(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	s := simulated.SignIn(t, &config.Config{Global: cloud.Config()}, openstack.SessionOptions{})
	if _, err := s.Neutron().FloatingIPs(context.Background(), neutron.FloatingIPFilter{All: true}); err == nil {
		t.Error("floating IPs: no error")
	}
	if _, err := s.Octavia().LoadBalancers(context.Background(), octavia.LoadBalancerFilter{All: true}); err == nil {
		t.Error("load balancers: no error")
	}
}
