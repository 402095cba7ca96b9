package desire_test

import (
	"slices"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func TestLoadBalancer_AddsTagsToOursOnEveryPart(t *testing.T) {
	t.Parallel()
	svc := fixture.Service(fixture.Annotated(annotation.Tags, "b,a"), fixture.Annotated(annotation.Monitor, "true"))
	id := ownership.Identity{ClusterName: "kubernetes", ClusterID: "cluster", ServiceUID: "uid", Namespace: "default", Service: "web"}
	hosts := model.HostsOf(model.Host{Name: "n", Address: "10.0.0.1"})
	for _, untagged := range []bool{false, true} {
		id.Untagged = untagged
		want := append(id.Tags(), "b", "a")
		if untagged {
			want = nil
		}
		plain := desire.LoadBalancer(id, fixture.Settings(t, fixture.Service(), fixture.Config()), members.Ports{{Hosts: hosts}}, desire.Facts{Driver: fixture.Amphora()})
		if !slices.Equal(plain.Tags, id.Tags()) {
			t.Errorf("nobody asks for tags: %q", plain.Tags)
		}
		lb := desire.LoadBalancer(id, fixture.Settings(t, svc, fixture.Config()), members.Ports{{Hosts: hosts}}, desire.Facts{Driver: fixture.Amphora()})
		pool := lb.Listeners[0].Pool
		for part, got := range map[string][]string{
			"load balancer": lb.Tags, "listener": lb.Listeners[0].Tags, "pool": pool.Tags, "monitor": pool.Monitor.Tags,
		} {
			if !slices.Equal(got, want) {
				t.Errorf("untagged %v: %s has tags %q, want %q", untagged, part, got, want)
			}
		}
	}
}
