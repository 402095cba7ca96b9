package instances_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// vlan adds a network, and a port there with an address for each of the servers, as a
// subport of a trunk on the server's first port.
func (s site) vlan(t *testing.T, servers ...nova.Server) (addresses []string) {
	t.Helper()
	network := s.cloud.Neutron.AddNetwork(neutron.NetworkSpec{Name: "vlan", ProjectID: s.cloud.Account.ProjectID})
	subnet, err := s.cloud.Neutron.AddSubnet(neutron.SubnetSpec{NetworkID: network.ID, CIDR: "10.99.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range servers {
		port, err := s.cloud.Neutron.CreatePort(neutron.PortSpec{ProjectID: s.cloud.Account.ProjectID, SubnetID: subnet.ID})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.cloud.Neutron.AddTrunk(server.PortIDs[0], port.ID); err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, port.FixedIPs[0].Address)
	}
	return addresses
}

// A kubelet that runs with --node-ip on the VLAN could not be initialised without it.
//
//proves:107
func TestTrunks_AddSubportAddressesToNode(t *testing.T) {
	t.Parallel()
	s := start(t)
	server := s.add(t, nova.ServerSpec{Name: "node-1", Address: "127.100.0.77"})
	plain := s.add(t, nova.ServerSpec{Name: "node-2", Address: "127.100.0.78"})
	onVLAN := s.vlan(t, server)[0]
	node := on(server.ID)
	node.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: onVLAN}
	for of, want := range map[*v1.Node][]string{node: {"127.100.0.77", onVLAN}, on(plain.ID): {"127.100.0.78"}} {
		metadata, err := s.instances.InstanceMetadata(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, address := range metadata.NodeAddresses {
			if address.Type != v1.NodeInternalIP {
				t.Errorf("%+v", address)
			}
			got = append(got, address.Address)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("addresses (-want +got):\n%s", diff)
		}
	}
}

func TestTrunks_CostThreeRequestsForManyNodes(t *testing.T) {
	t.Parallel()
	s := start(t)
	var servers []nova.Server
	for n := range 40 {
		servers = append(servers, s.add(t, nova.ServerSpec{Name: fmt.Sprint("node-", n)}))
	}
	s.vlan(t, servers...)
	for _, server := range servers {
		if metadata, err := s.instances.InstanceMetadata(t.Context(), on(server.ID)); err != nil || len(metadata.NodeAddresses) != 2 {
			t.Fatalf("%+v, %v", metadata, err)
		}
	}
	if asked := s.cloud.RequestLog.Requests(requestlog.Under("/network")); len(asked) != 3 {
		t.Errorf("%d requests to Neutron for 40 nodes, want one each for trunks, ports and networks: %+v", len(asked), asked)
	}
}

func TestTrunks_MayBeMissingOrForbiddenButNotUnreadable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options simulator.Options
		status  int
		served  bool
	}{
		"no extension":      {simulator.Options{Neutron: func(o *neutron.Options) { o.Extensions = []string{"router"} }}, 0, true},
		"not to be seen":    {simulator.Options{}, 403, true},
		"no trunk is there": {simulator.Options{}, 0, true},
		// Without them addresses would be taken from nodes that have subports.
		"Neutron cannot be asked": {simulator.Options{}, 409, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startWith(t, test.options)
			server := s.add(t, nova.ServerSpec{Name: "node-1"})
			if test.status != 0 {
				s.cloud.Faults.Add(faults.Rule{Method: "GET", Route: "/network/v2.0/trunks", Status: test.status, Worded: true})
			}
			if _, err := s.instances.InstanceMetadata(t.Context(), on(server.ID)); (err == nil) != test.served {
				t.Errorf("served: %v, %v", err == nil, err)
			}
		})
	}
}
