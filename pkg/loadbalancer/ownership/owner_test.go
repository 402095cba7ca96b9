package ownership_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

func TestOwnerOf_ReadsOwnerFromNameDescriptionAndTags(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for what, test := range map[string]struct {
		name, description string
		tags              []string
		want              ownership.Owner
		words             string
		inThisCluster     bool
	}{
		"ours": {
			web().Name(), web().Description(), web().Tags(),
			ownership.Owner{ClusterID: clusterUID, ServiceUID: serviceUID, ClusterName: "rig", Namespace: "default", Service: "web-1", Kubernetes: true},
			"Service default/web-1 of cluster rig", true,
		},
		"another cluster's of our name": {
			web().Name(), web().Description(), with(func(id *ownership.Identity) { id.ClusterID = "other" }).Tags(),
			ownership.Owner{ClusterID: "other", ServiceUID: serviceUID, ClusterName: "rig", Namespace: "default", Service: "web-1", Kubernetes: true},
			"Service default/web-1 of cluster rig", false,
		},
		"ours, by a cluster whose UID could not be read": {
			web().Name(), web().Description(), with(func(id *ownership.Identity) { id.ClusterID = "" }).Tags(),
			ownership.Owner{ServiceUID: serviceUID, ClusterName: "rig", Namespace: "default", Service: "web-1", Kubernetes: true},
			"Service default/web-1 of cluster rig", false,
		},
		"cloud-provider-openstack's": {
			"kube_service_rig_shop_a", "", []string{"kube_service_rig_shop_a"},
			ownership.Owner{ClusterName: "rig", Namespace: "shop", Service: "a", Kubernetes: true},
			"Service shop/a of cluster rig", true,
		},
		"cloud-provider-openstack's of a cluster with underscores": {
			"kube_service_my_big_rig_shop_a", "", nil,
			ownership.Owner{ClusterName: "my_big_rig", Namespace: "shop", Service: "a", Kubernetes: true},
			"Service shop/a of cluster my_big_rig", false,
		},
		"with a name that was cut": {
			("kube_service_" + long)[:255], "", nil, ownership.Owner{Kubernetes: true}, "a Service", false,
		},
		"of the provider inside of Kubernetes": {
			"a83edf9cb240e4ea18c1428551499e9b", "", nil, ownership.Owner{Kubernetes: true}, "a Service", false,
		},
		"a person's": {"web", "Kubernetes external service default/web-1 from cluster rig", []string{"production"}, ownership.Owner{}, "a client outside of Kubernetes", false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			got := ownership.OwnerOf(test.name, test.description, test.tags)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if got.String() != test.words {
				t.Errorf("in words %q, want %q", got, test.words)
			}
			if in := got.InClusterOf(web()); in != test.inThisCluster {
				t.Errorf("in this cluster: %v", in)
			}
		})
	}
}

func TestSharerOf_NamesServiceOfListener(t *testing.T) {
	t.Parallel()
	other := with(func(id *ownership.Identity) { id.ClusterName = "renamed" })
	for _, test := range []struct {
		name string
		tags []string
		want string
	}{
		{web().ListenerName(0), web().Tags(), "default/web-1"},
		{other.ListenerName(0), other.Tags(), "default/web-1"}, // the same Service
		{web().ListenerName(3), []string{web().Name()}, "default/web-1"},
		{web().ListenerName(0), nil, "default/web-1"},
		{"renamed", []string{"kube_svc_uid_u"}, "u"},
		{"somebody's", []string{"production"}, ""},
	} {
		if got := ownership.SharerOf(test.name, test.tags); got != test.want {
			t.Errorf("%s %v serves %q, want %q", test.name, test.tags, got, test.want)
		}
	}
}

// On a load balancer that we share, another cluster's Service of our name may be too.
func TestOwnsChild_IgnoresNameOnSharedLoadBalancerUnlessServed(t *testing.T) {
	t.Parallel()
	for _, served := range []bool{false, true} {
		id := with(func(id *ownership.Identity) { id.Sharing = ownership.Sharing{Is: true, Served: served} })
		if got := id.OwnsChild(id.ListenerName(0), []string{id.Name()}); got != served {
			t.Errorf("served before %v: by its tag %v", served, got)
		}
		if got := id.OwnsChild(id.PoolName(0), nil); got != served {
			t.Errorf("served before %v: by its name %v", served, got)
		}
		if !id.OwnsChild("renamed", id.Tags()) {
			t.Errorf("served before %v: not by its UID", served)
		}
	}
}

func TestOwnsFloatingIPOnVIP_FollowsOwnerOfSharedLoadBalancer(t *testing.T) {
	t.Parallel()
	owner := with(func(id *ownership.Identity) { id.Service, id.ServiceUID = "owner", "uid-of-owner" })
	for what, test := range map[string]struct {
		sharing     ownership.Sharing
		description string
		want        bool
	}{
		"the owner's":             {ownership.Sharing{Is: true, Removable: true, Owner: ownership.OwnerOf(owner.Name(), owner.Description(), owner.Tags())}, owner.FloatingIPs().Description(), true},
		"of one that stays":       {ownership.Sharing{Is: true, Owner: ownership.OwnerOf(owner.Name(), owner.Description(), owner.Tags())}, owner.FloatingIPs().Description(), false},
		"our own, put on it":      {ownership.Sharing{Is: true, Removable: true, Owner: ownership.OwnerOf(owner.Name(), owner.Description(), owner.Tags())}, web().FloatingIPs().Description(), true},
		"an older owner's":        {ownership.Sharing{Is: true, Removable: true, Owner: ownership.OwnerOf(owner.Name(), owner.Description(), nil)}, owner.FloatingIPs().LegacyDescription(), true},
		"a person's":              {ownership.Sharing{Is: true, Removable: true, Owner: ownership.OwnerOf(owner.Name(), owner.Description(), nil)}, "reserved", false},
		"ours under another name": {ownership.Sharing{}, "Floating IP for Kubernetes external service default/web-1 from cluster before", true},
	} {
		id := with(func(id *ownership.Identity) { id.Sharing = test.sharing })
		if got := id.FloatingIPs().OwnOnVIP(test.description, true); got != test.want {
			t.Errorf("%s: %v, want %v", what, got, test.want)
		}
	}
}

