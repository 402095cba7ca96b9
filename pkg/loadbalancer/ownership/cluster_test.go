package ownership_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

func TestSigns_TellClusterAndNothingThatWasCut(t *testing.T) {
	t.Parallel()
	type signs = ownership.Signs
	id, long := web(), with(func(id *ownership.Identity) { id.Service = strings.Repeat("x", 300) })
	untagged := with(func(id *ownership.Identity) { id.Untagged = true })
	both, named, none := signs{ClusterIDs: []string{clusterUID}, ClusterName: "rig", Kubernetes: true}, signs{ClusterName: "rig", Kubernetes: true}, signs{}
	unnamed := signs{ClusterIDs: []string{clusterUID}, Kubernetes: true}
	legacy := "kube_service_rig_default_web-1"
	const group = "lb-sg-" + serviceUID + "-default-web-1"
	for what, test := range map[string]struct{ got, want signs }{
		"load balancer, ours":                       {ownership.LoadBalancerSigns(id.Name(), id.Description(), id.Tags()), both},
		"load balancer, ours without tags":          {ownership.LoadBalancerSigns(untagged.Name(), untagged.Description(), nil), both},
		"load balancer, ours with a long name":      {ownership.LoadBalancerSigns(long.Name(), long.Description(), long.Tags()), unnamed},
		"load balancer, cloud-provider-openstack's": {ownership.LoadBalancerSigns(legacy, "Kubernetes external service default/web-1 from cluster rig", []string{legacy}), named},
		"load balancer, by its name alone":          {ownership.LoadBalancerSigns(legacy, "", nil), named},
		"load balancer, the in-tree provider's":     {ownership.LoadBalancerSigns("a5a1c0f6e0a664b0e9c4d5f0b7f6c2a1", "Kubernetes external service default/web-1 from cluster rig", nil), named},
		"load balancer, in-tree without a cluster":  {ownership.LoadBalancerSigns("a5a1c0f6e0a664b0e9c4d5f0b7f6c2a1", "", nil), signs{Kubernetes: true}},
		"load balancer, of two minds":               {ownership.LoadBalancerSigns(legacy, "Kubernetes external service default/web-1 from cluster prod", nil), signs{Kubernetes: true}},
		"load balancer, with two IDs": {ownership.LoadBalancerSigns(id.Name(), id.Description(), append(id.Tags(), "kube_cluster_id_a")),
			signs{ClusterIDs: []string{clusterUID, "a"}, ClusterName: "rig", Kubernetes: true}},
		"load balancer, by hand":                {ownership.LoadBalancerSigns("web", "from cluster rig", []string{"prod"}), none},
		"listener, ours":                        {ownership.PartSigns(id.ListenerName(0), id.Tags()), both},
		"pool, cloud-provider-openstack's":      {ownership.PartSigns("pool_0_"+legacy, nil), named},
		"pool, of two minds":                    {ownership.PartSigns("pool_0_"+legacy, []string{"kube_service_prod_default_web"}), signs{Kubernetes: true}},
		"listener, ours and renamed":            {ownership.PartSigns("web", []string{"kube_cluster_id_" + clusterUID}), unnamed},
		"listener, of one mind":                 {ownership.PartSigns("renamed", []string{legacy, "kube_service_rig_shop_api"}), named},
		"listener, in-tree":                     {ownership.PartSigns("listener_a5a1c0f6e_0", nil), none},
		"listener, by hand":                     {ownership.PartSigns("web", []string{"prod"}), none},
		"floating IP, ours":                     {ownership.FloatingIPSigns(id.FloatingIPs().Description()), both},
		"floating IP, ours with a long name":    {ownership.FloatingIPSigns(long.FloatingIPs().Description()), unnamed},
		"floating IP, without an ID":            {ownership.FloatingIPSigns(with(func(id *ownership.Identity) { id.ClusterID = "" }).FloatingIPs().Description()), named},
		"floating IP, not ours":                 {ownership.FloatingIPSigns(id.FloatingIPs().LegacyDescription()), named},
		"floating IP, by hand":                  {ownership.FloatingIPSigns("for cluster rig"), none},
		"security group, ours":                  {ownership.SecurityGroupSigns(group, id.SecurityGroup().Description, id.SecurityGroup().Tags), both},
		"security group, not tagged":            {ownership.SecurityGroupSigns(group, id.SecurityGroup().Description, nil), named},
		"security group, shared":                {ownership.SecurityGroupSigns(id.SharedGroup().Name, id.SharedGroup().Description, id.SharedGroup().Tags), both},
		"security group, shared and not tagged": {ownership.SecurityGroupSigns(id.SharedGroup().Name, id.SharedGroup().Description, nil), both},
		"security group, of another's cluster":  {ownership.SecurityGroupSigns(id.SharedGroup().Name, id.SharedGroup().Description, []string{"kube_cluster_id_a"}), signs{ClusterIDs: []string{"a"}, ClusterName: "rig", Kubernetes: true}},
		"security group, shared by its name":    {ownership.SecurityGroupSigns(id.SharedGroup().Name, "by hand", nil), none},
		"security group, shared by its text":    {ownership.SecurityGroupSigns("nodes", id.SharedGroup().Description, nil), none},
		"load balancer, by hand with our proof": {ownership.LoadBalancerSigns("web", untagged.Description(), nil), none},
		"load balancer, with another's proof":   {ownership.LoadBalancerSigns(id.Name(), untagged.Description(), []string{"kube_cluster_id_a"}), signs{ClusterIDs: []string{"a"}, ClusterName: "rig", Kubernetes: true}},
		"security group, by hand":               {ownership.SecurityGroupSigns("lb-sg-mine", id.SecurityGroup().Description, nil), none},
	} {
		if diff := cmp.Diff(test.want, test.got, cmpopts.IgnoreFields(signs{}, "ServiceUIDs", "Services"), cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

func TestSigns_TellServiceAndNothingThatWasCut(t *testing.T) {
	t.Parallel()
	id, long := web(), with(func(id *ownership.Identity) { id.Service = strings.Repeat("x", 300) })
	untagged := with(func(id *ownership.Identity) { id.Untagged = true })
	const peer, inTree, name = "kube_service_rig_default_web-1", "a5a1c0f6e0a664b0e9c4d5f0b7f6c2a1", "default/web-1"
	const group = "lb-sg-" + serviceUID + "-default-web-1"
	for what, test := range map[string]struct {
		got   ownership.Signs
		uid   bool
		names []string
	}{
		"load balancer, ours":                                           {ownership.LoadBalancerSigns(id.Name(), id.Description(), id.Tags()), true, []string{name}},
		"load balancer, ours without tags":                              {ownership.LoadBalancerSigns(untagged.Name(), untagged.Description(), nil), true, []string{name}},
		"load balancer, ours with a long name":                          {ownership.LoadBalancerSigns(long.Name(), long.Description(), long.Tags()), true, nil},
		"load balancer, cloud-provider-openstack's":                     {ownership.LoadBalancerSigns(peer, "Kubernetes external service default/web-1 from cluster rig", []string{peer}), false, []string{name}},
		"load balancer, shared by Services of cloud-provider-openstack": {ownership.LoadBalancerSigns(peer, "", []string{peer, "kube_service_rig_default_api"}), false, []string{"default/api", name}},
		"load balancer, the in-tree provider's":                         {ownership.LoadBalancerSigns(inTree, "Kubernetes external service default/web-1 from cluster rig", nil), false, []string{name}},
		"listener, ours":                                                {ownership.PartSigns(id.ListenerName(0), id.Tags()), true, []string{name}},
		"pool, cloud-provider-openstack's":                              {ownership.PartSigns("pool_0_"+peer, nil), false, []string{name}},
		"listener, by hand":                                             {ownership.PartSigns("web", nil), false, nil},
		"load balancer, with the tag of the Service and a proof":        {ownership.LoadBalancerSigns(inTree, untagged.Description(), []string{"kube_svc_uid_" + serviceUID}), true, []string{name}},
		"security group, with the tag of another Service":               {ownership.SecurityGroupSigns(group, "", []string{"kube_svc_uid_" + serviceUID}), true, nil},
		"floating IP, ours":                                             {ownership.FloatingIPSigns(id.FloatingIPs().Description()), true, []string{name}},
		"floating IP, ours with a long name":                            {ownership.FloatingIPSigns(long.FloatingIPs().Description()), true, nil},
		"floating IP, not ours":                                         {ownership.FloatingIPSigns(id.FloatingIPs().LegacyDescription()), false, []string{name}},
		"security group, ours":                                          {ownership.SecurityGroupSigns(group, id.SecurityGroup().Description, id.SecurityGroup().Tags), true, nil},
		"security group, not tagged":                                    {ownership.SecurityGroupSigns(group, id.SecurityGroup().Description, nil), true, nil},
		"security group, shared and not tagged":                         {ownership.SecurityGroupSigns(id.SharedGroup().Name, id.SharedGroup().Description, nil), false, nil},
	} {
		want := ownership.Signs{Services: test.names}
		if test.uid {
			want.ServiceUIDs = []string{serviceUID}
		}
		if diff := cmp.Diff(want, ownership.Signs{ServiceUIDs: test.got.ServiceUIDs, Services: test.got.Services}, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

func TestIsPartOf_ConnectsPartsWithoutIDToTheirLoadBalancer(t *testing.T) {
	t.Parallel()
	const peer, inTree = "kube_service_rig_default_web", "a5a1c0f6e0a664b0e9c4d5f0b7f6c2a1"
	for _, test := range []struct {
		name, of string
		tags     []string
		want     bool
	}{
		{"listener_0_" + peer, peer, []string{peer}, true},
		{"renamed", peer, []string{peer}, true},
		{"pool_0_" + peer, peer, nil, true},
		{"pool_" + inTree + "_0", inTree, nil, true},
		{"pool_0_" + peer + "2", peer, nil, false},
		{"pool_0_" + peer, peer, []string{"somebody's"}, false},
		{"listener_0_" + peer, peer, []string{peer, "kube_cluster_id_a"}, false},
		{"pool_0_web", "web", nil, false},
		{"mine", "web", []string{"web"}, false},
	} {
		if got := ownership.IsPartOf(test.name, test.tags, test.of); got != test.want {
			t.Errorf("%s with tags %q on %s: %v", test.name, test.tags, test.of, got)
		}
	}
}
