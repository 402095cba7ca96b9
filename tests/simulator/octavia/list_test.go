package octavia_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// names of the objects that a list shows, in its order.
func (env *environment) names(path string) string {
	env.t.Helper()
	got := env.call("GET", path, nil)
	if got.status != 200 {
		env.t.Fatalf("GET %s: %d %s", path, got.status, got.text)
	}
	collection := strings.Split(path, "?")[0]
	var names []string
	for _, thing := range got.json[collection[strings.LastIndex(collection, "/")+1:]].([]any) {
		names = append(names, fmt.Sprint(thing.(object)["name"]))
	}
	return strings.Join(names, " ")
}

func (env *environment) named(name string, tags ...string) string {
	env.t.Helper()
	lb := env.must(201, "POST", "loadbalancers", object{"loadbalancer": object{"name": name, "vip_subnet_id": env.subnet.ID, "tags": tags}})
	env.clock.Step(1000)
	return lb["id"].(string)
}

func TestList_FiltersLoadBalancers(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Delays: slow()})
	env.named("one", "a", "b")
	env.named("two", "b", "c")
	env.clock.Step(60e9)
	env.named("three")
	for query, want := range map[string]string{
		"":                                    "one two three",
		"name=two":                            "two",
		"name=t":                              "",
		"provisioning_status=PENDING_CREATE":  "three",
		"provisioning_status=ACTIVE&name=two": "two",
		"admin_state_up=true":                 "one two three",
		"admin_state_up=False":                "",
		"tags=b":                              "one two",
		"tags=a,b":                            "one",
		"tags=a&tags=b":                       "one",
		"tags-any=a,c":                        "one two",
		"not-tags=a,b":                        "two three",
		"not-tags-any=a,c":                    "three",
		"sort=name:asc":                       "one three two",
		"sort=name:desc":                      "two three one",
		"sort_key=name&sort_dir=desc":         "two three one",
		"limit=2":                             "one two",
		"limit=0":                             "one two three",
		"project_id=" + project:               "one two three",
		"vip_subnet_id=" + env.subnet.ID:      "one two three",
	} {
		if got := env.names("loadbalancers?" + query); got != want {
			t.Errorf("?%s: %q, want %q", query, got, want)
		}
	}
}

