package ownership_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

func TestIdentity_HasAllNamesThatItsLoadBalancerCanHave(t *testing.T) {
	t.Parallel()
	const ours, inTree = "kube_service_rig_default_web-1", "a83edf9cb240e4ea18c1428551499e9b"
	for what, test := range map[string]struct {
		id   ownership.Identity
		want []string
	}{
		"usually":            {web(), []string{ours, ours, inTree}},
		"with a former name": {with(func(id *ownership.Identity) { id.Former = "before" }), []string{ours, ours, inTree, "before"}},
		"with a short UID":   {with(func(id *ownership.Identity) { id.ServiceUID = "1-2" }), []string{ours, ours, "a12"}},
	} {
		if diff := cmp.Diff(test.want, test.id.Names()); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

func TestFormerlyOurs_NeedsNameOfTheServiceUnderAnyClusterName(t *testing.T) {
	t.Parallel()
	unnamed := with(func(id *ownership.Identity) { id.ClusterName = "" })
	for _, test := range []struct {
		id   ownership.Identity
		name string
		want bool
	}{
		{web(), "kube_service_before_default_web-1", true},
		{web(), "kube_service_rig_default_web-1", true},
		{web(), "kube_service_before_default_web-10", false},
		{web(), "kube_service_before_shop_web-1", false},
		{web(), "before_default_web-1", false},
		{web(), "kube_service_default", false},
		{unnamed, "kube_service_before_default_web-1", false},
	} {
		if got := test.id.FormerlyOurs(test.name); got != test.want {
			t.Errorf("cluster %q, %s: %v", test.id.ClusterName, test.name, got)
		}
	}
}

func TestReplacesTag_NamesReplacedLoadBalancerAndReason(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		tags     []string
		id, hash string
	}{
		"none":              {nil, "", ""},
		"only others":       {web().Tags(), "", ""},
		"after others":      {append(web().Tags(), ownership.ReplacesTag("lb", "hash")), "lb", "hash"},
		"the first of two":  {[]string{ownership.ReplacesTag("a", "1"), ownership.ReplacesTag("b", "2")}, "a", "1"},
		"without a hash":    {[]string{"kube_lb_replaces_lb"}, "lb", ""},
		"within other text": {[]string{"x" + ownership.ReplacesTag("lb", "hash")}, "", ""},
	} {
		if id, hash := ownership.Replaces(test.tags); id != test.id || hash != test.hash {
			t.Errorf("%s: %q, %q", what, id, hash)
		}
	}
}

func TestProvenDescription_ProvesItsServiceInItsCluster(t *testing.T) {
	t.Parallel()
	theirs := with(func(id *ownership.Identity) { id.ClusterID = "theirs" })
	api := with(func(id *ownership.Identity) { id.ServiceUID = "api" })
	unknown := with(func(id *ownership.Identity) { id.ClusterID = "" })
	for what, test := range map[string]struct {
		description string
		want        bool
	}{
		"its own":                         {web().ProvenDescription(), true},
		"its own, the cluster is unknown": {unknown.ProvenDescription(), true},
		"another cluster's":               {theirs.ProvenDescription(), false},
		"another Service's":               {api.ProvenDescription(), false},
		"without proof":                   {web().Description(), false},
		"of a floating IP":                {web().FloatingIPs().Description(), false},
		"quoted":                          {"see " + web().ProvenDescription(), false},
	} {
		if got := web().ProvenBy(test.description); got != test.want {
			t.Errorf("%s: %v: %s", what, got, test.description)
		}
	}
}

func TestSecurityGroups_HaveNamesAndTagsOfTheirOwner(t *testing.T) {
	t.Parallel()
	unknown := with(func(id *ownership.Identity) { id.ClusterID = "" })
	own := ownership.Group{
		Name: "lb-sg-" + serviceUID + "-default-web-1", Description: "Security Group for default/web-1 Service LoadBalancer in cluster rig",
		Tags: []string{"kube_cluster_id_" + clusterUID, "kube_svc_uid_" + serviceUID},
	}
	untagged := own
	untagged.Tags = []string{"kube_svc_uid_" + serviceUID}
	shared := ownership.Group{
		Name: "lb-sg-cluster-" + clusterUID, Description: "Security Group for the nodes behind LoadBalancer Services in cluster rig",
		Tags: []string{"kube_cluster_id_" + clusterUID},
	}
	for what, test := range map[string]struct{ got, want ownership.Group }{
		"the Service's":                           {web().SecurityGroup(), own},
		"the Service's, the cluster is unknown":   {unknown.SecurityGroup(), untagged},
		"the cluster's":                           {web().SharedGroup(), shared},
		"that of a cluster that has no known UID": {unknown.SharedGroup(), ownership.Group{}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	long := with(func(id *ownership.Identity) {
		id.Service, id.ClusterName = strings.Repeat("s", 300), strings.Repeat("c", 300)
	})
	for _, text := range []string{long.SecurityGroup().Name, long.SecurityGroup().Description, long.SharedGroup().Description, long.RuleDescription()} {
		if len(text) != 255 {
			t.Errorf("%d bytes: %s", len(text), text)
		}
	}
}

func TestGroup_IsTheServicesUnlessItsTagsContradict(t *testing.T) {
	t.Parallel()
	group := web().SecurityGroup()
	const cluster, service = "kube_cluster_id_", "kube_svc_uid_"
	for what, test := range map[string]struct {
		name string
		tags []string
		want bool
	}{
		"its own":               {group.Name, group.Tags, true},
		"without tags":          {group.Name, nil, true},
		"of another cluster":    {group.Name, []string{cluster + "theirs", service + serviceUID}, false},
		"of another Service":    {group.Name, []string{cluster + clusterUID, service + "api"}, false},
		"of several, also ours": {group.Name, []string{cluster + "theirs", cluster + clusterUID}, true},
		"of another name":       {group.Name + "x", group.Tags, false},
	} {
		if got := group.Is(test.name, test.tags); got != test.want {
			t.Errorf("%s: %v", what, got)
		}
	}
	unknown := with(func(id *ownership.Identity) { id.ClusterID = "" }).SecurityGroup()
	if !unknown.Is(group.Name, group.Tags) {
		t.Error("a cluster without a known UID loses its groups")
	}
	if (ownership.Group{}).Is("", nil) {
		t.Error("no group is a group without a name")
	}
}

func TestRuleDescription_TellsRulesOfOneServiceFromCommonOnes(t *testing.T) {
	t.Parallel()
	own := web().RuleDescription()
	if own != "LoadBalancer Service default/web-1 (uid "+serviceUID+")" {
		t.Errorf("it is %q", own)
	}
	for description, want := range map[string]struct{ service, common bool }{
		own:                             {true, false},
		ownership.CommonRuleDescription: {false, true},
		"by hand":                       {false, false},
		"":                              {false, false},
	} {
		if service, common := ownership.IsServiceRule(description), ownership.IsCommonRule(description); service != want.service || common != want.common {
			t.Errorf("%q: of a Service %v, common %v", description, service, common)
		}
	}
}
