package instances

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
)

const (
	region  = "RegionOne"
	serverA = "0c6ae4c2-93a7-4d1c-8a5f-6f1b4c4b0a01"
	serverB = "7f3c8b1e-2d49-4f0a-9f5e-1f0d2c3b4a02"
)

// servers are a Nova in memory.
type servers struct {
	mu       sync.Mutex
	all      []nova.Server
	hidden   map[string]bool // from lists by name, as in a cell that is down
	getErr   error
	nameErr  error
	flavors  map[string]string // IDs by server, asked for by FlavorID
	listErr  error
	requests int
	lists    int
	gate     chan struct{} // when set, GetServer waits for it
}

func (s *servers) GetServer(ctx context.Context, id string) (*nova.Server, error) {
	s.mu.Lock()
	s.requests++
	gate, err := s.gate, s.getErr
	s.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, fmt.Errorf("read server: %w", ctx.Err())
		}
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.all {
		if server.ID == id {
			return &server, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", nova.ErrServerNotFound, id)
}

func (s *servers) ServersByName(_ context.Context, name string) ([]nova.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	var found []nova.Server
	for _, server := range s.all {
		if server.Name == name && !s.hidden[server.ID] {
			found = append(found, server)
		}
	}
	return found, s.nameErr
}

func (s *servers) Servers(context.Context) ([]nova.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.lists++
	if s.listErr != nil {
		return nil, s.listErr
	}
	return slices.DeleteFunc(slices.Clone(s.all), func(server nova.Server) bool { return s.hidden[server.ID] }), nil
}

func (s *servers) FlavorID(_ context.Context, serverID string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if id, ok := s.flavors[serverID]; ok {
		return id, nil
	}
	return "", fmt.Errorf("%w: %s", nova.ErrServerNotFound, serverID)
}

func (s *servers) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *servers) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func active(id, name string) nova.Server {
	return nova.Server{
		ID: id, Name: name, Status: "ACTIVE", Zone: "nova", FlavorName: "m1.small",
		Addresses: nova.ServerAddresses{{Network: "net", Address: "10.0.0.5"}},
	}
}

func withStatus(server nova.Server, status string) nova.Server {
	server.Status = status
	return server
}

