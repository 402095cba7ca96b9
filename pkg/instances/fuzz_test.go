package instances

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/hostile"
)

// FuzzMetadata describes Nodes of any name and provider ID by servers about which Nova answers
// anything.
func FuzzMetadata(f *testing.F) {
	const id = "11111111-1111-4111-8111-111111111111"
	f.Add("a", "openstack:///"+id, []byte(`{"server": {"id": "`+id+`", "name": "a", "status": "ACTIVE", "addresses": {"net": [{"addr": "192.0.2.1"}]}, "flavor": {"original_name": "m1.large / x"}, "OS-EXT-AZ:availability_zone": "z\n"}}`))
	f.Add("a\x1b", "", []byte(`{"servers": [{"id": "`+id+`", "name": "a\u001b", "addresses": {"a\nb": [{"addr": "no address"}]}}]}`))
	f.Add("a", "openstack://\n/"+id, []byte(`{"itemNotFound": {}}`))
	f.Add("a", "openstack:///"+id, []byte(`{"server": {"id": "`+id+`", "status": "UNKNOWN\u0007", "metadata": {"hostname": "\n"}, "accessIPv4": "::1%\n", "addresses": {"n": [{"addr": "192.0.2.1"}]}}}`))
	f.Fuzz(func(t *testing.T, name, providerID string, answer []byte) {
		cloud := hostile.NewCloud(t, 200, answer)
		all, err := New(Options{Servers: nova.New(cloud), Region: "R", Networking: config.Networking{}})
		if err != nil {
			t.Fatal(err)
		}
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{ProviderID: providerID}}
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			node.Name = "a" // the API server has no other names
		}
		cloud.Try(func(ctx context.Context) error {
			described, err := all.InstanceMetadata(ctx, node)
			if err != nil {
				return nil //nolint:nilerr // a name without a server is an error, and no finding
			}
			for _, label := range []string{described.Zone, described.Region} {
				if problems := validation.IsValidLabelValue(label); len(problems) > 0 {
					t.Errorf("label %q: %v", label, problems)
				}
			}
			for _, a := range described.NodeAddresses {
				if ip, err := netip.ParseAddr(a.Address); (err != nil || ip.Zone() != "") && a.Type != v1.NodeHostName {
					t.Errorf("address %q", a.Address)
				}
			}
			if !strings.HasPrefix(described.ProviderID, "openstack://") {
				t.Errorf("provider ID %q", described.ProviderID)
			}
			return nil
		})
	})
}
