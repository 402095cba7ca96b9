package desire

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
)

// unenforced says why nothing would keep the clients out that a Service keeps out;
// empty when something does, or it keeps out none.
//
//	listeners can   members see clients   manage-security-groups   kept out by
//	yes             any                   any                      the listeners
//	no              yes (ovn)             yes                      security groups of the nodes
//	no              yes (ovn)             no                       nothing
//	no              no                    any                      nothing
func unenforced(s Settings, drv driver.Driver) string {
	why := drv.Lacks(driver.SourceRanges)
	switch {
	case len(s.SourceRanges) == 0 || why == "":
		return ""
	case drv.Quirks.PreservesClientIP && s.SecurityGroups != "":
		return ""
	case drv.Quirks.PreservesClientIP:
		return why + "; security groups of the nodes enforce them with manage-security-groups=true in cloud.conf, for which ask the cluster's operator"
	}
	return why
}

// allowedCIDRs gives the clients that a listener lets in. Where it cannot choose, the
// security groups of the nodes do.
func allowedCIDRs(s Settings, drv driver.Driver) []string {
	if !drv.Supports(driver.SourceRanges) {
		return nil
	}
	return slices.Clone(s.SourceRanges)
}