func TestList_FindsChildrenByParent(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	m := env.create("amphora")
	env.create("ovn")
	for path, want := range map[string]string{
		"listeners?loadbalancer_id=" + m.id:                                  "listener",
		"pools?loadbalancer_id=" + m.id:                                      "pool",
		"healthmonitors?pool_id=" + m.pool:                                   "",
		"listeners?protocol=TCP&protocol_port=80":                            "listener listener",
		"listeners?default_pool_id=" + m.pool:                                "listener",
		"pools?name=pool":                                                    "pool pool",
		"pools/" + m.pool + "/members?address=10.6.0.11&protocol_port=30080": "",
	} {
		if got := env.names(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestList_SelectsOnlyRepeatedFields(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	id := env.named("one")
	for query, want := range map[string]string{
		"fields=id&fields=name": fmt.Sprintf(`{"loadbalancers":[{"id":"%s","name":"one"}],"loadbalancers_links":[]}`, id),
		"fields=id,name":        `{"loadbalancers":[{}],"loadbalancers_links":[]}`,
	} {
		if got := env.call("GET", "loadbalancers?"+query, nil).text; got != want {
			t.Errorf("?%s: %s", query, got)
		}
	}
	if got := env.call("GET", "loadbalancers/"+id+"?fields=name", nil).text; got != `{"loadbalancer":{"name":"one"}}` {
		t.Errorf("one with fields: %s", got)
	}
}

// The links of a page do not contain the filters, so that the next page is not filtered.
func TestList_DropsFiltersInLinks(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	first, second := env.named("one", "a"), env.named("two", "a")
	env.named("three")
	page := env.call("GET", "loadbalancers?tags=a&fields=id&limit=2", nil)
	links := page.json["loadbalancers_links"].([]any)
	want := "http://example.com/v2.0/lbaas/loadbalancers?limit=2&marker=" + second
	if len(links) != 1 || links[0].(object)["href"] != want || links[0].(object)["rel"] != "next" {
		t.Fatalf("links %v, want %s", links, want)
	}
	next, err := url.Parse(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := env.names(strings.TrimPrefix(next.RequestURI(), lbaas)); got != "three" {
		t.Errorf("behind the link: %q", got)
	}
	back := env.call("GET", "loadbalancers?limit=2&marker="+first, nil).json["loadbalancers_links"].([]any)
	if got := back[0].(object); got["rel"] != "previous" || got["href"] != "http://example.com/v2.0/lbaas/loadbalancers?limit=2&marker="+second+"&page_reverse=True" {
		t.Errorf("links %v", back)
	}
	if got := env.names("loadbalancers?limit=1&page_reverse=True&marker=" + second); got != "one" {
		t.Errorf("the page before: %q", got)
	}
	if got := env.names("loadbalancers?limit=2&marker=" + second); got != "three" {
		t.Errorf("last page: %q", got)
	}
}

func TestList_RefusesBadArguments(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	for query, want := range map[string]string{
		"bogus=1":            "One or more arguments are either duplicate or invalid",
		"tenant_id=x":        "One or more arguments are either duplicate or invalid",
		"limit=x":            "Supplied pagination limit 'x' is not valid.",
		"marker=gone":        "Supplied pagination marker 'gone' is not valid.",
		"sort=bogus:asc":     "Supplied sort key 'bogus' is not valid.",
		"sort=name:sideways": "Supplied sort direction 'sideways' is not valid.",
	} {
		env.refused(400, want, "GET", "loadbalancers?"+query, nil)
	}
	env.refused(500, "OperationalError", "GET", "loadbalancers?name=a&name=b", nil)
	env.refused(400, "One or more arguments", "GET", "healthmonitors?loadbalancer_id=x", nil)
}

func TestAccess_DependsOnRolesAndRelease(t *testing.T) {
	t.Parallel()
	const other = "ffffffffffffffffffffffffffffffff"
	for name, c := range map[string]struct {
		release string
		caller  keystone.Caller
		list    int
		get     int
		put     int
		own     bool // may list the project of the load balancer
	}{
		"owner":             {"2026.1", keystone.Caller{ProjectID: project, Roles: []string{"member"}}, 200, 200, 200, true},
		"reader":            {"2026.1", keystone.Caller{ProjectID: project, Roles: []string{"reader"}}, 200, 200, 403, true},
		"reader before":     {"2024.1", keystone.Caller{ProjectID: project, Roles: []string{"reader"}}, 403, 403, 403, false},
		"member before":     {"2024.1", keystone.Caller{ProjectID: project, Roles: []string{"member"}}, 403, 403, 403, false},
		"lb member before":  {"2024.1", keystone.Caller{ProjectID: project, Roles: []string{"load-balancer_member"}}, 200, 200, 200, true},
		"another project":   {"2026.1", keystone.Caller{ProjectID: other, Roles: []string{"member"}}, 200, 403, 403, false},
		"admin":             {"2026.1", keystone.Caller{ProjectID: other, Roles: []string{"admin"}}, 200, 200, 200, true},
		"nobody in general": {"2026.1", keystone.Caller{}, 403, 403, 403, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, octavia.Options{Release: c.release})
			id := env.named("one")
			env.caller = c.caller
			for _, check := range []struct {
				method, path string
				body         any
				want         int
			}{
				{"GET", "loadbalancers", nil, c.list},
				{"GET", "loadbalancers/" + id, nil, c.get},
				{"GET", "loadbalancers/" + id + "/status", nil, c.get},
				{"PUT", "loadbalancers/" + id, object{"loadbalancer": object{}}, c.put},
				{"GET", "loadbalancers?project_id=" + project, nil, map[bool]int{true: 200, false: 403}[c.own]},
			} {
				if got := env.call(check.method, check.path, check.body); got.status != check.want {
					t.Errorf("%s %s: %d %s, want %d", check.method, check.path, got.status, got.text, check.want)
				}
			}
		})
	}
}
