package e2e

import (
	"context"
	"net/netip"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/netns"
)

// Cloud is an OpenStack that the suite can run on.
type Cloud interface {
	// CloudConf is what the cloud controller manager is told, with a [LoadBalancer]
	// section at its end that more keys can be added to.
	CloudConf() string
	// API sees the project as any other client does.
	API() *API
	// AddMachine makes a server with something that a node can run on.
	AddMachine(ctx context.Context, name string) (Machine, error)
	// RemoveMachine deletes the server, and cuts the power of what runs on it.
	RemoveMachine(ctx context.Context, name string) error
	// KubeProxy is the program of a kube-proxy that its machines can run; empty lets
	// the nodes answer in its place.
	KubeProxy() string
	// Traffic tells whether load balancers of a provider carry any.
	Traffic(provider string) bool
	// Outside and Inside are where clients are: on the external network, and on
	// that of the nodes.
	Outside() netns.Namespace
	Inside() netns.Namespace
	// SubnetV6 is the subnet of IPv6 of the nodes' network; empty when it has none.
	SubnetV6() string
	// Router is one whose routes are the suite's to change; empty when there is none.
	Router(ctx context.Context) (id string, err error)
	// AddPod gives the address of a pod to the machine of a node, and tells where that
	// is; not so where routers carry no traffic.
	AddPod(ctx context.Context, node string, address netip.Addr) (where netns.Namespace, carried bool, err error)
	// Unused gives addresses of the nodes' network that nobody has.
	Unused(n int) string
	// Prefix begins the names of all that is made, but for that of nodes; it may be
	// empty where the cloud is ours.
	Prefix() string
	// Pause is that between two looks at what is awaited: as short as the cloud can
	// well bear.
	Pause() time.Duration
	// Crowd is how many Services may come at once.
	Crowd() int
	// Patience is how long most changes may take.
	Patience() Patience
	// RemovedTwice is how many members so far were to be removed while they were being
	// removed already, as far as the cloud tells.
	RemovedTwice() (int, error)
	// Lease is how long a controller that was killed keeps the next one from leading. One
	// that cannot renew its lease for two thirds of that time ends: it is to be longer
	// than the machine may stand still.
	Lease() time.Duration
	// Nature is what only the owner of a cloud can do; nil when nobody can.
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
	// StopOctavia makes its API unreachable until the result is called, which may be called
	// again.
	StopOctavia(ctx context.Context) (start func(context.Context) error, err error)
	// LimitLoadBalancers sets the quota of the project until the result is called.
	LimitLoadBalancers(ctx context.Context, limit int) (lift func(context.Context) error, err error)
	// RevokeTokens lets no token of the user be worth anything any more. New ones are.
	RevokeTokens(ctx context.Context) error
}
