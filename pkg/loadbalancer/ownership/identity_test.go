package ownership_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

const (
	clusterUID = "6faa580a-4c79-4d2a-9bf5-94cb7a364b0e"
	serviceUID = "83edf9cb-240e-4ea1-8c14-28551499e9bf"
)

func web() ownership.Identity {
	return ownership.Identity{
		ClusterName: "rig", ClusterID: clusterUID, ServiceUID: serviceUID, Namespace: "default", Service: "web-1",
	}
}

func with(change func(*ownership.Identity)) ownership.Identity {
	id := web()
	change(&id)
	return id
}

func TestIdentity_HasNamesOfCloudProviderOpenStack(t *testing.T) {
	t.Parallel()
	id := web()
	got := []string{id.Name(), id.ListenerName(0), id.PoolName(2), id.MonitorName(11), id.Description(), id.FloatingIPs().LegacyDescription()}
	want := []string{
		"kube_service_rig_default_web-1",
		"listener_0_kube_service_rig_default_web-1",
		"pool_2_kube_service_rig_default_web-1",
		"monitor_11_kube_service_rig_default_web-1",
		"Kubernetes external service default/web-1 from cluster rig",
		"Floating IP for Kubernetes external service default/web-1 from cluster rig",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestIdentity_AddsUIDsToLegacyNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what        string
		id          ownership.Identity
		tags        []string
		description string
		floatingIP  string
	}{
		{
			"all is known", web(),
			[]string{"kube_service_rig_default_web-1", "kube_cluster_id_" + clusterUID, "kube_svc_uid_" + serviceUID},
			"Kubernetes external service default/web-1 from cluster rig",
			"Floating IP for Kubernetes external service default/web-1 (uid " + serviceUID + " in " + clusterUID + ") from cluster rig",
		},
		{
			"the cluster's UID is not", with(func(id *ownership.Identity) { id.ClusterID = "" }),
			[]string{"kube_service_rig_default_web-1", "kube_svc_uid_" + serviceUID},
			"Kubernetes external service default/web-1 from cluster rig",
			"Floating IP for Kubernetes external service default/web-1 (uid " + serviceUID + ") from cluster rig",
		},
		{
			"Octavia has no tags", with(func(id *ownership.Identity) { id.Untagged = true }),
			nil,
			"Kubernetes external service default/web-1 (uid " + serviceUID + " in " + clusterUID + ") from cluster rig",
			"Floating IP for Kubernetes external service default/web-1 (uid " + serviceUID + " in " + clusterUID + ") from cluster rig",
		},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.tags, test.id.Tags()); diff != "" {
				t.Error(diff)
			}
			if got := test.id.Description(); got != test.description {
				t.Errorf("description %q, want %q", got, test.description)
			}
			if got := test.id.FloatingIPs().Description(); got != test.floatingIP {
				t.Errorf("floating IP %q, want %q", got, test.floatingIP)
			}
		})
	}
}

func TestIdentity_HasOneTagThatCountsAsSharing(t *testing.T) {
	t.Parallel()
	tags := web().Tags()
	sharing := slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return !strings.HasPrefix(tag, "kube_service_") })
	if len(sharing) != 1 || sharing[0] != web().Name() {
		t.Errorf("tags %v: cloud-provider-openstack would count %v as sharing", tags, sharing)
	}
}

// longest returns an identity with the longest names that Kubernetes allows.
func longest(clusterName int, untagged bool) ownership.Identity {
	return ownership.Identity{
		ClusterName: strings.Repeat("c", clusterName-1) + "C", ClusterID: clusterUID, ServiceUID: serviceUID,
		Namespace: strings.Repeat("n", 63), Service: strings.Repeat("s", 63), Untagged: untagged,
	}
}