func newInstances(t *testing.T, cloud Servers) (*Instances, *clocktesting.FakePassiveClock) {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	instances, err := New(Options{Servers: cloud, Region: region, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return instances, clock
}

func nodeNamed(name string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// joining is a node that has not been initialised yet.
func joining(name string) *v1.Node {
	node := nodeNamed(name)
	node.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule}}
	return node
}

func nodeOn(providerID string) *v1.Node {
	node := nodeNamed("node-1")
	node.Spec.ProviderID = providerID
	return node
}

func withSystemUUID(node *v1.Node, id string) *v1.Node {
	node.Status.NodeInfo.SystemUUID = id
	return node
}

// Upstream deletes the Node on (false, nil), so this table is what keeps nodes.
//
//proves:104,109
func TestInstanceExists_ReportsNodeGoneOnlyOnProof(t *testing.T) {
	t.Parallel()
	refused := errors.New("403")
	for name, test := range map[string]struct {
		cloud  *servers
		node   *v1.Node
		exists bool
		doubt  bool // an error
	}{
		"its server exists":             {&servers{all: []nova.Server{active(serverA, "node-1")}}, nodeOn("openstack:///" + serverA), true, false},
		"whatever the server's name":    {&servers{all: []nova.Server{active(serverA, "other")}}, nodeOn("openstack:///" + serverA), true, false},
		"Nova knows no such server":     {&servers{}, nodeOn("openstack:///" + serverA), false, false},
		"deleted":                       {&servers{all: []nova.Server{withStatus(active(serverA, "node-1"), "DELETED")}}, nodeOn("openstack:///" + serverA), false, false},
		"deleted but restorable":        {&servers{all: []nova.Server{withStatus(active(serverA, "node-1"), "SOFT_DELETED")}}, nodeOn("openstack:///" + serverA), false, false},
		"in error":                      {&servers{all: []nova.Server{withStatus(active(serverA, "node-1"), "ERROR")}}, nodeOn("openstack:///" + serverA), true, false},
		"its cell is down":              {&servers{all: []nova.Server{{ID: serverA, Status: "UNKNOWN"}}}, nodeOn("openstack:///" + serverA), true, false},
		"Nova fails":                    {&servers{getErr: refused}, nodeOn("openstack:///" + serverA), false, true},
		"another region":                {&servers{}, nodeOn("openstack://RegionTwo/" + serverA), false, true},
		"our region":                    {&servers{all: []nova.Server{active(serverA, "node-1")}}, nodeOn("openstack://RegionOne/" + serverA), true, false},
		"another cloud":                 {&servers{}, nodeOn("aws:///eu-1a/i-123"), false, true},
		"a broken provider ID":          {&servers{}, nodeOn("openstack:///"), false, true},
		"bare ID":                       {&servers{}, nodeOn(serverA), false, false},
		"by name":                       {&servers{all: []nova.Server{active(serverA, "node-1")}}, nodeNamed("node-1"), true, false},
		"name not found":                {&servers{all: []nova.Server{active(serverA, "node-2")}}, joining("node-1"), false, true},
		"name only of a deleted one":    {&servers{all: []nova.Server{withStatus(active(serverA, "node-1"), "SOFT_DELETED")}}, joining("node-1"), false, true},
		"name in a down cell":           {&servers{all: []nova.Server{active(serverA, "node-1")}, hidden: map[string]bool{serverA: true}}, joining("node-1"), false, true},
		"names cannot be listed":        {&servers{nameErr: refused}, joining("node-1"), false, true},
		"two of the name":               {&servers{all: []nova.Server{active(serverA, "node-1"), active(serverB, "node-1")}}, joining("node-1"), false, true},
		"two of the name, one deleted":  {&servers{all: []nova.Server{withStatus(active(serverA, "node-1"), "DELETED"), active(serverB, "node-1")}}, joining("node-1"), true, false},
		"two of the name, one our UUID": {&servers{all: []nova.Server{active(serverA, "node-1"), active(serverB, "node-1")}}, withSystemUUID(joining("node-1"), strings.ToUpper(serverB)), true, false},
		"only the system UUID":          {&servers{all: []nova.Server{active(serverA, "node-1.example.org")}}, withSystemUUID(joining("node-1"), serverA), true, false},
		"neither name nor system UUID":  {&servers{all: []nova.Server{active(serverA, "node-2")}}, withSystemUUID(joining("node-1"), serverB), false, true},
		"system UUID cannot be asked":   {&servers{getErr: refused}, withSystemUUID(joining("node-1"), serverB), false, true},
		"a system UUID that is none":    {&servers{}, withSystemUUID(joining("node-1"), "not available"), false, true},
		"not ours: no server at all":    {&servers{}, nodeNamed("bare-metal"), false, true},
		"not ours: no such UUID":        {&servers{all: []nova.Server{active(serverA, "node-2")}}, withSystemUUID(nodeNamed("node-1"), serverB), false, true},
		"not ours: UUID of a deleted":   {&servers{all: []nova.Server{withStatus(active(serverA, "node-1"), "DELETED")}}, withSystemUUID(nodeNamed("node-1"), serverA), false, true},
		"not initialised by us, found":  {&servers{all: []nova.Server{active(serverA, "node-1")}}, nodeNamed("node-1"), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			instances, _ := newInstances(t, test.cloud)
			exists, err := instances.InstanceExists(t.Context(), test.node)
			if exists != test.exists || (err != nil) != test.doubt {
				t.Errorf("InstanceExists: %v, %v; want %v, error %v", exists, err, test.exists, test.doubt)
			}
		})
	}
}

// One cluster may be in several regions, with a cloud-controller-manager in each
// (OS_CCM_REGIONAL): each of them has an honest 404 for the nodes of the others.
//
//proves:109
func TestInstances_LeaveNodesOfOtherRegionsAlone(t *testing.T) {
	t.Parallel()
	labelled := func(node *v1.Node, region string) *v1.Node {
		node.Labels = map[string]string{v1.LabelTopologyRegion: region}
		return node
	}
	there := &servers{all: []nova.Server{active(serverA, "node-1")}}
	for name, test := range map[string]struct {
		cloud                     *servers
		node                      *v1.Node
		regional, exists, touched bool
	}{
		"ID of our region, server gone":           {&servers{}, nodeOn("openstack://RegionOne/" + serverA), true, false, true},
		"ID of our region":                        {there, nodeOn("openstack://RegionOne/" + serverA), true, true, true},
		"ID of another region":                    {there, nodeOn("openstack://RegionTwo/" + serverA), true, false, false},
		"ID without region, server gone":          {&servers{}, nodeOn("openstack:///" + serverA), true, false, false},
		"bare ID, server gone":                    {&servers{}, nodeOn(serverA), true, false, false},
		"ID without region":                       {there, nodeOn("openstack:///" + serverA), true, true, true},
		"ID without region, our label, gone":      {&servers{}, labelled(nodeOn("openstack:///"+serverA), "RegionOne"), true, false, true},
		"ID without region, another's label":      {there, labelled(nodeOn("openstack:///"+serverA), "RegionTwo"), true, false, false},
		"no ID, no server":                        {&servers{}, joining("node-1"), true, false, false},
		"no ID, another's label":                  {there, labelled(joining("node-1"), "RegionTwo"), true, false, false},
		"no ID, found":                            {there, joining("node-1"), true, true, true},
		"not asked for: ID without region, gone":  {&servers{}, nodeOn("openstack:///" + serverA), false, false, true},
		"not asked for: another's label, no ID":   {there, labelled(joining("node-1"), "RegionTwo"), false, true, true},
		"not asked for: ID of another region":     {there, nodeOn("openstack://RegionTwo/" + serverA), false, false, false},
		"not asked for: another's label, no more": {&servers{}, labelled(nodeOn("openstack:///"+serverA), "RegionTwo"), false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			instances, err := New(Options{Servers: test.cloud, Region: region, RegionalIDs: test.regional})
			if err != nil {
				t.Fatal(err)
			}
			exists, err := instances.InstanceExists(t.Context(), test.node)
			if exists != test.exists || (err == nil) != test.touched {
				t.Errorf("InstanceExists: %v, %v; want %v, an error: %v", exists, err, test.exists, !test.touched)
			}
			if shutdown, err := instances.InstanceShutdown(t.Context(), test.node); shutdown || !test.exists && err == nil {
				t.Errorf("InstanceShutdown: %v, %v", shutdown, err)
			}
			metadata, err := instances.InstanceMetadata(t.Context(), test.node)
			if (err == nil) != test.exists {
				t.Fatalf("InstanceMetadata: %+v, %v", metadata, err)
			}
			want := "openstack:///" + serverA
			if test.regional {
				want = "openstack://RegionOne/" + serverA
			}
			if err == nil && metadata.ProviderID != want {
				t.Errorf("provider ID %s, want %s", metadata.ProviderID, want)
			}
		})
	}
}

