package control

import (
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// Parts are the parts of a simulator that the API controls. All except Cloud are required.
type Parts struct {
	Neutron    *neutron.Neutron
	Nova       *nova.Nova
	Octavia    *octavia.Octavia
	RequestLog *requestlog.Log
	Faults     *faults.Faults
	// ProjectID and NetworkID are the project and the network of new servers.
	ProjectID, NetworkID string
	// Cloud contains all of them. If it is nil, the requests about the whole cloud are refused:
	// conditions, orphans, leaked ports, tokens.
	Cloud *simulator.Cloud
}

// For returns the handler of the control API of a cloud.
func For(cloud *simulator.Cloud) http.Handler {
	return New(Parts{
		Neutron: cloud.Neutron, Nova: cloud.Nova, Octavia: cloud.Octavia, RequestLog: cloud.RequestLog, Faults: cloud.Faults,
		ProjectID: cloud.Account.ProjectID, NetworkID: cloud.Network.ID, Cloud: cloud,
	})
}

type control struct{ parts Parts }

// New returns the handler of the control API. It expects paths with Prefix.
func New(parts Parts) http.Handler {
	c := &control{parts: parts}
	mux := http.NewServeMux()
	for pattern, serve := range map[string]endpoint{
		"GET /_sim/requests":                   c.showRequests,
		"POST /_sim/requests/reset":            c.resetRequests,
		"GET /_sim/summary":                    c.showSummary,
		"GET /_sim/servers":                    c.listServers,
		"POST /_sim/servers":                   c.addServer,
		"DELETE /_sim/servers/{id}":            c.deleteServer,
		"POST /_sim/servers/{id}/status":       c.setServerStatus,
		"GET /_sim/leftovers":                  c.leftovers,
		"GET /_sim/loadbalancers":              c.listLoadBalancers,
		"DELETE /_sim/loadbalancers/{id}":      c.deleteLoadBalancer,
		"POST /_sim/loadbalancers/{id}/status": c.setLoadBalancerStatus,
		"POST /_sim/members/{id}/status":       c.setMemberStatus,
		"GET /_sim/faults":                     c.showFaults,
		"POST /_sim/faults":                    c.addFault,
		"DELETE /_sim/faults":                  c.clearFaults,
		"DELETE /_sim/faults/{id}":             c.removeFault,
		"POST /_sim/conditions":                c.addCondition,
		"POST /_sim/children/{id}/status":      c.setChildStatus,
		"POST /_sim/failures":                  c.failOperations,
		"POST /_sim/tokens/revoke":             c.revokeTokens,
		"GET /_sim/orphans":                    c.listOrphans,
		"GET /_sim/leaked-ports":               c.listLeakedPorts,
	} {
		mux.Handle(pattern, serve)
	}
	return loopbackOnly(mux)
}