func TestIdentity_HasDescriptionsThatMagnumLooksFor(t *testing.T) {
	t.Parallel()
	for length := 1; length <= 150; length++ {
		for _, untagged := range []bool{false, true} {
			id := longest(length, untagged)
			// magnum/common/octavia.py deletes a cluster's load balancers and
			// floating IPs by these.
			lb := regexp.MustCompile(fmt.Sprintf("Kubernetes .+ from cluster %s$", id.ClusterName))
			fip := regexp.MustCompile(fmt.Sprintf("Floating IP for Kubernetes .+ from cluster %s$", id.ClusterName))
			if text := id.Description(); !lb.MatchString(text) {
				t.Errorf("cluster name of %d: %q does not match %s", length, text, lb)
			}
			if text := id.FloatingIPs().Description(); !fip.MatchString(text) {
				t.Errorf("cluster name of %d: %q does not match %s", length, text, fip)
			}
		}
	}
}

func TestIdentity_LimitsTextsToWhatCloudAccepts(t *testing.T) {
	t.Parallel()
	for _, length := range []int{1, 63, 114, 115, 131, 132, 150, 255, 400} {
		for _, untagged := range []bool{false, true} {
			id := longest(length, untagged)
			texts := append(id.Tags(), id.Name(), id.Description(), id.FloatingIPs().Description(),
				id.ListenerName(99), id.PoolName(99), id.MonitorName(99))
			for _, text := range texts {
				if len(text) > 255 {
					t.Errorf("cluster name of %d: %d bytes: %s", length, len(text), text)
				}
			}
		}
	}
}

func TestIdentity_NeverCutsProof(t *testing.T) {
	t.Parallel()
	for length := 1; length <= 255; length++ {
		id := longest(length, true)
		if !id.FloatingIPs().Own(id.FloatingIPs().Description()) {
			t.Errorf("cluster name of %d: not its own: %q", length, id.FloatingIPs().Description())
		}
		if id.Claim(nil, id.Description()) != ownership.Ours {
			t.Errorf("cluster name of %d: not its own: %q", length, id.Description())
		}
		if !slices.Contains(longest(length, false).Tags(), "kube_svc_uid_"+serviceUID) {
			t.Errorf("cluster name of %d: tags %v", length, longest(length, false).Tags())
		}
	}
}

func TestClaim_FollowsTagsOfClusterAndService(t *testing.T) {
	t.Parallel()
	const name, cluster, service = "kube_service_rig_default_web-1", "kube_cluster_id_", "kube_svc_uid_"
	unknownCluster := with(func(id *ownership.Identity) { id.ClusterID = "" })
	for _, test := range []struct {
		what string
		id   ownership.Identity
		tags []string
		want ownership.Claim
	}{
		{"ours, of our cluster", web(), []string{name, cluster + clusterUID, service + serviceUID}, ownership.Ours},
		{"ours, of no cluster", web(), []string{name, service + serviceUID}, ownership.Ours},
		{"ours, under another name", web(), []string{service + serviceUID}, ownership.Ours},
		{"ours, of another cluster", web(), []string{name, cluster + "other", service + serviceUID}, ownership.Theirs},
		{"another's, of our cluster", web(), []string{name, cluster + clusterUID, service + "other"}, ownership.Theirs},
		{"another's, of another cluster", web(), []string{name, cluster + "other", service + "other"}, ownership.Theirs},
		{"another's, whose UID begins like ours", web(), []string{service + serviceUID + "0"}, ownership.Theirs},
		{"another's, whose UID is the begin of ours", web(), []string{service + serviceUID[:8]}, ownership.Theirs},
		{"nobody's, of another cluster", web(), []string{name, cluster + "other"}, ownership.Theirs},
		{"nobody's, of our cluster", web(), []string{name, cluster + clusterUID}, ownership.Unclaimed},
		{"nobody's, with the name", web(), []string{name}, ownership.Unclaimed},
		{"nobody's", web(), nil, ownership.Unclaimed},
		{"ours among others", web(), []string{service + "other", service + serviceUID}, ownership.Ours},
		{"ours, when we do not know our cluster", unknownCluster, []string{cluster + "any", service + serviceUID}, ownership.Ours},
		{"another's, when we do not know our cluster", unknownCluster, []string{cluster + "any", service + "other"}, ownership.Theirs},
		{"a cluster's, when we do not know ours", unknownCluster, []string{cluster + "any"}, ownership.Unclaimed},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			if got := test.id.Claim(test.tags, "whatever"); got != test.want {
				t.Errorf("Claim(%v) = %v, want %v", test.tags, got, test.want)
			}
		})
	}
}

