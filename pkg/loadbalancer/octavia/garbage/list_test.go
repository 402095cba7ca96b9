package garbage_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

const (
	deadID, livingID = "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11", "6b2d1f7e-1b77-4c1f-8d5e-6f1c8e7d3b22"
	serviceUID       = "83edf9cb-240e-4ea1-8c14-28551499e9bf"
	inTreeName       = "a5a1c0f6e0a664b0e9c4d5f0b7f6c2a1"
)

// of returns the Service default/NAME of a cluster.
func of(clusterID, clusterName, service string) ownership.Identity {
	return ownership.Identity{ClusterID: clusterID, ClusterName: clusterName, ServiceUID: serviceUID, Namespace: "default", Service: service}
}

// cloud collects an inventory.
type cloud struct{ garbage.Inventory }

// change adds to a cloud.
type change func(*cloud)

// rawLB is a load balancer with parts, each "listener ID NAME TAG…", "pool ID NAME TAG…", or
// "pool ID>LISTENER NAME TAG…".
func rawLB(id, name, description string, tags []string, parts ...string) change {
	return func(c *cloud) {
		c.LoadBalancers = append(c.LoadBalancers, octavia.LoadBalancer{
			ID: id, Name: name, Description: description, Tags: tags, VIPPortID: "port of " + id,
		})
		for _, text := range parts {
			words := strings.Fields(text)
			switch words[0] {
			case "listener":
				c.Listeners = append(c.Listeners, octavia.Listener{ID: words[1], Name: words[2], Tags: words[3:], LoadBalancers: []octavia.ObjectID{{ID: id}}})
			default:
				pool, user, used := strings.Cut(words[1], ">")
				p := octavia.Pool{ID: pool, Name: words[2], Tags: words[3:], LoadBalancers: []octavia.ObjectID{{ID: id}}}
				if used {
					p.Listeners = []octavia.ObjectID{{ID: user}}
				}
				c.Pools = append(c.Pools, p)
			}
		}
	}
}

// lb is one that we made.
func lb(id string, who ownership.Identity, parts ...string) change {
	return rawLB(id, who.Name(), who.Description(), who.Tags(), parts...)
}

// legacyLB is one that cloud-provider-openstack made.
func legacyLB(id, cluster, service string, parts ...string) change {
	name := "kube_service_" + cluster + "_default_" + service
	return rawLB(id, name, "Kubernetes external service default/"+service+" from cluster "+cluster, []string{name}, parts...)
}

// partOf is a listener or pool that we made.
func partOf(kind, id string, who ownership.Identity) string {
	return strings.Join(append([]string{kind, id, kind + "_0_" + who.Name()}, who.Tags()...), " ")
}

func fip(id, port, description string) change {
	return func(c *cloud) {
		c.FloatingIPs = append(c.FloatingIPs, floatingips.FloatingIP{ID: id, FloatingIP: id, PortID: port, Description: description})
	}
}

func group(id, name, description string, tags ...string) change {
	return func(c *cloud) {
		c.SecurityGroups = append(c.SecurityGroups, neutron.SecurityGroup{ID: id, Name: name, Description: description, Tags: tags})
	}
}

var podNetworks = []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:244::/48")}

// router is the one that cloud.conf names, with routes "DESTINATION NEXTHOP" and a port.
func router(port string, all ...string) change {
	return func(c *cloud) {
		c.Routes = &garbage.Routes{
			Router: &neutron.Router{ID: "router"}, Ports: []neutron.RoutedPort{{ID: "port", FixedIPs: []neutron.FixedIP{{IPAddress: port}}}},
		}
		for _, text := range all {
			to, via, _ := strings.Cut(text, " ")
			c.Routes.Router.Routes = append(c.Routes.Router.Routes, neutron.ExtraRoute{Destination: to, NextHop: via})
		}
	}
}

// words describes items: "found load-balancer web", and "unclear" for those that are left alone
// because their owner is unclear.
func words(items []garbage.Item) []string {
	texts := []string{}
	for _, item := range items {
		state := string(item.State)
		if item.Unclear {
			state = "unclear"
		}
		texts = append(texts, fmt.Sprintf("%s %s %s", state, item.Kind, item.ID))
	}
	slices.Sort(texts)
	return texts
}

