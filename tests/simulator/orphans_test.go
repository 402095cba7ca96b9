package simulator_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// kinds lists orphans as "kind name".
func kinds(orphans []simulator.Orphan) []string {
	var list []string
	for _, orphan := range orphans {
		list = append(list, strings.TrimSpace(orphan.Kind+" "+orphan.Name))
	}
	return list
}

func TestOrphans_AreObjectsOfNoLivingService(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	service := client(t, cloud, cloud.Account)
	ports := map[string]string{}
	for _, name := range []string{"kube_service_c_ns_web", "kube_service_c_ns_web-2"} {
		opts := fullCreate(cloud)
		opts.Name, opts.Tags, opts.Listeners, opts.Pools = name, []string{"uid of " + name}, nil, nil
		lb, err := loadbalancers.Create(t.Context(), service, opts).Extract()
		if err != nil {
			t.Fatal(err)
		}
		ports[name] = lb.VipPortID
	}
	mine := cloud.Account.ProjectID
	for _, description := range []string{"of uid-1", "of nobody"} {
		if _, err := cloud.Neutron.CreateFloatingIP(neutron.FloatingIPSpec{
			ProjectID: mine, NetworkID: cloud.ExternalNetwork.ID, Description: description,
		}); err != nil {
			t.Fatal(err)
		}
	}
	group, err := cloud.Neutron.CreateSecurityGroup(neutron.SecurityGroupSpec{ProjectID: mine, Name: "nodes"})
	if err != nil {
		t.Fatal(err)
	}
	for i, description := range []string{"uid-1", "uid-dead", ""} {
		if _, err := cloud.Neutron.AddSecurityGroupRules(group.ID, neutron.SecurityGroupRule{
			Direction: "ingress", Protocol: "tcp", PortRangeMin: 80 + i, PortRangeMax: 80 + i, Description: description,
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cloud.AddServer("node-1", ""); err != nil {
		t.Fatal(err)
	}
	all := kinds(cloud.Orphans(nil, nil))
	if len(all) != 2+2+2+1+2 { // two load balancers with ports, floating IPs, a group with two rules
		t.Errorf("without any Service: %q", all)
	}
	got := kinds(cloud.Orphans([]string{"ns/web", "uid-1"}, []string{"nodes"}))
	for i, kind := range []string{"floating IP 127", "load balancer kube_service_c_ns_web-2", "port octavia-lb-"} {
		if len(got) != 3 || !strings.HasPrefix(got[i], kind) {
			t.Errorf("orphans are %q, want %s", got, kind)
		}
	}
	if got := kinds(cloud.Orphans([]string{"uid of kube_service_c_ns_web-2"}, nil)); slices.Contains(got, "load balancer kube_service_c_ns_web-2") {
		t.Errorf("a tag was not seen: %q", got)
	}
}

func TestLeakedPorts_AreThoseOfNoLoadBalancer(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	service := client(t, cloud, cloud.Account)
	opts := fullCreate(cloud)
	lb, err := loadbalancers.Create(t.Context(), service, opts).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if leaked := cloud.LeakedPorts(); len(leaked) != 0 {
		t.Errorf("leaked are %+v", leaked)
	}
	left, err := cloud.Neutron.CreatePort(neutron.PortSpec{
		ProjectID: cloud.Account.ProjectID, NetworkID: cloud.Network.ID, Name: "octavia-lb-" + strings.Repeat("0", 36),
	})
	if err != nil {
		t.Fatal(err)
	}
	if leaked := cloud.LeakedPorts(); len(leaked) != 1 || leaked[0].ID != left.ID || leaked[0].ID == lb.VipPortID {
		t.Errorf("leaked are %+v", leaked)
	}
}
