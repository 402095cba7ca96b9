package garbage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// TestList_FollowsTruthTableOfServices is the truth table of objects that belong to no Service of a
// live cluster. "web" is deleted; "api" exists, "idle" exists and wants no load balancer.
//
//proves:88
func TestList_FollowsTruthTableOfServices(t *testing.T) {
	t.Parallel()
	made := func(cluster, name string, n int) ownership.Identity {
		id := of(cluster, "mine", name)
		id.ServiceUID = fmt.Sprintf("83edf9cb-240e-4ea1-8c14-%012d", n)
		return id
	}
	web, api, idle, theirs := made(livingID, "web", 1), made(livingID, "api", 2), made(livingID, "idle", 3), made(deadID, "web", 4)
	renamed, untagged, unread, long := web, web, made("", "web", 1), web
	renamed.ClusterName, untagged.Untagged, long.Service = "former", true, strings.Repeat("x", 300)
	there := func(id ownership.Identity) garbage.Service {
		return garbage.Service{UID: id.ServiceUID, Name: id.Namespace + "/" + id.Service, Wanting: id != idle}
	}
	namesake := there(made(livingID, "web", 5))
	names, copied, publishes := namesake, namesake, namesake
	names.LoadBalancerID, copied.LoadBalancerID, copied.Copied, publishes.Addresses = "a", "a", true, []string{"", "f"}
	six := namesake
	six.Addresses = []string{"fd00::5"}
	second := func(c *cloud) {
		c.LoadBalancers[len(c.LoadBalancers)-1].AdditionalVIPs = []octavia.AdditionalVIP{{Address: "fd00::5"}}
	}
	stale := there(idle)
	stale.LoadBalancerID, stale.Addresses = "a", []string{"f"}
	unrelated := there(made(livingID, "db", 6))
	unrelated.LoadBalancerID = "a"
	groupOf := func(id string, who ownership.Identity, tags ...string) change {
		return group(id, who.SecurityGroup().Name, who.SecurityGroup().Description, tags...)
	}
	own := func(who ownership.Identity) []string {
		return []string{partOf("listener", "l", who), partOf("pool", "p>l", who)}
	}
	legacyFIP := "Floating IP for Kubernetes external service default/%s from cluster mine"
	const tag = "kube_service_mine_default_"
	for _, row := range []struct {
		what  string
		more  []garbage.Service
		cloud []change
		want  []string
	}{
		{"gone", nil, []change{lb("a", web, own(web)...), fip("f", "port of a", web.FloatingIPs().Description())}, []string{"found floating-ip f", "found load-balancer a"}},
		{"gone, with a name that is cut", nil, []change{lb("a", long, own(long)...), fip("f", "port of a", long.FloatingIPs().Description())}, []string{"found floating-ip f", "found load-balancer a"}},
		{"gone, made under another name of the cluster", nil, []change{lb("a", renamed, own(renamed)...)}, []string{"found load-balancer a"}},
		{"gone, in a cloud without tags", nil, []change{lb("a", untagged, "listener l listener_0_"+tag+"web", "pool p>l pool_0_"+tag+"web")}, []string{"found load-balancer a"}},
		{"there", nil, []change{lb("a", api, own(api)...), fip("f", "port of a", api.FloatingIPs().Description()), groupOf("g", api, api.SecurityGroup().Tags...)}, nil},
		{"there, wanting none", nil, []change{lb("a", idle, own(idle)...), fip("f", "port of a", idle.FloatingIPs().Description())}, []string{"unclear floating-ip f", "unclear load-balancer a"}},
		{"there, wanting none, with its address", []garbage.Service{stale}, []change{lb("a", idle, own(idle)...), fip("f", "port of a", idle.FloatingIPs().Description())}, []string{"unclear floating-ip f", "unclear load-balancer a"}},
		{"of another cluster of the name", nil, []change{lb("a", theirs, own(theirs)...), fip("f", "port of a", theirs.FloatingIPs().Description()), groupOf("g", theirs, theirs.SecurityGroup().Tags...)}, nil},
		{"of two clusters", nil, []change{rawLB("a", web.Name(), "", append(web.Tags(), "kube_cluster_id_x"))}, []string{"unclear load-balancer a"}},
		{"of a cluster that could not read its ID", nil, []change{lb("a", unread, own(unread)...)}, []string{"unclear load-balancer a"}},
		{"by hand", nil, []change{rawLB("a", "web", "", nil, "listener l web"), fip("f", "", "mine"), group("g", "default", "")}, nil},

		{"recreated under its name", []garbage.Service{namesake}, []change{lb("a", web, own(web)...)}, []string{"found load-balancer a"}},
		{"recreated under its name, which names it", []garbage.Service{names}, []change{lb("a", web, own(web)...)}, nil},
		{"recreated as a copy", []garbage.Service{copied}, []change{lb("a", web, own(web)...)}, []string{"unclear load-balancer a"}},
		{"recreated under its name, with its address", []garbage.Service{publishes}, []change{lb("a", web, own(web)...), fip("f", "port of a", web.FloatingIPs().Description())}, []string{"left-alone floating-ip f"}},
		{"recreated under its name, with the address of its second VIP", []garbage.Service{six}, []change{lb("a", web, own(web)...), second}, nil},
		{"named by another Service", []garbage.Service{unrelated}, []change{lb("a", web, own(web)...)}, []string{"found listener l", "found pool p"}},

		{"gone, shared with one that is there", nil, []change{lb("a", web, append(own(web), partOf("listener", "m", api))...), fip("f", "port of a", web.FloatingIPs().Description())},
			[]string{"found listener l", "found pool p", "left-alone floating-ip f", "left-alone load-balancer a"}},
		{"there, shared with one that is gone", nil, []change{lb("a", api, append(own(web), partOf("listener", "m", api))...)}, []string{"found listener l", "found pool p"}},
		{"another cluster's, shared with one that is gone", nil, []change{lb("a", theirs, own(web)...)}, []string{"found listener l", "found pool p"}},
		{"gone, with a part by hand", nil, []change{lb("a", web, "listener m web")}, []string{"unclear load-balancer a"}},

		{"floating IP on nothing", nil, []change{fip("f", "", web.FloatingIPs().Description()), fip("g", "", api.FloatingIPs().Description())}, []string{"kept floating-ip f"}},
		{"security groups", nil, []change{groupOf("g", web, web.SecurityGroup().Tags...), group("h", web.SharedGroup().Name, web.SharedGroup().Description, web.SharedGroup().Tags...)}, []string{"found security-group g"}},
		{"security group without tags", nil, []change{groupOf("g", web)}, []string{"unclear security-group g"}},

		{"cloud-provider-openstack's, gone", nil, []change{legacyLB("a", "mine", "web", "listener l listener_0_"+tag+"web "+tag+"web"), fip("f", "port of a", fmt.Sprintf(legacyFIP, "web"))}, []string{"unclear floating-ip f", "unclear load-balancer a"}},
		{"cloud-provider-openstack's, there", nil, []change{legacyLB("a", "mine", "api"), fip("f", "port of a", fmt.Sprintf(legacyFIP, "api"))}, nil},
		{"cloud-provider-openstack's of another name", nil, []change{legacyLB("a", "former", "web")}, nil},
		{"cloud-provider-openstack's of a name that was cut", nil, []change{legacyLB("a", "mine", strings.Repeat("x", 300))}, nil},
		{"cloud-provider-openstack's, shared with one that is there", nil, []change{legacyLB("a", "mine", "web", "listener l listener_0_"+tag+"api "+tag+"api")}, nil},
		{"in-tree, gone", nil, []change{rawLB("a", inTreeName, "Kubernetes external service default/web from cluster mine", nil)}, []string{"unclear load-balancer a"}},
		{"in-tree, there", nil, []change{rawLB("a", inTreeName, "Kubernetes external service default/api from cluster mine", nil)}, nil},
	} {
		t.Run(row.what, func(t *testing.T) {
			t.Parallel()
			var c cloud
			for _, add := range row.cloud {
				add(&c)
			}
			services := garbage.NewServices(append(row.more, there(api), there(idle)))
			_, items := garbage.List(c.Inventory, garbage.Query{ClusterID: livingID, ClusterName: "mine", Services: services})
			if diff := cmp.Diff(append([]string{}, row.want...), words(items)); diff != "" {
				t.Errorf("%s\n%+v", diff, items)
			}
		})
	}
}
