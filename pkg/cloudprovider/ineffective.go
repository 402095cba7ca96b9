package cloudprovider

import (
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
)

// ineffective tells of settings of cloud.conf that are valid, but change nothing here,
// each with what follows from that. cloudRoutes says that routes are asked for.
func ineffective(conf *config.Config, cloudRoutes bool) []string {
	var told []string
	tell := func(given bool, key, follows string) {
		if given {
			told = append(told, fmt.Sprintf("cloud.conf %s has no effect: %s", key, follows))
		}
	}
	lb := conf.LoadBalancer
	if lb.LBProvider == desire.ProviderOVN {
		const follows = "the provider ovn keeps no timeouts and connection limits of listeners"
		tell(lb.ConnectionLimit != nil, "[LoadBalancer] connection-limit", follows)
		tell(lb.TimeoutClientData != nil, "[LoadBalancer] timeout-client-data", follows)
		tell(lb.TimeoutMemberConnect != nil, "[LoadBalancer] timeout-member-connect", follows)
		tell(lb.TimeoutMemberData != nil, "[LoadBalancer] timeout-member-data", follows)
		tell(lb.TimeoutTCPInspect != nil, "[LoadBalancer] timeout-tcp-inspect", follows)
	}
	tell(conf.Route.RouterID != "" && !cloudRoutes, "[Route] router-id", "--configure-cloud-routes=false, or --controllers without the route controller, leaves routes to pods to the network plugin")
	return told
}