// TestList_FollowsTruthTable is the truth table of what a cluster has.
func TestList_FollowsTruthTable(t *testing.T) {
	t.Parallel()
	dead, living, namesake := of(deadID, "dead", "web"), of(livingID, "living", "web"), of(livingID, "dead", "web")
	untagged := dead
	untagged.Untagged = true
	unread := of("", "dead", "web")
	byID, byName := garbage.Query{ClusterID: deadID}, garbage.Query{ClusterName: "dead"}
	byBoth, all := garbage.Query{ClusterID: deadID, ClusterName: "dead"}, garbage.Query{ClusterID: deadID, AllFloatingIPs: true}
	legacyFIP := "Floating IP for Kubernetes external service default/web from cluster dead"
	groupName, groupText := "lb-sg-"+serviceUID+"-default-web", "Security Group for default/web Service LoadBalancer in cluster dead"
	const tag = "kube_service_dead_default_web"
	for _, row := range []struct {
		what  string
		query garbage.Query
		cloud []change
		want  []string
	}{
		{"ours", byID, []change{lb("a", dead, partOf("listener", "l", dead), partOf("pool", "p>l", dead))}, []string{"found load-balancer a"}},
		{"another's", byID, []change{lb("a", living, partOf("listener", "l", living))}, nil},
		{"by hand", byBoth, []change{rawLB("a", "web", "", nil, "listener l web")}, nil},
		{"ours, by the only ID that has the name", byName, []change{lb("a", dead), lb("b", living)}, []string{"found load-balancer a"}},
		{"of a namesake too, by name", byName, []change{lb("a", dead), lb("b", namesake)}, []string{"unclear load-balancer a", "unclear load-balancer b"}},
		{"of a namesake too, by ID", byID, []change{lb("a", dead), lb("b", namesake)}, []string{"found load-balancer a"}},
		{"of a namesake too, by both", byBoth, []change{lb("a", dead), lb("b", namesake)}, []string{"found load-balancer a", "left-alone load-balancer b"}},
		{"with two IDs", byID, []change{rawLB("a", dead.Name(), "", append(dead.Tags(), "kube_cluster_id_x"))}, []string{"unclear load-balancer a"}},
		{"in a cluster that could not read its ID", byName, []change{lb("a", unread)}, []string{"found load-balancer a"}},
		{"in a cloud without tags", byID, []change{lb("a", untagged, "listener l listener_0_"+tag, "pool p>l pool_0_"+tag), lb("b", of(livingID, "dead", "api"))}, []string{"found load-balancer a"}},

		{"cloud-provider-openstack's, by name", byName, []change{legacyLB("a", "dead", "web", "listener l listener_0_"+tag+" "+tag, "pool p>l pool_0_"+tag)}, []string{"found load-balancer a"}},
		{"cloud-provider-openstack's, by ID", byID, []change{legacyLB("a", "dead", "web")}, nil},
		{"cloud-provider-openstack's beside ours, by ID", byID, []change{lb("b", dead), legacyLB("a", "dead", "web")}, []string{"found load-balancer b", "unclear load-balancer a"}},
		{"cloud-provider-openstack's beside ours, by name", byName, []change{lb("b", dead), legacyLB("a", "dead", "web")}, []string{"unclear load-balancer a", "unclear load-balancer b"}},
		{"cloud-provider-openstack's beside ours, by both", byBoth, []change{lb("b", dead), legacyLB("a", "dead", "web")}, []string{"found load-balancer a", "found load-balancer b"}},
		{"cloud-provider-openstack's beside a namesake, by both", byBoth, []change{lb("b", namesake), legacyLB("a", "dead", "web")}, []string{"left-alone load-balancer b", "unclear load-balancer a"}},
		{"cloud-provider-openstack's of another name", byName, []change{legacyLB("a", "dead2", "web"), legacyLB("b", "un_dead", "web")}, nil},
		{"cloud-provider-openstack's of a name that was cut", byName, []change{legacyLB("a", "dead", strings.Repeat("x", 300))}, []string{"unclear load-balancer a"}},
		{"in-tree", byName, []change{rawLB("a", inTreeName, "Kubernetes external service default/web from cluster dead", nil, "listener l listener_"+inTreeName+"_0", "pool p>l pool_"+inTreeName+"_0")}, []string{"found load-balancer a"}},
		{"in-tree, of nobody knows whom", byName, []change{rawLB("a", inTreeName, "", nil, "listener l listener_"+inTreeName+"_0")}, []string{"unclear load-balancer a"}},

		{"ours, shared with another cluster", byID, []change{lb("a", dead, partOf("listener", "l", dead), partOf("pool", "p>l", dead), partOf("listener", "m", living), partOf("pool", "q>m", living)), fip("f", "port of a", dead.FloatingIPs().Description())},
			[]string{"found listener l", "found pool p", "left-alone floating-ip f", "left-alone load-balancer a"}},
		{"another's, shared with ours", byID, []change{lb("a", living, partOf("listener", "l", dead), partOf("pool", "p>l", dead), partOf("listener", "m", living))}, []string{"found listener l", "found pool p"}},
		{"another's, shared with ours, whose pool it uses", byID, []change{lb("a", living, partOf("pool", "p>m", dead), partOf("listener", "m", living))}, []string{"left-alone pool p"}},
		{"by hand, with a part of ours", byID, []change{rawLB("a", "web", "", nil, "listener m web", partOf("listener", "l", dead))}, []string{"found listener l"}},
		{"ours, with a part by hand", byID, []change{lb("a", dead, partOf("listener", "l", dead), "listener m web")}, []string{"found listener l", "unclear load-balancer a"}},
		{"cloud-provider-openstack's, shared by two of its clusters", byName, []change{legacyLB("a", "living", "web", "listener l listener_0_"+tag+" "+tag, "listener m listener_0_kube_service_living_default_web kube_service_living_default_web")}, []string{"found listener l"}},
		{"cloud-provider-openstack's, with a part of ours", byBoth, []change{legacyLB("a", "dead", "web", partOf("listener", "l", dead), "pool p>l pool_0_"+tag)}, []string{"found load-balancer a"}},

		{"floating IP on ours", byID, []change{lb("a", dead), fip("f", "port of a", dead.FloatingIPs().Description())}, []string{"found floating-ip f", "found load-balancer a"}},
		{"floating IP by hand on ours", byID, []change{lb("a", dead), fip("f", "port of a", "mine")}, []string{"found load-balancer a", "left-alone floating-ip f"}},
		{"floating IP of ours on nothing", byID, []change{fip("f", "", dead.FloatingIPs().Description())}, []string{"kept floating-ip f"}},
		{"floating IP of ours on nothing, all", all, []change{fip("f", "", dead.FloatingIPs().Description())}, []string{"found floating-ip f"}},
		{"floating IP of ours on another's", all, []change{lb("a", living), fip("f", "port of a", dead.FloatingIPs().Description())}, []string{"left-alone floating-ip f"}},
		{"floating IP of another", all, []change{fip("f", "", living.FloatingIPs().Description()), fip("g", "", "mine")}, nil},
		{"floating IP of cloud-provider-openstack", byName, []change{legacyLB("a", "dead", "web"), fip("f", "port of a", legacyFIP), fip("g", "", legacyFIP)}, []string{"found floating-ip f", "found load-balancer a", "kept floating-ip g"}},
		{"floating IP of a namesake of cloud-provider-openstack", byName, []change{lb("a", dead), fip("f", "", legacyFIP)}, []string{"unclear floating-ip f", "unclear load-balancer a"}},

		{"security groups", byID, []change{
			group("a", groupName, groupText, dead.SecurityGroup().Tags...), group("b", groupName, groupText, living.SecurityGroup().Tags...),
			group("c", dead.SharedGroup().Name, dead.SharedGroup().Description, dead.SharedGroup().Tags...), group("d", living.SharedGroup().Name, living.SharedGroup().Description),
			group("e", "default", "Default security group"),
		}, []string{"found security-group a", "found security-group c"}},
		{"security groups of cloud-provider-openstack", byName, []change{group("a", groupName, groupText), group("b", groupName, strings.Replace(groupText, "dead", "living", 1)), group("c", "lb-sg-mine", groupText)}, []string{"found security-group a"}},

		{"routes", garbage.Query{ClusterID: deadID, PodNetworks: podNetworks}, []change{
			router("10.0.0.7", "10.244.1.0/24 10.0.0.5", "10.244.2.0/24 10.0.0.7", "10.245.1.0/24 10.0.0.5", "10.240.0.0/12 10.0.0.5", "fd00:244:0:1::/64 fd00::5", "fd00:245::/64 fd00::5"),
		}, []string{"found route 10.244.1.0/24 via 10.0.0.5", "found route fd00:244:0:1::/64 via fd00::5", "unclear route 10.244.2.0/24 via 10.0.0.7"}},
		{"routes, without the pod networks", byID, []change{router("10.0.0.7", "10.244.1.0/24 10.0.0.5")}, []string{"unclear route router"}},
		{"no routes", byID, []change{router("10.0.0.7")}, nil},
		{"nothing", byBoth, nil, nil},
	} {
		t.Run(row.what, func(t *testing.T) {
			t.Parallel()
			var c cloud
			for _, add := range row.cloud {
				add(&c)
			}
			_, items := garbage.List(c.Inventory, row.query)
			if diff := cmp.Diff(append([]string{}, row.want...), words(items)); diff != "" {
				t.Errorf("%s\n%+v", diff, items)
			}
			for _, item := range items {
				if (item.Why == "") != (item.State == garbage.Found) {
					t.Errorf("%s %s is %s: %q", item.Kind, item.ID, item.State, item.Why)
				}
			}
		})
	}
}

// The first removed objects identify the owner of the others.
func TestList_IsInOrderOfRemoval(t *testing.T) {
	t.Parallel()
	dead := of(deadID, "dead", "web")
	var c cloud
	for _, add := range []change{
		group("g", dead.SecurityGroup().Name, dead.SecurityGroup().Description, dead.SecurityGroup().Tags...),
		lb("a", dead), rawLB("b", "web", "", nil, partOf("pool", "p", dead), partOf("listener", "l", dead)),
		fip("f", "port of a", dead.FloatingIPs().Description()),
	} {
		add(&c)
	}
	var kinds []garbage.Kind
	target, items := garbage.List(c.Inventory, garbage.Query{ClusterName: "dead"})
	for _, item := range items {
		kinds = append(kinds, item.Kind)
	}
	if want := []garbage.Kind{garbage.FloatingIP, garbage.Listener, garbage.Pool, garbage.LoadBalancer, garbage.SecurityGroup}; !slices.Equal(kinds, want) {
		t.Errorf("got %v, want %v", kinds, want)
	}
	if target.ID != deadID {
		t.Errorf("the cluster of that name is %q", target.ID)
	}
}
