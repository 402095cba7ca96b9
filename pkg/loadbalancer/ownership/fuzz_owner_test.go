package ownership_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// FuzzOwner reads the owners of a load balancer and of a floating IP from names, descriptions and
// tags that others of the project write.
func FuzzOwner(f *testing.F) {
	ours := ownership.Identity{ClusterName: "kubernetes", ClusterID: "our-cluster", ServiceUID: "our-service", Namespace: "default", Service: "web"}
	gone := ours
	gone.ServiceUID = "an-earlier-service"
	f.Add(ours.Name(), ours.Description(), strings.Join(ours.Tags(), ","), ours.FloatingIPs().Description())
	f.Add(ours.Names()[2], gone.Description(), "kube_svc_uid_", gone.FloatingIPs().Description())
	f.Add("by hand", "\xff(uid our-service in our-cluster) from cluster ", "kube_cluster_id_x", ours.FloatingIPs().LegacyDescription())
	f.Fuzz(func(t *testing.T, name, description, tags, floating string) {
		all := strings.Split(tags, ",")
		owner := ownership.OwnerOf(name, description, all)
		if owner.ServiceUID != "" && !strings.Contains(tags, owner.ServiceUID) || owner.ClusterID != "" && !strings.Contains(tags, owner.ClusterID) {
			t.Errorf("%+v is in no tag of %q", owner, tags)
		}
		if strings.Contains(owner.Namespace, "/") || owner.Namespace != "" && !owner.Kubernetes {
			t.Errorf("owner %+v", owner)
		}
		if owner.ClusterID != "" && owner.ClusterID != ours.ClusterID && owner.InClusterOf(ours) {
			t.Errorf("%+v is taken for one of this cluster", owner)
		}
		if ours.Claim(all, description) == ownership.Ours && !strings.Contains(tags+description, ours.ServiceUID) {
			t.Errorf("%q with %q is taken for ours", description, tags)
		}
		if ours.FloatingIPs().Own(floating) && !strings.Contains(floating, ours.ServiceUID) {
			t.Errorf("floating IP %q is taken for ours", floating)
		}
		if ours.FloatingIPs().Kept(floating) && (!strings.Contains(floating, " in "+ours.ClusterID+")") || !strings.Contains(floating, " default/web (")) {
			t.Errorf("floating IP %q is taken for one that was kept for us", floating)
		}
	})
}
