package settings

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Exceeds returns errors for values that exceed a limit of cloud.conf and the present size of the
// load balancer, which is nil if there is none. So an existing load balancer stays in operation and
// only an increase is refused. opens is set if rules of security groups must be added.
//
//	limit              counts                                      refused where
//	max-ports          the ports of the Service                    its load balancer has fewer listeners
//	max-source-ranges  the ranges of the Service                   a listener has fewer, or rules are added
func Exceeds(lb config.LoadBalancer, access AccessSettings, desired, have *model.LoadBalancer, opens bool) field.ErrorList {
	var errs field.ErrorList
	listeners := 0
	if have != nil {
		listeners = len(have.Listeners)
	}
	if most, n := int(lb.MaxPorts), len(desired.Listeners); most > 0 && n > most && n > listeners {
		errs = append(errs, field.Invalid(inSpec("ports"), n, fmt.Sprintf("allowed: at most %d ports (max-ports of cloud.conf); ask the cluster's operator for more", most)))
	}
	most, n := int(lb.MaxSourceRanges), len(access.SourceRanges)
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
		if access.annotated {
			path = annotation.Path(annotation.SourceRanges)
		}
		errs = append(errs, field.Invalid(path, n, fmt.Sprintf("allowed: at most %d ranges (max-source-ranges of cloud.conf); ask the cluster's operator for more", most)))
	}
	return errs
}