// cloud-provider-openstack writes an empty region then.
func TestInstanceMetadata_OmitsUnknownRegionFromProviderID(t *testing.T) {
	t.Parallel()
	instances, err := New(Options{Servers: &servers{all: []nova.Server{active(serverA, "node-1")}}, RegionalIDs: true})
	if err != nil {
		t.Fatal(err)
	}
	metadata, err := instances.InstanceMetadata(t.Context(), joining("node-1"))
	if err != nil || metadata.ProviderID != "openstack:///"+serverA || metadata.Region != "" {
		t.Errorf("got %+v, %v", metadata, err)
	}
}

//proves:106
func TestInstanceShutdown_ReportsOnlyServersThatAreOff(t *testing.T) {
	t.Parallel()
	for status, shutdown := range map[string]bool{
		"SHUTOFF": true, "SHELVED": true, "SHELVED_OFFLOADED": true,
		"ACTIVE": false, "BUILD": false, "ERROR": false, "HARD_REBOOT": false, "MIGRATING": false, "PAUSED": false,
		"REBOOT": false, "REBUILD": false, "RESCUE": false, "RESIZE": false, "SUSPENDED": false,
		"UNKNOWN": false, "VERIFY_RESIZE": false,
	} {
		instances, _ := newInstances(t, &servers{all: []nova.Server{withStatus(active(serverA, "node-1"), status)}})
		got, err := instances.InstanceShutdown(t.Context(), nodeOn("openstack:///"+serverA))
		if err != nil || got != shutdown {
			t.Errorf("status %s: %v, %v; want %v", status, got, err, shutdown)
		}
	}
}

