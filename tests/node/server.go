package node

import (
	"net"

	corev1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/netns"
)

// reached names the node whose node port a client has come to.
type reached func(client net.Addr) string

// served reports whether the node can answer over a protocol: Go has no SCTP sockets.
func served(protocol corev1.Protocol) bool { return protocol != corev1.ProtocolSCTP }

// openServer answers at an address in the pods' place.
func openServer(namespace netns.Namespace, protocol corev1.Protocol, address string, reached reached, f frontend) (server[frontend], error) {
	if protocol == corev1.ProtocolUDP {
		return newUDPServer(namespace, address, reached, f)
	}
	return newTCPServer(namespace, address, reached, f)
}