func TestClaim_FollowsDescriptionWithoutTags(t *testing.T) {
	t.Parallel()
	untagged := func(change func(*ownership.Identity)) ownership.Identity {
		return with(func(id *ownership.Identity) { id.Untagged = true; change(id) })
	}
	us := untagged(func(*ownership.Identity) {})
	for _, test := range []struct {
		what        string
		description string
		want        ownership.Claim
	}{
		{"our own", us.Description(), ownership.Ours},
		{"of another Service", untagged(func(id *ownership.Identity) { id.ServiceUID = "other" }).Description(), ownership.Theirs},
		{"of another cluster", untagged(func(id *ownership.Identity) { id.ClusterID = "other" }).Description(), ownership.Theirs},
		{"of cloud-provider-openstack", web().Description(), ownership.Unclaimed},
		{"of a person", "do not touch", ownership.Unclaimed},
		{"none", "", ownership.Unclaimed},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			if got := us.Claim([]string{"kube_svc_uid_" + serviceUID}, test.description); got != test.want {
				t.Errorf("Claim(%q) = %v, want %v", test.description, got, test.want)
			}
		})
	}
}

func TestCutProof_SeparatesOwnersFromWhatStandsBefore(t *testing.T) {
	t.Parallel()
	id := web()
	for description, want := range map[string]struct {
		head string
		uids []string
	}{
		id.FloatingIPs().Description(): {"Floating IP for Kubernetes external service default/web-1", []string{serviceUID}},
		with(func(id *ownership.Identity) { id.ClusterID = "" }).FloatingIPs().Description(): {
			"Floating IP for Kubernetes external service default/web-1", []string{serviceUID},
		},
		id.FloatingIPs().LegacyDescription(): {id.FloatingIPs().LegacyDescription(), nil},
		"":                                   {"", nil},
		"mine (uid a in c) (uid b)":          {"mine", []string{"a", "b"}},
		"mine (uid ":                         {"mine", []string{""}},
	} {
		if head, uids := ownership.CutProof(description); head != want.head || !slices.Equal(uids, want.uids) {
			t.Errorf("%q: %q, %q, want %q, %q", description, head, uids, want.head, want.uids)
		}
	}
}

