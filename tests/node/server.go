package node

import (
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/netns"
)

// reached names the node whose node port a client has come to.
type reached func(client net.Addr) string

// openServer answers at an address in the pods' place.
func openServer(namespace netns.Namespace, protocol corev1.Protocol, address string, reached reached, f frontend) (server[frontend], error) {
	switch protocol {
	case corev1.ProtocolTCP:
		return newTCPServer(namespace, address, reached, f)
	case corev1.ProtocolUDP:
		return newUDPServer(namespace, address, reached, f)
	}
	return nil, fmt.Errorf("protocol %s is not supported", protocol)
}
