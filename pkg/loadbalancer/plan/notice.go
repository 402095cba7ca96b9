package plan

import (
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// notices returns a message about each setting that cannot change on an existing load balancer or
// floating IP.
func notices(desired, observed *model.LoadBalancer) []string {
	var found []string
	for _, m := range mismatches(desired, observed) {
		way := fmt.Sprintf("the annotation %s lets a new load balancer with %q take its place", allowReplace, m.want)
		switch {
		case isReplacementFor(desired, observed):
			way = fmt.Sprintf("it was created again for %q, which did not help", m.want)
		case !replaceable(observed):
			way = fmt.Sprintf("%q is not possible as long as others are on it", m.want)
		case desired.FloatingIP == nil:
			way += ", at another address"
		}
		found = append(found, fmt.Sprintf("the %s stays %q on the load balancer that exists: %s", m.name, m.have, way))
	}
	want, have := desired.FloatingIP, observed.FloatingIP
	if want != nil && have != nil && !want.Asked() && want.NetworkID != "" && have.NetworkID != "" && want.NetworkID != have.NetworkID {
		found = append(found, fmt.Sprintf(
			"the floating IP %s of network %q stays, as its address would change: name another one by ID, tag or address to take one of network %q",
			have.Address, have.NetworkID, want.NetworkID))
	}
	return found
}
