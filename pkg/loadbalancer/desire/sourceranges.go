package desire

import "slices"

// unenforced says why nothing would keep the clients out that a Service keeps out;
// empty when something does, or it keeps out none.
//
//	listeners can   members see clients   manage-security-groups   kept out by
//	yes             any                   any                      the listeners
//	no              yes (ovn)             yes                      security groups of the nodes
//	no              yes (ovn)             no                       nothing
//	no              no                    any                      nothing
func unenforced(s Settings, can Capabilities) string {
	why := can.Lacks(SourceRanges)
	switch {
	case len(s.SourceRanges) == 0 || why == "":
		return ""
	case can.KeepsClients && s.SecurityGroups != "":
		return ""
	case can.KeepsClients:
		return why + "; security groups of the nodes enforce them with manage-security-groups=true in cloud.conf, for which ask the cluster's operator"
	}
	return why
}

// allowedCIDRs gives the clients that a listener lets in. Where it cannot choose, the
// security groups of the nodes do.
func allowedCIDRs(s Settings, can Capabilities) []string {
	if !can.Can(SourceRanges) {
		return nil
	}
	return slices.Clone(s.SourceRanges)
}