func TestOwnsFloatingIP_NeedsProofInDescription(t *testing.T) {
	t.Parallel()
	describe := func(proof string) string {
		return "Floating IP for Kubernetes external service default/web-1 (" + proof + ") from cluster rig"
	}
	unknownCluster := with(func(id *ownership.Identity) { id.ClusterID = "" })
	for _, test := range []struct {
		what        string
		id          ownership.Identity
		description string
		want        bool
	}{
		{"our own", web(), web().FloatingIPs().Description(), true},
		{"ours, made when our cluster was not known", web(), unknownCluster.FloatingIPs().Description(), true},
		{"ours, now that our cluster is not known", unknownCluster, web().FloatingIPs().Description(), true},
		{"ours, under another cluster name", with(func(id *ownership.Identity) { id.ClusterName = "new" }), web().FloatingIPs().Description(), true},
		{"of another cluster with our Service's UID", web(), describe("uid " + serviceUID + " in other"), false},
		{"of another cluster whose UID begins like ours", web(), describe("uid " + serviceUID + " in " + clusterUID + "0"), false},
		{"of another Service", web(), describe("uid other in " + clusterUID), false},
		{"of a Service whose UID begins like ours", web(), describe("uid " + serviceUID + "0 in " + clusterUID), false},
		{"of a Service whose UID ends like ours", web(), describe("uid 0" + serviceUID + " in " + clusterUID), false},
		{"of a Service whose UID is the begin of ours", web(), describe("uid " + serviceUID[:8] + " in " + clusterUID), false},
		{"of cloud-provider-openstack", web(), web().FloatingIPs().LegacyDescription(), false},
		{"a person's who quotes ours", web(), "moved from " + web().FloatingIPs().Description(), false},
		{"a person's who quotes our UID", web(), "uid " + serviceUID, false},
		{"one that only begins like ours", web(), "Floating IP for Kubernetes (uid " + serviceUID + ")", false},
		{"a load balancer's", web(), with(func(id *ownership.Identity) { id.Untagged = true }).Description(), false},
		{"none", web(), "", false},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			if got := test.id.FloatingIPs().Own(test.description); got != test.want {
				t.Errorf("FloatingIPs().Own(%q) = %v, want %v", test.description, got, test.want)
			}
		})
	}
}

func TestOwnsChild_GoesByTagsBeforeName(t *testing.T) {
	t.Parallel()
	us := web()
	other := with(func(id *ownership.Identity) { id.Service, id.ServiceUID = "web-10", "other" })
	for _, test := range []struct {
		what string
		name string
		tags []string
		want bool
	}{
		{"a listener of ours", us.ListenerName(0), us.Tags(), true},
		{"a renamed listener of ours", "renamed", us.Tags(), true},
		{"a listener of another Service", other.ListenerName(0), other.Tags(), false},
		{"a listener of another Service with our name", us.ListenerName(0), other.Tags(), false},
		{"cloud-provider-openstack's listener for us", us.ListenerName(0), []string{us.Name()}, true},
		{"cloud-provider-openstack's listener for another Service", other.ListenerName(0), []string{other.Name()}, false},
		{"somebody's tagged listener with our name", us.ListenerName(0), []string{"production"}, false},
		{"cloud-provider-openstack's pool for us", us.PoolName(12), nil, true},
		{"cloud-provider-openstack's monitor for us", us.MonitorName(0), nil, true},
		{"cloud-provider-openstack's pool for another Service", other.PoolName(0), nil, false},
		{"a pool for a Service whose name is the begin of ours", "pool_0_kube_service_rig_default_web", nil, false},
		{"a pool without a number", "pool_" + us.Name(), nil, false},
		{"a pool with more before its name", "my_" + us.PoolName(0), nil, false},
		{"somebody's pool", "pool", nil, false},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			if got := us.OwnsChild(test.name, test.tags); got != test.want {
				t.Errorf("OwnsChild(%q, %v) = %v, want %v", test.name, test.tags, got, test.want)
			}
		})
	}
}

func TestOwnsChild_AcceptsCutName(t *testing.T) {
	t.Parallel()
	id := longest(150, false)
	if !id.OwnsChild(id.PoolName(0), nil) || !id.OwnsChild(id.PoolName(123), nil) {
		t.Errorf("a pool with a cut name is not its own: %s", id.PoolName(0))
	}
	shorter := id.PoolName(0)[:200]
	if id.OwnsChild(shorter, nil) {
		t.Errorf("a pool is taken by the begin of its name: %s", shorter)
	}
}