//proves:106
func TestInstanceShutdown_FollowsStatusesOfCloudConf(t *testing.T) {
	t.Parallel()
	for status, shutdown := range map[string]bool{"SHUTOFF": true, "SUSPENDED": true, "SHELVED": false, "ACTIVE": false} {
		instances, err := New(Options{
			Servers: &servers{all: []nova.Server{withStatus(active(serverA, "node-1"), status)}}, ShutdownStatuses: []string{"SHUTOFF", "SUSPENDED"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := instances.InstanceShutdown(t.Context(), nodeOn("openstack:///"+serverA)); err != nil || got != shutdown {
			t.Errorf("status %s: %v, %v; want %v", status, got, err, shutdown)
		}
	}
}

func TestInstanceShutdown_FailsForServerThatIsGone(t *testing.T) {
	t.Parallel()
	instances, _ := newInstances(t, &servers{})
	if _, err := instances.InstanceShutdown(t.Context(), nodeOn("openstack:///"+serverA)); !errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("got error %v, want InstanceNotFound", err)
	}
}

func TestInstanceMetadata_DescribesServer(t *testing.T) {
	t.Parallel()
	server := active(serverA, "node-1")
	server.FlavorName, server.Zone = "m1 large (SSD)", "Zürich/1"
	server.Addresses = append(server.Addresses, nova.ServerAddress{Network: "net", Address: "198.51.100.7", Floating: true})
	for name, node := range map[string]*v1.Node{
		"by name":                nodeNamed("node-1"),
		"by provider ID":         nodeOn("openstack:///" + serverA),
		"by regional ID":         nodeOn("openstack://RegionOne/" + serverA),
		"by bare ID, upper case": nodeOn(strings.ToUpper(serverA)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			instances, _ := newInstances(t, &servers{all: []nova.Server{server}, flavors: map[string]string{serverA: "flavor-7"}})
			got, err := instances.InstanceMetadata(t.Context(), node)
			if err != nil {
				t.Fatal(err)
			}
			want := &cloudprovider.InstanceMetadata{
				ProviderID:   "openstack:///" + serverA,
				InstanceType: "flavor-7",
				NodeAddresses: []v1.NodeAddress{
					{Type: v1.NodeInternalIP, Address: "10.0.0.5"},
					{Type: v1.NodeExternalIP, Address: "198.51.100.7"},
				},
				Zone: "Z-rich-1", Region: region,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInstanceMetadata_FailsWhereItCannotInitializeNode(t *testing.T) {
	t.Parallel()
	bare := active(serverA, "node-1")
	bare.Addresses = nil
	named := bare
	named.Metadata = map[string]string{"hostname": "node-1"}
	for name, test := range map[string]struct {
		server nova.Server
		nodeIP string
		says   string
	}{
		"no address":               {bare, "", "no address"},
		"only a host name":         {named, "", "no address"},
		"its cell is down":         {nova.Server{ID: serverA, Status: "UNKNOWN"}, "", "cell is down"},
		"gone":                     {withStatus(active(serverA, "node-1"), "DELETED"), "", "not found"},
		"another --node-ip":        {active(serverA, "node-1"), "10.0.0.6", "10.0.0.5 on net"},
		"one of two is not its IP": {active(serverA, "node-1"), "10.0.0.5,fd00::1", "fd00::1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			instances, _ := newInstances(t, &servers{all: []nova.Server{test.server}})
			node := nodeOn("openstack:///" + serverA)
			if test.nodeIP != "" {
				node.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: test.nodeIP}
			}
			metadata, err := instances.InstanceMetadata(t.Context(), node)
			if err == nil || metadata != nil {
				t.Fatalf("got %+v, error %v; want an error alone", metadata, err)
			}
			if !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "node-1") {
				t.Errorf("error %q names not the node and %q", err, test.says)
			}
		})
	}
}

func TestInstanceMetadata_AcceptsProvidedNodeIPOfServer(t *testing.T) {
	t.Parallel()
	instances, _ := newInstances(t, &servers{all: []nova.Server{active(serverA, "node-1")}})
	node := nodeOn("openstack:///" + serverA)
	node.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: "10.0.0.5"}
	if _, err := instances.InstanceMetadata(t.Context(), node); err != nil {
		t.Error(err)
	}
}

// A Node keeps the label that it was given when it joined, and those that join later get
// theirs from us: these are cloud-provider-openstack's for each flavor.
func TestInstanceMetadata_KeepsInstanceTypesOfExistingNodes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		name, embedded, asked string
		want                  string
		requests              int
	}{
		"a label value":             {"m1.large", "", "7", "m1.large", 1},
		"spaces":                    {"m1 large", "", "7", "7", 2},
		"an ID that came along":     {"m1 large", "0b9f2ac8-1", "", "0b9f2ac8-1", 1},
		"too long":                  {strings.Repeat("a", 64), "", "7", "7", 2},
		"as long as can be":         {strings.Repeat("a", 63), "", "7", strings.Repeat("a", 63), 1},
		"starts with a dash":        {"-m1", "", "7", "7", 2},
		"letters of other scripts":  {"größe-1", "", "7", "7", 2},
		"an ID that is none either": {"m1 large", "", "flavor 7 ", "flavor-7", 2},
		"no name, as it is deleted": {"", "7", "", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := active(serverA, "node-1")
			server.FlavorName, server.FlavorID = test.name, test.embedded
			cloud := &servers{all: []nova.Server{server}, flavors: map[string]string{serverA: test.asked}}
			instances, clock := newInstances(t, cloud)
			for round := range 3 {
				clock.SetTime(clock.Now().Add(DefaultCacheAge))
				got, err := instances.InstanceMetadata(t.Context(), nodeOn("openstack:///"+serverA))
				if err != nil || got.InstanceType != test.want {
					t.Errorf("got %+v, %v; want the instance type %q", got, err, test.want)
				}
				if asked := cloud.asked(); asked != test.requests+round {
					t.Errorf("%d requests in round %d, want the flavor to be asked for once", asked, round)
				}
			}
		})
	}
}

func TestNew_RefusesBadSortOrder(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Networking: config.Networking{AddressSortOrder: "10.0.0.0/8, 192.168.0.0"}})
	if err == nil || !strings.Contains(err.Error(), `"192.168.0.0"`) || !strings.Contains(err.Error(), "address-sort-order") {
		t.Errorf("got error %v, want one that names key and value", err)
	}
}
