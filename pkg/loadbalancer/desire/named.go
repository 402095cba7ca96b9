package desire

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

// NamedLoadBalancer gives the load balancer that the Service names. The controller
// writes that annotation too, beside its last-applied: on a copy of the Service,
// which last-applied gives away by the UID in it, it names nothing.
func NamedLoadBalancer(svc *v1.Service, values annotation.Values) string {
	named := value(values.LoadBalancerID)
	words := strings.Fields(svc.Annotations[annotation.Fingerprint])
	if len(words) >= 4 && words[0] == named && words[3] != string(svc.UID) {
		return ""
	}
	return named
}
