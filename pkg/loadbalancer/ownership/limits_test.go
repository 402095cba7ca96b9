package ownership_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// A text as long as the limit may have been truncated, so that the names in it are not reliable.
func TestOwner_ReadsNamesOnlyFromTextsBelowTheLimit(t *testing.T) {
	t.Parallel()
	// named returns an identity for which the text has this length.
	named := func(text func(ownership.Identity) string, length int) ownership.Identity {
		id := with(func(id *ownership.Identity) { id.ClusterName = "c" })
		id.ClusterName = strings.Repeat("c", 1+length-len(text(id)))
		return id
	}
	name := func(id ownership.Identity) string { return id.Name() }
	pool := func(id ownership.Identity) string { return id.PoolName(0) }
	description := func(id ownership.Identity) string { return id.Description() }
	floatingIP := func(id ownership.Identity) string { return id.FloatingIPs().Description() }
	legacy := func(id ownership.Identity) string { return id.FloatingIPs().LegacyDescription() }
	group := func(id ownership.Identity) string { return id.SecurityGroup().Description }
	for what, test := range map[string]struct {
		text func(ownership.Identity) string
		read func(text string) (cluster string, services []string)
	}{
		"owner, by the name": {name, func(text string) (string, []string) {
			o := ownership.OwnerOf(text, "", nil)
			return o.ClusterName, []string{o.Namespace + "/" + o.Service}
		}},
		"owner, by the description": {description, func(text string) (string, []string) {
			o := ownership.OwnerOf("kube_service_", text, nil)
			return o.ClusterName, []string{o.Namespace + "/" + o.Service}
		}},
		"owner of a floating IP": {floatingIP, func(text string) (string, []string) {
			o, _ := ownership.FloatingIPOwner(text)
			return o.ClusterName, []string{o.Namespace + "/" + o.Service}
		}},
		"signs of a load balancer": {name, func(text string) (string, []string) {
			s := ownership.LoadBalancerSigns(text, "", nil)
			return s.ClusterName, s.Services
		}},
		"signs of a pool": {pool, func(text string) (string, []string) {
			s := ownership.PartSigns(text, nil)
			return s.ClusterName, s.Services
		}},
		"signs of a tag": {name, func(text string) (string, []string) {
			s := ownership.PartSigns("renamed", []string{text})
			return s.ClusterName, s.Services
		}},
		"signs of a floating IP": {floatingIP, func(text string) (string, []string) {
			s := ownership.FloatingIPSigns(text)
			return s.ClusterName, s.Services
		}},
		"signs of one of cloud-provider-openstack": {legacy, func(text string) (string, []string) {
			s := ownership.FloatingIPSigns(text)
			return s.ClusterName, s.Services
		}},
		"signs of a security group": {group, func(text string) (string, []string) {
			return ownership.SecurityGroupSigns(web().SecurityGroup().Name, text, nil).ClusterName, []string{"default/web-1"}
		}},
	} {
		for length, whole := range map[int]bool{254: true, 255: false} {
			id := named(test.text, length)
			text := test.text(id)
			if len(text) != length {
				t.Fatalf("%s: %d bytes: %s", what, len(text), text)
			}
			cluster, services := test.read(text)
			if cluster == id.ClusterName != whole || !whole && cluster != "" {
				t.Errorf("%s of %d bytes: cluster %q", what, length, cluster)
			}
			if whole && !slices.Equal(services, []string{"default/web-1"}) {
				t.Errorf("%s of %d bytes: Services %q", what, length, services)
			}
		}
	}
}

func TestIdentity_ShortensOnlyNamesBeyondTheLimit(t *testing.T) {
	t.Parallel()
	of := func(length int) ownership.Identity {
		id := with(func(id *ownership.Identity) { id.ClusterName = "" })
		id.ClusterName = strings.Repeat("c", length-len(id.Name()))
		return id
	}
	if id := of(255); id.Name() != "kube_service_"+id.ClusterName+"_default_web-1" {
		t.Errorf("a name of the maximum length is shortened: %s", id.Name())
	}
	if id := of(256); len(id.Name()) != 255 || strings.HasSuffix(id.Name(), "_default_web-1") || !strings.HasPrefix(id.Name(), "kube_service_ccc") {
		t.Errorf("a name beyond the limit: %s", id.Name())
	}
	broken := of(300)
	broken.ClusterName = "\xff" + broken.ClusterName
	if len(broken.Name()) != 255 {
		t.Errorf("a name that is not UTF-8 has %d bytes", len(broken.Name()))
	}
}

// Only the name of the Service is truncated, and as little of it as possible.
func TestIdentity_DescribesAsMuchAsFits(t *testing.T) {
	t.Parallel()
	const both, one = " (uid " + serviceUID + " in " + clusterUID + ")", " (uid " + serviceUID + ")"
	for length := 1; length <= 230; length++ {
		id := longest(length, true)
		const head, service = "Kubernetes ", "external service "
		tail := " from cluster " + id.ClusterName
		proof := both
		if len(head+both+tail) > 255 {
			proof = one
		}
		room := max(255-len(head+proof+tail), 0)
		want := service + id.Namespace + "/" + id.Service
		want = head + want[:min(room, len(want))] + proof + tail
		if got := id.Description(); got != want[:min(255, len(want))] {
			t.Fatalf("cluster name of %d: %q, want %q", length, got, want)
		}
	}
}

// cloud-provider-openstack truncates the names of pools, and of the load balancer in the tags of listeners.
func TestOwnsChild_AcceptsOnlyNamesTruncatedAtTheLimit(t *testing.T) {
	t.Parallel()
	id := longest(150, false)
	full := "kube_service_" + id.ClusterName + "_" + id.Namespace + "_" + id.Service
	for name, want := range map[string]bool{
		("pool_0_" + full)[:255]:                       true,
		("pool_0_" + full)[:254]:                       false,
		("pool_0_" + "x" + full)[:255]:                 false,
		("pool_99999999999999999999_" + full)[:255]:    true,
		"pool_0_" + full[:100]:                         false,
		("loadbalancer_0_" + full)[:255]:               false,
		("monitor_17_" + full)[:255]:                   true,
		("listener_1_" + full)[:255]:                   true,
		strings.Replace(id.PoolName(0), "_0_", "_", 1): false,
	} {
		if got := id.OwnsChild(name, nil); got != want {
			t.Errorf("%d bytes, %s: %v", len(name), name, got)
		}
	}
	if !id.OwnsChild("renamed", []string{full[:255]}) || id.OwnsChild("renamed", []string{full[:254]}) {
		t.Error("the tag with the truncated name is not the only one that proves it")
	}
}