//proves:64
func TestIdentity_KeepsCutNamesDistinct(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, service := range []string{"a", "b"} {
		id := longest(200, false)
		id.Service = id.Service[:62] + service
		for _, name := range []string{id.Name(), id.ListenerName(0), id.ListenerName(1), id.PoolName(0), id.MonitorName(0)} {
			if len(name) != 255 || seen[name] || strings.ContainsRune(name, '�') {
				t.Errorf("%d bytes, seen before %v: %s", len(name), seen[name], name)
			}
			seen[name] = true
		}
		if again := id; again.Name() != id.Name() {
			t.Error("the hash is another one each time")
		}
		id.ClusterName = strings.Repeat("ü", 150)
		if strings.ContainsRune(id.Name(), '�') || len(id.Name()) > 255 {
			t.Errorf("cut within a letter: %s", id.Name())
		}
	}
}

func TestOwnOnVIP_ReleasesWhatItsNamespaceHasKept(t *testing.T) {
	t.Parallel()
	api := with(func(id *ownership.Identity) { id.Service, id.ServiceUID = "api", "uid-of-api" })
	shop := with(func(id *ownership.Identity) { id.Namespace, id.ServiceUID = "shop", "uid-of-shop" })
	theirs := with(func(id *ownership.Identity) { id.ClusterID, id.ServiceUID = "theirs", "uid-of-theirs" })
	unknown := with(func(id *ownership.Identity) { id.ClusterID = "" })
	for what, test := range map[string]struct {
		of          ownership.Identity
		description string
		releases    bool // what a Service that releases its floating IP owns
		keeps       bool // what another one owns
	}{
		"its own":                         {web(), web().FloatingIPs().Description(), true, true},
		"of a neighbor":                   {web(), api.FloatingIPs().Description(), true, false},
		"of another namespace":            {web(), shop.FloatingIPs().Description(), false, false},
		"of another cluster":              {web(), theirs.FloatingIPs().Description(), false, false},
		"of cloud-provider-openstack":     {web(), web().FloatingIPs().LegacyDescription(), false, false},
		"a person's":                      {web(), "reserved", false, false},
		"of an unknown cluster, by ours":  {unknown, api.FloatingIPs().Description(), false, false},
		"of a neighbor of no known place": {unknown, with(func(id *ownership.Identity) { id.ClusterID, id.ServiceUID = "", "api" }).FloatingIPs().Description(), false, false},
	} {
		for releases, want := range map[bool]bool{true: test.releases, false: test.keeps} {
			id := test.of
			id.Releases = releases
			if got := id.FloatingIPs().OwnOnVIP(test.description, false); got != want {
				t.Errorf("%s, releases %v: %v", what, releases, got)
			}
		}
	}
}

// The last Service on a load balancer deletes it if its owner has no parts there any more.
func TestOwnerHas_GoesByUIDOrNameAndAssumesUnknownOwnersToHaveAll(t *testing.T) {
	t.Parallel()
	byUID := ownership.Owner{ServiceUID: serviceUID, Kubernetes: true}
	byName := ownership.Owner{Namespace: "default", Service: "web-1", Kubernetes: true}
	both := ownership.OwnerOf(web().Name(), web().Description(), web().Tags())
	api := with(func(id *ownership.Identity) { id.Service, id.ServiceUID = "api", "uid-of-api" })
	renamed := []string{web().ServiceTag()}
	for what, test := range map[string]struct {
		owner ownership.Owner
		name  string
		tags  []string
		want  bool
	}{
		"unknown":                           {ownership.Owner{Kubernetes: true}, "by hand", nil, true},
		"by its UID":                        {byUID, "renamed", renamed, true},
		"by its UID, another's":             {byUID, api.PoolName(0), api.Tags(), false},
		"by its UID, by hand":               {byUID, "by hand", nil, false},
		"by its name":                       {byName, web().PoolName(0), nil, true},
		"by its name, another's":            {byName, api.PoolName(0), nil, false},
		"by its name, with a tag of no UID": {byName, "by hand", []string{"kube_svc_uid_"}, false},
		"by both, renamed":                  {both, "renamed", renamed, true},
		"by both, without tags":             {both, web().PoolName(0), nil, true},
		"by both, another's":                {both, api.PoolName(0), api.Tags(), false},
	} {
		if got := test.owner.Has(test.name, test.tags); got != test.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// An owner without a known cluster is in no cluster, also if --cluster-name is empty.
func TestInClusterOf_NeedsAKnownCluster(t *testing.T) {
	t.Parallel()
	unnamed := with(func(id *ownership.Identity) { id.ClusterName, id.ClusterID = "", "" })
	for what, owner := range map[string]ownership.Owner{
		"a client outside of Kubernetes": {}, "a truncated name": {Kubernetes: true}, "of an unknown cluster": {ServiceUID: "u", Kubernetes: true},
	} {
		if owner.InClusterOf(unnamed) || owner.InClusterOf(web()) {
			t.Errorf("%s is taken for one of this cluster", what)
		}
	}
}
