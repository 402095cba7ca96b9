package provider

import (
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// ineffective tells of settings of cloud.conf that are valid, since the peer has
// them, but change nothing here, each with what follows from that.
func ineffective(conf *config.Config) []string {
	var told []string
	tell := func(given bool, key, follows string) {
		if given {
			told = append(told, fmt.Sprintf("cloud.conf %s has no effect: %s", key, follows))
		}
	}
	tell(conf.Route.RouterID != "", "[Route] router-id", "routes to pods are left to the network plugin")
	return told
}
