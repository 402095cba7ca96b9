package testenv

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
)

// The beginnings of the nodes' addresses in the two networks. The rest is the same.
const inFirst, inSecond = "127.100.", "127.110."

// addSecondNetwork adds a network for a second address of each server.
func (env *Env) addSecondNetwork() (err error) {
	network := env.Cloud.Neutron.AddNetwork(neutron.NetworkSpec{Name: "storage", ProjectID: env.Cloud.Account.ProjectID})
	env.second, err = env.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{Name: "storage", NetworkID: network.ID, CIDR: inSecond + "0.0/16"})
	return err
}

// attachSecond connects a server with the second network, and returns its address there.
func (env *Env) attachSecond(server nova.Server) (string, error) {
	rest, is := strings.CutPrefix(server.Addresses[0], inFirst)
	if !is {
		return "", fmt.Errorf("server %s has the address %s, which does not begin with %s", server.Name, server.Addresses[0], inFirst)
	}
	_, err := env.Cloud.Nova.AttachInterface(server.ID, env.second.NetworkID, inSecond+rest)
	return inSecond + rest, err
}

// AddressOf returns the address that AddNode was called with.
func (env *Env) AddressOf(node *v1.Node) string {
	if env.second.ID != "" {
		return node.Status.Addresses[1].Address
	}
	return node.Status.Addresses[0].Address
}
