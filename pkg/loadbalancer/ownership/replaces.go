package ownership

import "strings"

// replacesTagPrefix is the prefix of the tag of a replacement load balancer.
const replacesTagPrefix = "kube_lb_replaces_"

// ReplacesTag returns the tag of a load balancer that replaces another one. hash is that of the
// change that required the replacement. The tag is set at the creation, so that after an
// interruption it is clear which of two load balancers of a Service is the replacement, and for
// which change.
func ReplacesTag(loadBalancerID, hash string) string {
	return replacesTagPrefix + loadBalancerID + "_" + hash
}

// Replaces parses that tag: the ID of the replaced load balancer, empty if there is none, and the
// hash.
func Replaces(tags []string) (loadBalancerID, hash string) {
	for _, tag := range tags {
		if rest, ok := strings.CutPrefix(tag, replacesTagPrefix); ok {
			loadBalancerID, hash, _ = strings.Cut(rest, "_")
			return loadBalancerID, hash
		}
	}
	return "", ""
}
