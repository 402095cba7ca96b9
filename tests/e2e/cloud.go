package e2e

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/netns"
)

// Cloud is an OpenStack that the suite can run on.
type Cloud interface {
	// CloudConf returns the configuration of the cloud controller manager. It ends with the section
	// [LoadBalancer], to which more keys can be added.
	CloudConf() string
	// API sees the project as any other client does.
	API() *API
	// AddMachine creates a server on which a node can run.
	AddMachine(ctx context.Context, name string) (Machine, error)
	// RemoveMachine deletes the server, and kills its node.
	RemoveMachine(ctx context.Context, name string) error
	// KubeProxy is the program of a kube-proxy that its machines can run; empty lets
	// the nodes answer in its place.
	KubeProxy() string
	// Traffic reports whether load balancers of a provider, or the VIPs of provider router, carry traffic of a protocol.
	Traffic(provider string, protocol corev1.Protocol) bool
	// FragileTracking reports whether the cloud may not survive that members or next hops leave under
	// connections.
	FragileTracking() bool
	// Outside and Inside are the namespaces of clients: on the external network, and on that of the
	// nodes.
	Outside() netns.Namespace
	Inside() netns.Namespace
	// SubnetV6 is the subnet of IPv6 of the nodes' network; empty when it has none.
	SubnetV6() string
	// Router returns a router on which the suite may change routes; empty if there is none.
	Router(ctx context.Context) (id string, err error)
	// VIPNetwork is a network without machines on that router, for the VIPs of provider router; empty
	// if there is none.
	VIPNetwork() string
	// AddPod adds the address of a pod to the machine of a node, and returns its namespace; carried
	// is false if routers carry no traffic.
	AddPod(ctx context.Context, node string, address netip.Addr) (where netns.Namespace, carried bool, err error)
	// Unused returns unused addresses of the nodes' network.
	Unused(n int) string
	// Prefix is the beginning of the names of all created objects except nodes; it may be empty if
	// the cloud is the suite's own.
	Prefix() string
	// Pause is the pause between two polls: as short as the cloud permits.
	Pause() time.Duration
	// Crowd is the maximum number of Services that are created at once.
	Crowd() int
	// Patience has the time limits of most changes.
	Patience() Patience
	// RemovedTwice returns the number of members so far that were removed again during their
	// removal, as far as the cloud reports that.
	RemovedTwice() (int, error)
	// Lease is the time for which a killed controller prevents the next one from leading. A
	// controller that cannot renew its lease for two thirds of that time ends, so it must be longer
	// than any standstill of the machine.
	Lease() time.Duration
	// Nature has the actions of the owner of the cloud; nil if they are not available.
	Nature() Nature
	// Close ends what the suite has started.
	Close() error
}

// Machine is a server.
type Machine struct {
	ServerID string
	// Elsewhere is set when nothing of this machine can answer at its addresses.
	Elsewhere bool
	// Addresses are one of each family that the network has, IPv4 first.
	Addresses []netip.Addr
	Namespace netns.Namespace
}

// Nature is what befalls a cloud.
type Nature interface {
	// Fail puts a load balancer into ERROR.
	Fail(ctx context.Context, loadBalancerID string) error
	// KillAmphora ends the machines of a load balancer as a loss of power would; killed is false if it
	// has none.
	KillAmphora(ctx context.Context, loadBalancerID string) (killed bool, err error)
	// StopOctavia makes its API unreachable until the result is called, which may be called
	// again.
	StopOctavia(ctx context.Context) (start func(context.Context) error, err error)
	// LimitLoadBalancers sets the quota of the project until the result is called.
	LimitLoadBalancers(ctx context.Context, limit int) (lift func(context.Context) error, err error)
	// RevokeTokens lets no token of the user be worth anything any more. New ones are.
	RevokeTokens(ctx context.Context) error
}
