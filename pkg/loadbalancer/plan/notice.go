package plan

import (
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// notices tells of settings that cannot change on a load balancer that exists.
func notices(desired, observed *model.LoadBalancer) []Notice {
	var found []Notice
	for _, setting := range []struct{ name, want, have string }{
		{"provider", desired.Provider, observed.Provider},
		{"flavor", desired.FlavorID, observed.FlavorID},
		{"availability zone", desired.AvailabilityZone, observed.AvailabilityZone},
		{"subnet of the VIP", desired.VIP.SubnetID, observed.VIP.SubnetID},
		{"network of the VIP", desired.VIP.NetworkID, observed.VIP.NetworkID},
		{"address of the VIP", desired.VIP.Address, observed.VIP.Address},
	} {
		if setting.want != "" && setting.want != setting.have {
			found = append(found, Notice{setting.name, fmt.Sprintf(
				"the %s stays %q on the load balancer that exists; it becomes %q when the Service is created anew",
				setting.name, setting.have, setting.want)})
		}
	}
	return found
}