//proves:21,22
func TestKeptFloatingIP_NeedsSameNameInSameCluster(t *testing.T) {
	t.Parallel()
	ours := ownership.Identity{ClusterName: "prod", ClusterID: "c1", ServiceUID: "new", Namespace: "default", Service: "web"}
	with := func(change func(*ownership.Identity)) string {
		other := ours
		other.ServiceUID = "old"
		change(&other)
		return other.FloatingIPs().Description()
	}
	long := strings.Repeat("n", 250)
	cut := ours
	cut.Service = long
	for _, test := range []struct {
		what        string
		id          ownership.Identity
		description string
		want        bool
	}{
		{"of the same name", ours, with(func(*ownership.Identity) {}), true},
		{"of the same name, when the cluster had another", ours, with(func(i *ownership.Identity) { i.ClusterName = "staging" }), true},
		{"the Service's own", ours, ours.FloatingIPs().Description(), false},
		{"of a name that begins alike", ours, with(func(i *ownership.Identity) { i.Service = "web2" }), false},
		{"of a name that ends alike", ours, with(func(i *ownership.Identity) { i.Namespace = "my-default" }), false},
		{"of another namespace", ours, with(func(i *ownership.Identity) { i.Namespace = "test" }), false},
		{"of another cluster", ours, with(func(i *ownership.Identity) { i.ClusterID = "c2" }), false},
		{"of a cluster that told no ID", ours, with(func(i *ownership.Identity) { i.ClusterID = "" }), false},
		{"for a cluster that tells no ID", ownership.Identity{ClusterName: "prod", ServiceUID: "new", Namespace: "default", Service: "web"}, with(func(*ownership.Identity) {}), false},
		{"cloud-provider-openstack's", ours, ours.FloatingIPs().LegacyDescription(), false},
		{"of a name that was cut", cut, with(func(i *ownership.Identity) { i.Service = long + "x" }), false},
		{"a person's", ours, "reserved for default/web (uid old in c1) from cluster prod", false},
	} {
		if got := test.id.FloatingIPs().Kept(test.description); got != test.want {
			t.Errorf("%s: %v, want %v: %s", test.what, got, test.want, test.description)
		}
	}
}

// There can be thousands of floating IPs in a project, and as many Services.
func BenchmarkOneServiceAmongManyFloatingIPs(b *testing.B) {
	var all []string
	for i := range 5000 {
		all = append(all, with(func(id *ownership.Identity) {
			id.Service, id.ServiceUID = fmt.Sprintf("web-%d", i), fmt.Sprintf("5a1c0f6e-0a66-4b0e-9c4d-%012d", i)
		}).FloatingIPs().Description())
	}
	id := web()
	for b.Loop() {
		for _, description := range all {
			if id.FloatingIPs().Own(description) || id.FloatingIPs().Kept(description) {
				b.Fatal("another's is taken for ours")
			}
		}
	}
}

func TestFloatingIPOwner_ReadsOwnerFromDescription(t *testing.T) {
	t.Parallel()
	long := with(func(id *ownership.Identity) { id.ClusterName = strings.Repeat("c", 250) })
	for what, test := range map[string]struct {
		description string
		want        ownership.Owner
		ours        bool
	}{
		"ours": {web().FloatingIPs().Description(), ownership.Owner{
			ClusterID: clusterUID, ServiceUID: serviceUID, ClusterName: "rig", Namespace: "default", Service: "web-1", Kubernetes: true,
		}, true},
		"by a cluster without an ID": {with(func(id *ownership.Identity) { id.ClusterID = "" }).FloatingIPs().Description(), ownership.Owner{
			ServiceUID: serviceUID, ClusterName: "rig", Namespace: "default", Service: "web-1", Kubernetes: true,
		}, true},
		"ours, with a name that was cut": {long.FloatingIPs().Description(), ownership.Owner{}, true},
		"cloud-provider-openstack's":     {web().FloatingIPs().LegacyDescription(), ownership.Owner{}, false},
		"a person's":                     {"reserved for default/web-1 (uid x) from cluster rig", ownership.Owner{}, false},
	} {
		got, ours := ownership.FloatingIPOwner(test.description)
		if diff := cmp.Diff(test.want, got); diff != "" || ours != test.ours {
			t.Errorf("%s: ours %v, %s", what, ours, diff)
		}
	}
}
