package instances_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/instances"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	simnova "github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// site is a simulated cloud and the instances that a session sees there.
type site struct {
	cloud     *simulator.Cloud
	instances *instances.Instances
}

func start(t *testing.T) site {
	t.Helper()
	return startWith(t, simulator.Options{})
}

func startWith(t *testing.T, options simulator.Options) site {
	t.Helper()
	cloud, conf := simulated.Cloud(t, options)
	session := simulated.SignIn(t, conf, openstack.SessionOptions{})
	instances, err := instances.New(instances.Options{Servers: session.Nova(), Subports: session.Neutron(), Region: session.Region(), Networking: conf.Networking})
	if err != nil {
		t.Fatal(err)
	}
	return site{cloud, instances}
}

// add adds a server of the first account on its network.
func (s site) add(t *testing.T, spec simnova.ServerSpec) simnova.Server {
	t.Helper()
	if spec.ProjectID == "" {
		spec.ProjectID = s.cloud.Account.ProjectID
	}
	spec.NetworkID = s.cloud.Network.ID
	server, err := s.cloud.Nova.AddServer(spec)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func named(name string) *v1.Node { return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }

// joining is a node that the node controller has not initialized yet.
func joining(name string) *v1.Node {
	node := named(name)
	node.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
	return node
}

func on(id string) *v1.Node {
	node := named("node-1")
	node.Spec.ProviderID = "openstack:///" + id
	return node
}

// exists fails the test when InstanceExists has a doubt.
func (s site) exists(t *testing.T, node *v1.Node) bool {
	t.Helper()
	exists, err := s.instances.InstanceExists(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	return exists
}

//proves:103
func TestInstanceMetadata_InitializesNodeFromItsServer(t *testing.T) {
	t.Parallel()
	s := start(t)
	server := s.add(t, simnova.ServerSpec{Name: "node-1", Address: "127.100.0.77", Flavor: "m1.large", Zone: "az-1"})
	fip, err := s.cloud.Neutron.CreateFloatingIP(simneutron.FloatingIPSpec{
		ProjectID: s.cloud.Account.ProjectID, NetworkID: s.cloud.ExternalNetwork.ID, PortID: server.PortIDs[0],
	})
	if err != nil {
		t.Fatal(err)
	}
	node := named("node-1")
	node.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: "127.100.0.77"}
	got, err := s.instances.InstanceMetadata(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	want := &cloudprovider.InstanceMetadata{
		ProviderID: "openstack:///" + server.ID, InstanceType: "m1.large", Zone: "az-1", Region: "RegionOne",
		NodeAddresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "127.100.0.77"}, {Type: v1.NodeExternalIP, Address: fip.Address}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

func TestInstanceMetadata_UsesFlavorIDWhereNameIsNoLabel(t *testing.T) {
	t.Parallel()
	s := start(t)
	server := s.add(t, simnova.ServerSpec{Name: "node-1", Flavor: "m1 large (SSD)"})
	got, err := s.instances.InstanceMetadata(t.Context(), on(server.ID))
	if err != nil {
		t.Fatal(err)
	}
	for _, flavor := range s.cloud.Nova.Flavors() {
		if flavor.Name == "m1 large (SSD)" && got.InstanceType == flavor.ID {
			return
		}
	}
	t.Errorf("the instance type is %q, want the ID of the flavor: %+v", got.InstanceType, s.cloud.Nova.Flavors())
}

func TestInstances_FollowStatusOfServer(t *testing.T) {
	t.Parallel()
	for _, status := range []struct {
		name             string
		exists, shutdown bool
	}{
		{"ACTIVE", true, false}, {"SHUTOFF", true, true}, {"SHELVED", true, true}, {"SHELVED_OFFLOADED", true, true}, {"SUSPENDED", true, false},
		{"ERROR", true, false}, {"SOFT_DELETED", false, false},
	} {
		t.Run(status.name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			server := s.add(t, simnova.ServerSpec{Name: "node-1"})
			s.cloud.Nova.SetStatus(server.ID, status.name)
			if got := s.exists(t, on(server.ID)); got != status.exists {
				t.Fatalf("exists: %v", got)
			}
			if !status.exists {
				return
			}
			if got, err := s.instances.InstanceShutdown(t.Context(), on(server.ID)); err != nil || got != status.shutdown {
				t.Errorf("shut down: %v, %v", got, err)
			}
			if requests := s.cloud.RequestLog.Requests(requestlog.Method("GET")); len(requests) != 1 {
				t.Errorf("%d requests for one node: %+v", len(requests), requests)
			}
		})
	}
}

func TestInstanceExists_ReportsNodeOfDeletedServerGone(t *testing.T) {
	t.Parallel()
	s := start(t)
	server := s.add(t, simnova.ServerSpec{Name: "node-1"})
	s.add(t, simnova.ServerSpec{Name: "node-10"})
	s.cloud.Nova.DeleteServer(server.ID)
	if s.exists(t, on(server.ID)) {
		t.Error("by provider ID it is still there")
	}
	if exists, err := s.instances.InstanceExists(t.Context(), joining("node-1")); err == nil {
		t.Errorf("by name: %v without an error", exists)
	}
}

// Of several API servers one does not know the server, once.
func TestInstanceExists_BelievesNoSingleNotFound(t *testing.T) {
	t.Parallel()
	s := start(t)
	server := s.add(t, simnova.ServerSpec{Name: "node-1"})
	s.cloud.Faults.Add(faults.Rule{Method: "GET", Route: "/compute/**", Status: 404, Worded: true, Count: 1})
	if !s.exists(t, on(server.ID)) {
		t.Error("it is gone")
	}
}

// Another project's server of that name is no proof of anything.
func TestInstanceExists_IgnoresServersOfOtherProjects(t *testing.T) {
	t.Parallel()
	s := start(t)
	other := s.cloud.AddAccount("other", "other")
	s.add(t, simnova.ServerSpec{Name: "node-1", ProjectID: other.ProjectID})
	if exists, err := s.instances.InstanceExists(t.Context(), joining("node-1")); exists || err == nil {
		t.Errorf("found in another project: %v, %v", exists, err)
	}
}

// A cell of Nova that is down hides servers from lists. No node may be deleted
// for that.
func TestInstanceExists_ReportsNoNodeGoneWhileItsCellIsDown(t *testing.T) {
	t.Parallel()
	s := start(t)
	server := s.add(t, simnova.ServerSpec{Name: "node-1", Cell: "far"})
	s.cloud.Nova.SetCellDown("far", true)
	if !s.exists(t, on(server.ID)) {
		t.Error("by provider ID it is gone")
	}
	if exists, err := s.instances.InstanceExists(t.Context(), joining("node-1")); err == nil {
		t.Errorf("by name: %v without an error", exists)
	}
	if metadata, err := s.instances.InstanceMetadata(t.Context(), on(server.ID)); err == nil {
		t.Errorf("metadata out of nothing: %+v", metadata)
	}
}

func TestInstanceExists_ReturnsErrorWhileNovaFails(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"a proxy's 404":       {404, "<html>404 page not found</html>"},
		"forbidden":           {403, `{"forbidden": {"code": 403, "message": "Policy doesn't allow it."}}`},
		"no list and no node": {200, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			server := s.add(t, simnova.ServerSpec{Name: "node-1"})
			s.cloud.Faults.Add(faults.Rule{Method: "GET", Route: "/compute/**", Status: answer.status, Body: answer.body})
			for _, node := range []*v1.Node{on(server.ID), joining("node-1")} {
				if exists, err := s.instances.InstanceExists(t.Context(), node); err == nil {
					t.Errorf("provider ID %q: %v without an error", node.Spec.ProviderID, exists)
				}
			}
		})
	}
}
