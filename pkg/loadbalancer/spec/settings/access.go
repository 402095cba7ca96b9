package settings

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

func (r *reading) access(families []v1.IPFamily) AccessSettings {
	return AccessSettings{
		SourceRanges:      r.sourceRanges(families),
		annotated:         len(r.svc.Spec.LoadBalancerSourceRanges) == 0,
		SecurityGroupMode: r.from.conf.SecurityGroups(),
	}
}

// sourceRanges returns the clients that may connect: those of the field, or of the annotation if
// the field is empty. Ranges that admit all clients are equal to none. Ranges of an IP family that the
// Service does not have are ignored with a notice, if both occur; it is an error if no range remains.
func (r *reading) sourceRanges(families []v1.IPFamily) []string {
	ranges, path := r.svc.Spec.LoadBalancerSourceRanges, inSpec("loadBalancerSourceRanges")
	if len(ranges) == 0 {
		ranges, path = r.from.values.Listeners.SourceRanges, annotation.Path(annotation.SourceRanges)
	}
	var (
		canonical, otherFamily []string
		errs                   field.ErrorList
	)
	for i, text := range ranges {
		prefix, err := annotation.ParseRange(text)
		switch {
		case err != nil:
			r.refuse(field.Invalid(path.Index(i), text, "must be a CIDR, such as 10.0.0.0/8"))
		case !inFamilies(prefix.Addr(), families):
			otherFamily = append(otherFamily, text)
			errs = append(errs, field.Invalid(path.Index(i), text, fmt.Sprintf("must be of the Service's IP family, %s", families[0])))
		default:
			canonical = append(canonical, prefix.String())
		}
	}
	switch {
	case len(errs) == 0:
	case len(canonical) == 0:
		r.refuse(errs...)
		return nil
	default:
		r.notice(path.String(), fmt.Sprintf("%d ranges are ignored, because the load balancer is %s: %s", len(otherFamily), families[0], message.JoinLimited(otherFamily)))
	}
	return model.CanonicalCIDRs(canonical, len(families) > 1)
}

// unenforced returns the reason why the source ranges of a Service are not enforced, "" if they
// are, or if there are none.
//
//	listeners can   members see clients   manage-security-groups   kept out by
//	yes             any                   any                      the listeners
//	no              yes (ovn)             yes                      security groups of the nodes
//	no              yes (ovn)             no                       nothing
//	no              no                    any                      nothing
func (f ForDriver) unenforced() string {
	why := f.drv.Lacks(driver.SourceRanges)
	switch {
	case len(f.s.Access.SourceRanges) == 0 || why == "":
		return ""
	case f.drv.Quirks.PreservesClientIP && f.s.Access.SecurityGroupMode != "":
		return ""
	case f.drv.Quirks.PreservesClientIP:
		return why + "; security groups of the nodes enforce them with manage-security-groups=true in cloud.conf, for which ask the cluster's operator"
	}
	return why
}

// ManagesGroups reports whether this controller manages the nodes' security groups for the Service. In a
// shared group it does not if other Services may have the same ports of members: such a Service is refused,
// and the groups that it has stay.
func (s *Settings) ManagesGroups() bool {
	mode := s.Access.SecurityGroupMode
	return mode != "" && (mode != config.SecurityGroupsShared || !s.ByPods() && !s.Traffic.ownPorts)
}

// sharesPorts reports whether the source ranges are enforced at ports of the nodes that other Services
// may open as well, because they are no NodePorts: the rules of all security groups of a node are combined.
func (u *unused) sharesPorts() bool {
	return len(u.s.Access.SourceRanges) > 0 && !u.drv.Supports(driver.SourceRanges) && u.unenforced() == "" && (u.s.ByPods() || u.s.Traffic.ownPorts)
}

// Opens returns an error for a new port of a load balancer that cannot enforce the source ranges of
// the Service. Existing ports stay open.
func (f ForDriver) Opens(desired, existing *model.LoadBalancer) field.ErrorList {
	why := f.unenforced()
	if why == "" {
		return nil
	}
	for _, want := range desired.Listeners {
		if existing.Listener(want.Key()) == nil {
			return field.ErrorList{field.Forbidden(inSpec("loadBalancerSourceRanges"), fmt.Sprintf(
				"cannot be enforced, so port %s is not opened: %s", want.Key(), why))}
		}
	}
	return nil
}
