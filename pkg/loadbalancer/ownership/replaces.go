package ownership

import "strings"

// replacesTagPrefix begins the tag of a load balancer that was made to take the place
// of another one.
const replacesTagPrefix = "kube_lb_replaces_"

// ReplacesTag returns the tag of a load balancer that is made to take the place of
// another one, for what the other could not become, of which the hash is. Tags stand from the
// creation on: whatever happens in between, it can be told which of two load
// balancers of a Service is to stay, and what it was made for.
func ReplacesTag(loadBalancerID, hash string) string {
	return replacesTagPrefix + loadBalancerID + "_" + hash
}

// Replaces reads that tag: the ID of the other load balancer, empty where there is
// none, and the hash.
func Replaces(tags []string) (loadBalancerID, hash string) {
	for _, tag := range tags {
		if rest, ok := strings.CutPrefix(tag, replacesTagPrefix); ok {
			loadBalancerID, hash, _ = strings.Cut(rest, "_")
			return loadBalancerID, hash
		}
	}
	return "", ""
}
