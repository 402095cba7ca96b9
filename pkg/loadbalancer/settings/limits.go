package settings

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Exceeds refuses what is more than cloud.conf lets one Service have, where it is also
// more than the load balancer has, nil for none: what serves goes on as it is, only more
// is refused. opens is set where rules of security groups are to be added.
//
//	limit              counts                                      refused where
//	max-ports          the ports of the Service                    its load balancer has fewer listeners
//	max-source-ranges  the ranges of the Service                   a listener has fewer, or rules are added
func (s *Settings) Exceeds(lb config.LoadBalancer, desired, have *model.LoadBalancer, opens bool) field.ErrorList {
	var errs field.ErrorList
	listeners := 0
	if have != nil {
		listeners = len(have.Listeners)
	}
	if most, n := int(lb.MaxPorts), len(desired.Listeners); most > 0 && n > most && n > listeners {
		errs = append(errs, field.Invalid(inSpec("ports"), n, fmt.Sprintf("allowed: %d ports at most, which is max-ports of cloud.conf: ask the cluster's operator for more", most)))
	}
	most, n := int(lb.MaxSourceRanges), len(s.Access.SourceRanges)
	if most == 0 || n <= most {
		return errs
	}
	for _, l := range desired.Listeners {
		there := 0
		if have != nil && have.Listener(l.Key()) != nil {
			there = len(have.Listener(l.Key()).AllowedCIDRs)
		}
		opens = opens || len(l.AllowedCIDRs) > there
	}
	if opens {
		path := inSpec("loadBalancerSourceRanges")
		if s.Access.annotated {
			path = annotation.Path(annotation.SourceRanges)
		}
		errs = append(errs, field.Invalid(path, n, fmt.Sprintf("allowed: %d ranges at most, which is max-source-ranges of cloud.conf: ask the cluster's operator for more", most)))
	}
	return errs
}
